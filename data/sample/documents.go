package sample

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
)

// A Document is a file of the corpus beside the images.
type Document struct {
	Name  string
	Write func(io.Writer) error
}

// Documents returns the corpus's JSON files.
func (c *COCO) Documents() []Document {
	docs := []Document{{"dataset_coco.json", c.writeKarpathy}}
	for _, folder := range []string{"train2014", "val2014"} {
		docs = append(docs,
			Document{"annotations/captions_" + folder + ".json", func(w io.Writer) error { return c.writeCaptions(w, folder) }},
			Document{"annotations/instances_" + folder + ".json", func(w io.Writer) error { return c.writeInstances(w, folder) }})
	}
	return docs
}

// Karpathy's layout.
type (
	karpathyImage struct {
		FilePath  string             `json:"filepath"`
		SentIDs   []int              `json:"sentids"`
		Filename  string             `json:"filename"`
		ImgID     int                `json:"imgid"`
		Split     string             `json:"split"`
		Sentences []karpathySentence `json:"sentences"`
		CocoID    int                `json:"cocoid"`
		Unseen    bool               `json:"unseen,omitempty"` // not in the published file
	}
	karpathySentence struct {
		Tokens []string `json:"tokens"`
		Raw    string   `json:"raw"`
		ImgID  int      `json:"imgid"`
		SentID int      `json:"sentid"`
	}
)

