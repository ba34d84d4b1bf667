package sample

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"image/jpeg"
	"math"
	"slices"
	"strings"
	"testing"
)

func miniature(t testing.TB, images int, seed uint64) *COCO {
	t.Helper()
	c, err := New(images, seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSameBytesEverywhere(t *testing.T) {
	// Pixels are integers and must never change without a new version of the
	// stage; the files also depend on the encoder of the pinned Go.
	c := miniature(t, 60, 1)
	pixels, files, texts := sha256.New(), sha256.New(), sha256.New()
	for i := range c.Images() {
		pixels.Write(c.draw(c.scene(i)).Pix)
		b, err := c.JPEG(i)
		if err != nil {
			t.Fatal(err)
		}
		files.Write(b)
	}
	for _, d := range c.Documents() {
		if err := d.Write(texts); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ name, got, want string }{
		{"pixels", hex.EncodeToString(pixels.Sum(nil)), "23c4ce555f6782fdd49690f5f35bcfdfbf251774f3ec8cc7e1f865957d0bf89d"},
		{"files", hex.EncodeToString(files.Sum(nil)), "0900f421fb1d8c1eb09ab1c866e0d718b16b583bdccd4220e8cb1e097757637a"},
		{"texts", hex.EncodeToString(texts.Sum(nil)), "13b3b8a9b399dc80a8535fc9f0a3bac7e6643baa003f6a859c37a6469ad480af"},
	} {
		if x.got != x.want {
			t.Errorf("%s: digest %s, want %s", x.name, x.got, x.want)
		}
	}
}

func TestImagesDoNotDependOnOrder(t *testing.T) {
	a, b := miniature(t, 30, 7), miniature(t, 30, 7)
	for _, i := range []int{29, 3, 11} {
		if _, err := a.JPEG(i); err != nil {
			t.Fatal(err)
		}
	}
	x, err := a.JPEG(5)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.JPEG(5)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Error("an image depends on what was drawn before it")
	}
	other := miniature(t, 30, 8)
	if z, _ := other.JPEG(5); bytes.Equal(x, z) {
		t.Error("another seed gives the same image")
	}
}

func TestSplits(t *testing.T) {
	for images, want := range map[int]map[string]int{
		2400: {"train": 1700, "restval": 100, "val": 250, "test": 350},
		120:  {"train": 86, "restval": 5, "val": 12, "test": 17},
		20:   {"train": 15, "restval": 1, "val": 2, "test": 2},
	} {
		c := miniature(t, images, 1)
		got := map[string]int{}
		unseen := map[string]int{}
		last := 0
		for i, e := range c.entries {
			got[e.split]++
			if e.id <= last {
				t.Fatalf("image %d: id %d after %d", i, e.id, last)
			}
			last = e.id
			if c.scene(i).unseen {
				unseen[e.split]++
			}
			if folder, _, _ := strings.Cut(c.Name(i), "/"); (folder == "train2014") != (e.split == "train") {
				t.Errorf("image of %s in %s", e.split, folder)
			}
		}
		for s, n := range want {
			if got[s] != n {
				t.Errorf("%d images: %d of %s, want %d", images, got[s], s, n)
			}
		}
		if unseen["train"] != 0 || unseen["restval"] != 0 {
			t.Errorf("%d images: unseen combinations in train", images)
		}
		if n := unseen["test"]; n*100 < got["test"]*18 || n*100 > got["test"]*50 {
			t.Errorf("%d images: %d of %d test images with unseen combinations", images, n, got["test"])
		}
		if unseen["val"] == 0 {
			t.Errorf("%d images: no unseen combination in val", images)
		}
	}
	for _, n := range []int{0, 19, 1_000_001} {
		if _, err := New(n, 1); err == nil {
			t.Errorf("%d images are accepted", n)
		}
	}
}

func TestEveryHeldOutCombinationIsTested(t *testing.T) {
	c := miniature(t, 2400, 1)
	seen := make([]bool, len(heldOut))
	for i, e := range c.entries {
		for _, o := range c.scene(i).objects {
			if !o.held() {
				continue
			}
			if e.split != "test" && e.split != "val" {
				t.Fatalf("image %d of %s holds one", i, e.split)
			}
			for k, h := range heldOut {
				if e.split == "test" && o.shape == h.shape && o.colour == h.colour {
					seen[k] = true
				}
			}
		}
	}
	if slices.Contains(seen, false) {
		t.Errorf("held-out combinations in test: %v", seen)
	}
}

func TestObjectsLieInTheMiddleSquare(t *testing.T) {
	c := miniature(t, 400, 3)
	for i := range c.entries {
		s := c.scene(i)
		side := min(s.w, s.h)
		left, top := (s.w-side)/2, (s.h-side)/2
		for k := range s.objects {
			x0, y0, x1, y1 := bounds(s.objects[k].placed())
			slack := side / 40
			if x0 < left-slack || y0 < top-slack || x1 > left+side+slack || y1 > top+side+slack {
				t.Errorf("image %d: object %d from %d,%d to %d,%d in a picture of %d x %d", i, k, x0, y0, x1, y1, s.w, s.h)
			}
		}
		for a := range s.objects {
			for b := range a {
				if s.objects[a].kind() == s.objects[b].kind() && s.group == 0 {
					t.Errorf("image %d: two objects are alike", i)
				}
			}
		}
	}
}

func TestJPEG(t *testing.T) {
	c := miniature(t, 40, 1)
	wide, tall := false, false
	for i := range 40 {
		b, err := c.JPEG(i)
		if err != nil {
			t.Fatal(err)
		}
		im, err := jpeg.DecodeConfig(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		s := c.scene(i)
		if im.Width != s.w || im.Height != s.h || min(s.w, s.h) < 200 {
			t.Errorf("image %d: %d x %d, want %d x %d", i, im.Width, im.Height, s.w, s.h)
		}
		wide, tall = wide || s.w > s.h, tall || s.h > s.w
	}
	if !wide || !tall {
		t.Error("all pictures have one orientation")
	}
}

func TestCaptions(t *testing.T) {
	c := miniature(t, 600, 1)
	words := map[string]int{}
	same := 0
	for i := range c.entries {
		s := c.scene(i)
		list := c.captions(i, s)
		if len(list) != captionsPerImage {
			t.Fatalf("image %d: %d captions", i, len(list))
		}
		distinct := map[string]bool{}
		named := 0
		for _, x := range list {
			text := strings.Join(x.tokens, " ")
			distinct[text] = true
			if len(x.tokens) < 3 || strings.Contains(text, "  ") || strings.ContainsAny(text, ".,-") || text != strings.ToLower(text) {
				t.Errorf("image %d: tokens %q", i, x.tokens)
			}
			if got := strings.Join(tokensOf(x.raw), " "); got != text {
				t.Errorf("image %d: %q gives %q", i, x.raw, got)
			}
			if strings.Contains(x.raw, " a o") || strings.Contains(strings.ToLower(x.raw), "there are a ") {
				t.Errorf("image %d: %q", i, x.raw)
			}
			if strings.Contains(text, colourNames[s.objects[0].colour]) || s.objects[0].colour == purple && strings.Contains(text, "violet") {
				named++
			}
			for _, w := range x.tokens {
				words[w]++
			}
		}
		if named < 2 {
			t.Errorf("image %d: %d of 5 captions tell the colour of the first object: %v", i, named, list)
		}
		if len(distinct) < 5 {
			same++
		}
	}
	if len(words) < 100 || len(words) > 200 {
		t.Errorf("%d different words", len(words))
	}
	if same > len(c.entries)/4 {
		t.Errorf("%d of %d images have two equal captions", same, len(c.entries))
	}
}

func TestTokens(t *testing.T) {
	got := strings.Join(tokensOf("A polka-dot ball, it's there. "), "|")
	if got != "a|polka|dot|ball|its|there" {
		t.Errorf("got %s", got)
	}
}

func TestDocuments(t *testing.T) {
	c := miniature(t, 40, 1)
	docs := map[string]map[string]any{}
	for _, d := range c.Documents() {
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		docs[d.Name] = v
	}
	// The two layouts tell the same captions.
	raw := map[float64]string{}
	for _, im := range docs["dataset_coco.json"]["images"].([]any) {
		for _, s := range im.(map[string]any)["sentences"].([]any) {
			m := s.(map[string]any)
			raw[m["sentid"].(float64)] = m["raw"].(string)
		}
	}
	n, images := 0, 0
	for _, f := range []string{"train2014", "val2014"} {
		last := -1.0
		for _, a := range docs["annotations/captions_"+f+".json"]["annotations"].([]any) {
			m := a.(map[string]any)
			id := m["id"].(float64)
			if id <= last || raw[id] != m["caption"] {
				t.Errorf("annotation %g after %g: %q, want %q", id, last, m["caption"], raw[id])
			}
			last = id
			n++
		}
		images += len(docs["annotations/captions_"+f+".json"]["images"].([]any))
		for _, a := range docs["annotations/instances_"+f+".json"]["annotations"].([]any) {
			m := a.(map[string]any)
			box := m["bbox"].([]any)
			if area := m["area"].(float64); area < 300 || area > box[2].(float64)*box[3].(float64) {
				t.Errorf("instance of %g pixels in a box of %v", area, box)
			}
		}
	}
	if n != 200 || len(raw) != 200 || images != 40 {
		t.Errorf("%d captions, %d of them different, %d images", n, len(raw), images)
	}
}

func TestSines(t *testing.T) {
	for a := range 1024 {
		want := math.Round(math.Sin(2*math.Pi*float64(a)/1024) * (1 << 15))
		if math.Abs(float64(sin(a))-want) > 1 || math.Abs(float64(cos(a-256))-want) > 1 {
			t.Errorf("sin(%d) = %d, want %g", a, sin(a), want)
		}
	}
}

func TestFillCoversTheArea(t *testing.T) {
	for shape := range shapes {
		o := object{shape: shape, x: 100, y: 90, r: 50, angle: 20}
		rings := o.placed()
		sum := 0
		for _, v := range fill(rings, 3).a {
			sum += int(v)
		}
		got, want := float64(sum)/255, float64(area(rings))
		if math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: covers %g pixels of %g", shapeNames[shape], got, want)
		}
		if shape == circle && math.Abs(want-math.Pi*2500) > 20 {
			t.Errorf("a circle of radius 50 has an area of %g", want)
		}
	}
}

func BenchmarkJPEG(b *testing.B) {
	c := miniature(b, 2400, 1)
	i := 0
	for b.Loop() {
		if _, err := c.JPEG(i % 2400); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
