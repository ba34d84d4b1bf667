// Package sample makes a miniature of a corpus in its native raw format, from a
// seed, so that every job can be run anywhere without a download.
//
// [New] sets up a miniature of COCO: rendered scenes of a few objects of
// different shape, colour, size and texture over a background, with five captions
// each whose wording varies as people's does. It comes as COCO does: JPEG files
// in train2014 and val2014, Karpathy's dataset_coco.json, and the official
// captions_*.json and instances_*.json. Some combinations of attributes, such as
// a striped green triangle, never occur in train or restval and do in val and
// test; images that hold one carry the member "unseen" in Karpathy's layout,
// which readers of the published file ignore.
//
// The same seed gives the same bytes everywhere: scenes are drawn with integers
// and encoded by the JPEG encoder of the standard library, whose version go.mod
// pins. Every image depends on the seed and on its own number only, so images can
// be made in any order.
//
// A [COCO] is immutable and safe for concurrent use.
package sample

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"math/rand/v2"
)

// Quality is that of the JPEG files.
const Quality = 90

// COCO is a miniature of COCO.
type COCO struct {
	seed    uint64
	entries []entry
	noise   *noise
}

// An entry is what is known of an image before its scene is drawn.
type entry struct {
	id     int    // COCO's image id
	split  string // Karpathy's
	unseen bool   // is to hold a combination that train lacks
}

// New returns the miniature of a number of images, at least 20. The splits have
// the shares 1700 : 100 : 250 : 350 of train, restval, val and test.
func New(images int, seed uint64) (*COCO, error) {
	if images < 20 || images > 1_000_000 {
		return nil, fmt.Errorf("images: %d, want 20 to 1000000", images)
	}
	c := &COCO{seed: seed, noise: newNoise(), entries: make([]entry, images)}
	r := rand.New(rand.NewPCG(seed, 0x636f636f))
	restval, val, test := max(images*100/2400, 1), max(images*250/2400, 2), max(images*350/2400, 2)
	splits := make([]string, 0, images)
	for _, s := range []struct {
		name string
		n    int
	}{{"restval", restval}, {"val", val}, {"test", test}, {"train", images - restval - val - test}} {
		for range s.n {
			splits = append(splits, s.name)
		}
	}
	r.Shuffle(images, func(i, k int) { splits[i], splits[k] = splits[k], splits[i] })
	id, count := 0, map[string]int{}
	for i, s := range splits {
		id += 1 + r.IntN(470)
		c.entries[i] = entry{id: id, split: s}
		if s == "val" || s == "test" {
			c.entries[i].unseen = count[s]%4 == 1 // a quarter
			count[s]++
		}
	}
	return c, nil
}

// Images returns the number of images.
func (c *COCO) Images() int { return len(c.entries) }

// Name returns the path of image i, such as "train2014/COCO_train2014_000000000009.jpg".
func (c *COCO) Name(i int) string {
	f := c.folder(i)
	return fmt.Sprintf("%s/%s", f, fileName(f, c.entries[i].id))
}

// folder returns the folder of image i: as in COCO, restval, val and test come
// from val2014.
func (c *COCO) folder(i int) string {
	if c.entries[i].split == "train" {
		return "train2014"
	}
	return "val2014"
}

func fileName(folder string, id int) string { return fmt.Sprintf("COCO_%s_%012d.jpg", folder, id) }

// JPEG returns the file of image i.
func (c *COCO) JPEG(i int) ([]byte, error) {
	s := c.scene(i)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, c.draw(s), &jpeg.Options{Quality: Quality}); err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.Name(i), err)
	}
	return b.Bytes(), nil
}

// random returns the source of one image's purpose.
func (c *COCO) random(i int, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(c.seed^uint64(c.entries[i].id)*0x9e3779b97f4a7c15, purpose<<32|uint64(i)))
}

// Purposes of random numbers.
const (
	forScene = iota + 1
	forPixels
	forWords
)