// The official layout.
type (
	officialInfo struct {
		Description string `json:"description"`
		Version     string `json:"version"`
		Year        int    `json:"year"`
		Contributor string `json:"contributor"`
		DateCreated string `json:"date_created"`
	}
	officialLicense struct {
		URL  string `json:"url"`
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	officialImage struct {
		License  int    `json:"license"`
		FileName string `json:"file_name"`
		Height   int    `json:"height"`
		Width    int    `json:"width"`
		ID       int    `json:"id"`
	}
	officialCaption struct {
		ImageID int    `json:"image_id"`
		ID      int    `json:"id"`
		Caption string `json:"caption"`
	}
	officialInstance struct {
		Segmentation [][]json.Number `json:"segmentation"`
		Area         int             `json:"area"`
		IsCrowd      int             `json:"iscrowd"`
		ImageID      int             `json:"image_id"`
		BBox         [4]int          `json:"bbox"`
		CategoryID   int             `json:"category_id"`
		ID           int             `json:"id"`
		Attributes   attributes      `json:"attributes"` // not in the published file
	}
	attributes struct {
		Color   string `json:"color"`
		Texture string `json:"texture"`
		Size    string `json:"size"`
	}
	officialCategory struct {
		SuperCategory string `json:"supercategory"`
		ID            int    `json:"id"`
		Name          string `json:"name"`
	}
)

var (
	shapeNames   = [shapes]string{"circle", "square", "triangle", "star", "ring", "cross", "diamond", "heart"}
	colourNames  = [colours]string{"red", "orange", "yellow", "green", "blue", "purple", "pink", "black"}
	textureNames = [textures]string{"plain", "striped", "dotted", "checkered"}
)

// sentenceIDs returns the ids of all captions, ascending within an image: in
// the official files, which are sorted by id, captions of an image lie apart.
func (c *COCO) sentenceIDs() [][captionsPerImage]int {
	r := rand.New(rand.NewPCG(c.seed, 0x73656e74))
	n := len(c.entries)
	order := r.Perm(n * captionsPerImage)
	ids := make([][captionsPerImage]int, n)
	for i := range ids {
		for k := range ids[i] {
			ids[i][k] = 100 + 3*order[i*captionsPerImage+k]
		}
		slices.Sort(ids[i][:])
	}
	return ids
}

// A list writes a document member by member, elements of arrays one by one.
type list struct {
	w   *bufio.Writer
	sep string
	err error
}

func (l *list) raw(s string) {
	if l.err == nil {
		_, l.err = l.w.WriteString(s)
	}
}

func (l *list) begin(name string) {
	l.raw(fmt.Sprintf("%q: [", name))
	l.sep = ""
}

func (l *list) put(v any) {
	b, err := json.Marshal(v)
	if err != nil && l.err == nil {
		l.err = err
	}
	l.raw(l.sep)
	l.raw(string(b))
	l.sep = ", "
}

func (l *list) flush() error {
	if l.err != nil {
		return l.err
	}
	return l.w.Flush()
}

func (c *COCO) writeKarpathy(w io.Writer) error {
	l := &list{w: bufio.NewWriter(w)}
	ids := c.sentenceIDs()
	l.raw("{")
	l.begin("images")
	for i, e := range c.entries {
		s := c.scene(i)
		folder := c.folder(i)
		im := karpathyImage{FilePath: folder, SentIDs: ids[i][:], Filename: fileName(folder, e.id), ImgID: i, Split: e.split, CocoID: e.id, Unseen: s.unseen}
		for k, x := range c.captions(i, s) {
			im.Sentences = append(im.Sentences, karpathySentence{Tokens: x.tokens, Raw: x.raw, ImgID: i, SentID: ids[i][k]})
		}
		l.put(im)
	}
	l.raw(`], "dataset": "coco"}`)
	return l.flush()
}

// head writes what the official files begin with, up to the end of the images
// of a folder, and returns the numbers of those images.
func (c *COCO) head(l *list, folder string) (images []int) {
	info, _ := json.Marshal(officialInfo{"Miniature of COCO 2014, drawn by espalier data sample", "1.0", 2014, "espalier", "2014/01/01"})
	licenses, _ := json.Marshal([]officialLicense{{"https://creativecommons.org/publicdomain/zero/1.0/", 1, "CC0 1.0 Universal"}})
	l.raw(fmt.Sprintf(`{"info": %s, "licenses": %s, `, info, licenses))
	l.begin("images")
	for i, e := range c.entries {
		if c.folder(i) != folder {
			continue
		}
		images = append(images, i)
		s := c.scene(i)
		l.put(officialImage{1, fileName(folder, e.id), s.h, s.w, e.id})
	}
	l.raw("], ")
	return images
}

func (c *COCO) writeCaptions(w io.Writer, folder string) error {
	l := &list{w: bufio.NewWriter(w)}
	ids := c.sentenceIDs()
	var all []officialCaption
	for _, i := range c.head(l, folder) {
		for k, x := range c.captions(i, c.scene(i)) {
			all = append(all, officialCaption{c.entries[i].id, ids[i][k], x.raw})
		}
	}
	slices.SortFunc(all, func(a, b officialCaption) int { return a.ID - b.ID })
	l.begin("annotations")
	for _, a := range all {
		l.put(a)
	}
	l.raw("]}")
	return l.flush()
}

func (c *COCO) writeInstances(w io.Writer, folder string) error {
	l := &list{w: bufio.NewWriter(w)}
	images := c.head(l, folder)
	l.begin("annotations")
	for _, i := range images {
		s := c.scene(i)
		for k := range s.objects {
			l.put(s.instance(k, c.entries[i].id, 10*i+k+1))
		}
	}
	l.raw("], ")
	l.begin("categories")
	for k, name := range shapeNames {
		l.put(officialCategory{"shape", k + 1, name})
	}
	l.raw("]}")
	return l.flush()
}

// instance describes object k: its outer outline, its box and the pixels it
// covers, as if nothing stood before it.
func (s *scene) instance(k, image, id int) officialInstance {
	o := &s.objects[k]
	rings := o.placed()
	x0, y0, x1, y1 := bounds(rings)
	x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, s.w), min(y1, s.h)
	step := 1
	if len(rings[0]) > 24 {
		step = len(rings[0]) / 24
	}
	var polygon []json.Number
	for i := 0; i < len(rings[0]); i += step {
		p := rings[0][i]
		polygon = append(polygon, hundredths(min(max(p.x, 0), s.w<<8)), hundredths(min(max(p.y, 0), s.h<<8)))
	}
	size := "small"
	if o.large {
		size = "large"
	}
	return officialInstance{
		Segmentation: [][]json.Number{polygon}, Area: area(rings), ImageID: image, BBox: [4]int{x0, y0, x1 - x0, y1 - y0},
		CategoryID: o.shape + 1, ID: id, Attributes: attributes{colourNames[o.colour], textureNames[o.texture], size},
	}
}

// hundredths writes v/256 with two decimals.
func hundredths(v int) json.Number {
	n := (v*100 + 128) >> 8
	return json.Number(fmt.Sprintf("%d.%02d", n/100, n%100))
}
