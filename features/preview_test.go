package features

import (
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"espalier/features/raster"
)

// A preview's pixels are those that the network sees.
func TestPreview(t *testing.T) {
	dir := photos(t, 6)
	link(t, "jpg_html.jpg", filepath.Join(dir, "in/bad.jpg"))
	ids, paths, err := ImagesBelow(dir)
	if err != nil || len(ids) != 7 || ids[0] != "in/000.jpg" || paths[0] != filepath.Join(dir, "in", "000.jpg") {
		t.Fatalf("images %v at %v, %v", ids, paths, err)
	}
	p := Preview{Spec: Spec{Transform: raster.CLIP, Size: 32}, Dir: filepath.Join(dir, "seen")}
	var dead []string
	if err := p.Write(t.Context(), ids, paths, func(id, reason string) { dead = append(dead, id+" "+reason) }); err != nil {
		t.Fatal(err)
	}
	if len(dead) != 1 || dead[0][:24] != "in/bad.jpg not an image:" {
		t.Errorf("dead: %q", dead)
	}
	for i, id := range ids {
		f, err := os.Open(filepath.Join(p.Dir, id+".png"))
		if id == "in/bad.jpg" {
			if err == nil {
				t.Error("a preview of an image that cannot be read")
			}
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := png.Decode(f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.Spec.Crop(new(raster.Decoder), data)
		if err != nil {
			t.Fatal(err)
		}
		var pix []byte
		for y := range got.Bounds().Dy() {
			for x := range got.Bounds().Dx() {
				r, g, b, _ := got.At(x, y).RGBA()
				pix = append(pix, byte(r>>8), byte(g>>8), byte(b>>8))
			}
		}
		if !slices.Equal(pix, want.Pix) {
			t.Errorf("%s: other pixels", id)
		}
	}
}

func TestPreviewNames(t *testing.T) {
	taken := map[string]bool{}
	for _, c := range [][2]string{
		{"a/b.jpg", "a/b.jpg.png"},
		{"/abs/b.jpg", "abs/b.jpg.png"},
		{"../../up.jpg", "up.jpg.png"},
		{"x/../up.jpg", "up.jpg-2.png"},
		{"./up.jpg", "up.jpg-3.png"},
	} {
		if got := filepath.ToSlash(previewName(c[0], taken)); got != c[1] {
			t.Errorf("preview of %s is %s, want %s", c[0], got, c[1])
		}
	}
}
