package raster

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
)

// refusedByUs are files of the goldens that Pillow reads and this package
// refuses, with a part of the reason.
var refusedByUs = map[string]string{
	"jpg_corrupt_scan.jpg":                            "corrupt scan",
	"img-go-std/video-001.progressive.truncated.jpeg": "truncated",
	"img-libjpeg-turbo/testimgari.jpg":                "arithmetic",
	"img-golang/video-001-16bit.tiff":                 "TIFF",
	"img-libjpeg-turbo/testorig.ppm":                  "not an image",
}

type decodeLine struct {
	ID     string
	File   string
	Mode   string
	Width  int
	Height int
	Native string `json:"native_sha256"`
	RGB    string `json:"rgb_sha256"`
	Error  any
}

func readLines[T any](t *testing.T, path string) []T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// eachFolder runs a test over the goldens in testdata, and over the whole set
// where it is present.
func eachFolder(t *testing.T, test func(t *testing.T, dir string)) {
	t.Run("testdata", func(t *testing.T) { test(t, "testdata") })
	t.Run("shared", func(t *testing.T) { test(t, shared.Dir(t, "goldens", "vision", "raster")) })
}

// source opens a file that a golden names.
func source(t *testing.T, dir, name string) []byte {
	t.Helper()
	p := filepath.Join(dir, name)
	if rest, ok := strings.CutPrefix(name, "data/"); ok {
		p = shared.Dir(t, "data", rest)
	}
	b, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeGoldens(t *testing.T) { eachFolder(t, testDecode) }

func testDecode(t *testing.T, dir string) {
	lines := readLines[decodeLine](t, filepath.Join(dir, "decode.jsonl"))
	var d Decoder
	for _, l := range lines {
		im, err := d.Decode(source(t, dir, l.File))
		if want, ok := refusedByUs[l.ID]; ok || l.Error != nil {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one about %q", l.ID, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", l.ID, err)
			continue
		}
		if im.Mode.String() != l.Mode || im.Width != l.Width || im.Height != l.Height {
			t.Errorf("%s: %v %d x %d, want %s %d x %d", l.ID, im.Mode, im.Width, im.Height, l.Mode, l.Width, l.Height)
		}
		if got := sum(im.RGB().Pix); got != l.RGB {
			t.Errorf("%s: RGB digest %.8s, want %.8s", l.ID, got, l.RGB)
		}
		// Pillow packs eight pixels of mode 1 into a byte.
		if got := sum(im.Pix); l.Native != "" && im.Mode != ModeBit && got != l.Native {
			t.Errorf("%s: digest in mode %v %.8s, want %.8s", l.ID, im.Mode, got, l.Native)
		}
	}
}

// TestStoredPixels compares the pixels that the goldens hold, decoded and
// resized, one by one.
func TestStoredPixels(t *testing.T) {
	dir := shared.Dir(t, "goldens", "vision", "raster")
	compared := 0
	compare := func(file string, made func(id string) *Image) {
		w, err := ckpt.OpenWeights(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for _, id := range w.Names() {
			im := made(id)
			if im == nil {
				continue
			}
			want, err := w.Raw(id)
			if err != nil {
				t.Fatal(err)
			}
			in, _ := w.Info(id)
			if in.Shape[0] != im.Height || in.Shape[1] != im.Width || len(want) != len(im.Pix) {
				t.Errorf("%s: %d x %d, want shape %v", id, im.Width, im.Height, in.Shape)
				continue
			}
			for i, v := range im.Pix {
				if v != want[i] {
					t.Errorf("%s: byte %d is %d, want %d", id, i, v, want[i])
					break
				}
			}
			compared++
		}
	}
	decode := func(file string) *Image {
		im, err := Decode(source(t, dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return im
	}
	compare("pixels.safetensors", func(id string) *Image {
		if _, refused := refusedByUs[id]; refused || strings.HasSuffix(id, "#tolerant") {
			return nil // recovered pixels are not asked for
		}
		return decode("img/" + id).RGB()
	})
	lines := map[string]resizeLine{}
	for _, l := range readLines[resizeLine](t, filepath.Join(dir, "resize.jsonl")) {
		lines[l.ID] = l
	}
	compare("resize.safetensors", func(id string) *Image {
		l, ok := lines[id]
		if !ok || l.Torchvision {
			return nil // another library's resize
		}
		im := decode(l.Src)
		if l.Order != "resize_then_rgb" {
			im = im.RGB()
		}
		out, err := l.resize().Apply(im)
		if err != nil {
			t.Fatal(err)
		}
		return out.RGB()
	})
	if compared < 200 {
		t.Errorf("%d pictures compared", compared)
	}
}

type resizeLine struct {
	ID, Src, Filter, Order string
	Width, Height          int
	Box                    []float64
	SHA256                 string
	Torchvision            bool `json:"torchvision_tensor"`
}

var filters = map[string]Filter{"nearest": Nearest, "box": BoxFilter, "bilinear": Bilinear, "hamming": Hamming, "bicubic": Bicubic, "lanczos": Lanczos}

// resize is what a line asks for, in Pillow 13's order.
func (l *resizeLine) resize() Resize {
	r := Resize{Width: l.Width, Height: l.Height, Filter: filters[l.Filter], Order: Pillow13}
	if l.Box != nil {
		r.Box = &Box{l.Box[0], l.Box[1], l.Box[2], l.Box[3]}
	}
	return r
}

func TestResizeGoldens(t *testing.T) { eachFolder(t, testResize) }

func testResize(t *testing.T, dir string) {
	old := map[string]string{}
	for _, l := range readLines[struct{ Golden, ID, SHA256_Pillow12 string }](t, filepath.Join(dir, "pillow12.jsonl")) {
		if l.Golden == "resize" {
			old[l.ID] = l.SHA256_Pillow12
		}
	}
	for _, l := range readLines[resizeLine](t, filepath.Join(dir, "resize.jsonl")) {
		if l.Torchvision {
			continue
		}
		im, err := Decode(source(t, dir, l.Src))
		if err != nil {
			t.Fatal(err)
		}
		if l.Order != "resize_then_rgb" {
			im = im.RGB()
		}
		r := l.resize()
		want12, ok := old[l.ID]
		if !ok {
			want12 = l.SHA256
		}
		for _, c := range []struct {
			order Order
			want  string
		}{{Pillow13, l.SHA256}, {AcrossFirst, want12}} {
			r.Order = c.order
			out, err := r.Apply(im)
			if err != nil {
				t.Fatal(err)
			}
			if got := sum(out.RGB().Pix); got != c.want {
				t.Errorf("%s, order %d: digest %.8s, want %.8s", l.ID, c.order, got, c.want)
			}
			// A crop is the same part of the whole.
			if l.Width > 4 && l.Height > 4 {
				cr := r
				cr.Crop = Rect{1, 2, l.Width - 1, l.Height - 1}
				part, err := cr.Apply(im)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(part.Pix, out.crop(cr.Crop).Pix) {
					t.Errorf("%s, order %d: crop differs from the whole", l.ID, c.order)
				}
			}
		}
	}
}

func TestTransformGoldens(t *testing.T) { eachFolder(t, testTransform) }

func testTransform(t *testing.T, dir string) {
	old := map[string]string{}
	for _, l := range readLines[struct{ Golden, ID, SHA256_Pillow12 string }](t, filepath.Join(dir, "pillow12.jsonl")) {
		if l.Golden == "clip_transform" {
			old[l.ID] = l.SHA256_Pillow12
		}
	}
	type line struct {
		ID, Src, Transform string
		Size               int
		U8                 string `json:"uint8_hwc_sha256"`
		F32                string `json:"float32_chw_sha256"`
	}
	for _, l := range readLines[line](t, filepath.Join(dir, "clip_transform.jsonl")) {
		tr := Transform(strings.ReplaceAll(l.Transform, "_", "-"))
		im, err := Decode(source(t, dir, l.Src))
		if err != nil {
			t.Fatal(err)
		}
		for _, order := range []Order{AcrossFirst, Pillow13} {
			want := l.U8
			if s, ok := old[l.ID]; ok && order == AcrossFirst {
				want = s
			}
			out, err := tr.Apply(im, l.Size, order)
			if err != nil {
				t.Fatal(err)
			}
			if got := sum(out.Pix); got != want {
				t.Errorf("%s, order %d: digest %.8s, want %.8s", l.ID, order, got, want)
				continue
			}
			if want != l.U8 || l.F32 == "" {
				continue
			}
			f := make([]float32, len(out.Pix))
			tr.Normalise(f, out)
			if got := sum(planar(f)); got != l.F32 {
				t.Errorf("%s: float digest %.8s, want %.8s", l.ID, got, l.F32)
			}
		}
	}
}

// planar gives the little-endian bytes of an interleaved picture, channels
// first.
func planar(f []float32) []byte {
	var b []byte
	for c := range 3 {
		for i := c; i < len(f); i += 3 {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f[i]))
		}
	}
	return b
}
