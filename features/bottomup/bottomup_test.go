package bottomup

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
)

// eachFolder runs a test over testdata, and over the whole set of goldens where
// it is present.
func eachFolder(t *testing.T, test func(t *testing.T, dir string, want ckpt.Weights)) {
	run := func(t *testing.T, dir string) {
		w, err := ckpt.OpenWeights(filepath.Join(dir, "expected.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		test(t, dir, w)
	}
	t.Run("testdata", func(t *testing.T) { run(t, "testdata") })
	t.Run("shared", func(t *testing.T) { run(t, shared.Dir(t, "goldens", "vision", "formats")) })
}

func wanted(t *testing.T, w ckpt.Weights, name string) []float32 {
	t.Helper()
	x, err := ckpt.AsFloats(w, name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func readTSV(t *testing.T, path string, l Layout) (rows []*Row, faults []Fault) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := ReadTSV(f, l, func(r *Row, _ Fault) error { rows = append(rows, r); return nil }, func(f Fault) error { faults = append(faults, f); return nil }); err != nil {
		t.Fatal(err)
	}
	return rows, faults
}

func TestBottomUpTSV(t *testing.T) {
	eachFolder(t, func(t *testing.T, dir string, want ckpt.Weights) {
		for file, ids := range map[string][]string{
			"plain.tsv": {"391895", "522418", "9"}, "crlf_no_final_newline.tsv": {"391895", "522418", "9"},
			"damaged_then_good.tsv": {"522418", "300104", "147295"}, "dim2048.tsv": {"184613"},
		} {
			path := filepath.Join(dir, "bottomup", file)
			if _, err := os.Stat(path); err != nil && dir == "testdata" {
				continue
			}
			rows, faults := readTSV(t, path, BottomUp)
			var got []string
			for _, r := range rows {
				got = append(got, r.ID)
				if !slices.Equal(r.Boxes, wanted(t, want, "bottomup."+r.ID+".boxes")) || !slices.Equal(r.Features, wanted(t, want, "bottomup."+r.ID+".features")) {
					t.Errorf("%s: %s has other values", file, r.ID)
				}
				if got, mean := meanOf(r), wanted(t, want, "bottomup."+r.ID+".fc_mean"); !slices.EqualFunc(got, mean, func(a, b float32) bool { return math.Abs(float64(a-b)) <= 1e-6*math.Abs(float64(b))+1e-7 }) {
					t.Errorf("%s: %s has mean %v, want %v", file, r.ID, got[:3], mean[:3])
				}
				if !slices.Equal(r.Relative(), wanted(t, want, "bottomup."+r.ID+".boxes_relative_f64")) {
					t.Errorf("%s: %s has other relative boxes", file, r.ID)
				}
			}
			if !slices.Equal(got, ids) {
				t.Errorf("%s: rows %v, want %v", file, got, ids)
			}
			if file != "damaged_then_good.tsv" {
				if len(faults) > 0 {
					t.Errorf("%s: %v", file, faults)
				}
				continue
			}
			reasons := map[int64]string{2: "multiple of 4", 3: "numbers for 5 boxes", 4: "5 columns", 5: "illegal base64", 7: "empty line"}
			if len(faults) != len(reasons) {
				t.Errorf("%d faults, want %d", len(faults), len(reasons))
			}
			for _, f := range faults {
				if !strings.Contains(f.Reason, reasons[f.Line]) || reasons[f.Line] == "" || f.Line < 7 && f.ID != "300104" {
					t.Errorf("line %d: %s: %q, want %q", f.Line, f.ID, f.Reason, reasons[f.Line])
				}
			}
		}
	})
}

// meanOf is the mean of an image's features.
func meanOf(r *Row) []float32 {
	mean := make([]float32, r.Dim)
	for i, v := range r.Features {
		mean[i%r.Dim] += v / float32(r.Count)
	}
	return mean
}

// Every HDF5 file of the goldens is told what it is.
func TestHDF5(t *testing.T) {
	dir := shared.Dir(t, "goldens", "vision", "formats")
	for _, pattern := range []string{"grid_h5/*.h5", "vlt5_h5/*.h5", "cocotalk/*.h5"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ReadArray(b, "features"); !errors.Is(err, ErrHDF5) {
				t.Errorf("%s: %v", filepath.Base(f), err)
			}
		}
	}
}

func TestLXMERT(t *testing.T) {
	eachFolder(t, func(t *testing.T, dir string, want ckpt.Weights) {
		rows, faults := readTSV(t, filepath.Join(dir, "lxmert", "obj36_like.tsv"), LXMERT)
		if len(faults) > 0 || len(rows) == 0 {
			t.Fatalf("%d rows, faults %v", len(rows), faults)
		}
		r := rows[0]
		if r.ID != "COCO_val2014_000000522418" || r.Width != 640 || r.Height != 480 {
			t.Errorf("%s is %d x %d", r.ID, r.Width, r.Height)
		}
		if !slices.Equal(r.Boxes, wanted(t, want, "lxmert."+r.ID+".boxes")) || !slices.Equal(r.Features, wanted(t, want, "lxmert."+r.ID+".features")) {
			t.Errorf("%s has other values", r.ID)
		}
	})
}

func TestArrays(t *testing.T) {
	eachFolder(t, func(t *testing.T, dir string, want ckpt.Weights) {
		read := func(name, key string) (*Array, error) {
			b, err := os.ReadFile(filepath.Join(dir, "perimage", name))
			if err != nil {
				t.Fatal(err)
			}
			return ReadArray(b, key)
		}
		for name, golden := range map[string]string{
			"att/522418.npy": "bottomup.522418.features", "att_npz/522418.npz": "bottomup.522418.features", "att_npz_stored/522418.npz": "bottomup.522418.features",
			"box/522418.npy": "bottomup.522418.boxes", "box_relative/522418.npy": "bottomup.522418.boxes_relative_f64", "fc/522418.npy": "bottomup.522418.fc_mean",
			"odd/big_endian.npy": "perimage.odd.big_endian", "odd/float16.npy": "perimage.odd.float16", "odd/float64.npy": "perimage.odd.float64",
			"odd/fortran.npy": "perimage.odd.fortran", "odd/scalar.npy": "perimage.odd.scalar", "odd/three_dims_grid.npy": "perimage.odd.three_dims_grid",
			"odd/v2.npy": "perimage.odd.v2", "odd/v3.npy": "perimage.odd.v3", "odd/zero_boxes.npy": "perimage.odd.zero_boxes",
		} {
			a, err := read(name, "feat")
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			in, _ := want.Info(golden)
			if !slices.Equal(a.Shape, in.Shape) || !slices.Equal(a.Data, wanted(t, want, golden)) {
				t.Errorf("%s: shape %v, want %v, or other values", name, a.Shape, in.Shape)
			}
		}
		for name, reason := range map[string]string{"cut": "cut", "bad_magic": "magic", "object_dtype": "pickle", "huge_shape": "shape"} {
			if _, err := read("refuse/"+name+".npy", ""); err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: error %v, want one about %q", name, err, reason)
			}
		}
		if _, err := read("refuse/longer.npy", ""); err != nil {
			t.Errorf("bytes behind the array: %v", err)
		}
	})
	if _, err := ReadNPZ([]byte("PK\x03\x04"), "feat"); err == nil {
		t.Error("a cut NPZ was read")
	}
	b, err := os.ReadFile("testdata/COCO_val2014_000000522418.h5")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadArray(b, "features"); !errors.Is(err, ErrHDF5) {
		t.Errorf("HDF5: %v", err)
	}
}

func TestLongLineIsAFault(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("1\t")
	text.Write(bytes.Repeat([]byte("A"), maxLine))
	text.WriteString("\n9\t10\t10\t0\t\t\n")
	var rows, faults int
	err := ReadTSV(&text, BottomUp, func(r *Row, f Fault) error {
		if f.Line != 2 || r.Count != 0 {
			t.Errorf("row at line %d with %d boxes", f.Line, r.Count)
		}
		rows++
		return nil
	}, func(Fault) error { faults++; return nil })
	if err != nil || rows != 1 || faults != 1 {
		t.Errorf("%d rows, %d faults, %v", rows, faults, err)
	}
}

func FuzzReadArray(f *testing.F) {
	for _, pattern := range []string{"testdata/perimage/*/*.npy", "testdata/perimage/*/*.npz"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ReadArray(data, "feat")
		if err != nil {
			return
		}
		n := 1
		for _, d := range a.Shape {
			n *= d
		}
		if n != len(a.Data) {
			t.Fatalf("%d values of shape %v", len(a.Data), a.Shape)
		}
	})
}

func FuzzReadTSV(f *testing.F) {
	names, err := filepath.Glob("testdata/bottomup/*.tsv")
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := int64(0)
		err := ReadTSV(bytes.NewReader(data), BottomUp, func(r *Row, f Fault) error {
			lines = f.Line
			if len(r.Boxes) != 4*r.Count || len(r.Features) != r.Dim*r.Count {
				t.Fatalf("%d boxes, %d numbers of boxes, %d of features", r.Count, len(r.Boxes), len(r.Features))
			}
			return nil
		}, func(f Fault) error { lines = f.Line; return nil })
		want := int64(bytes.Count(data, []byte("\n")))
		if len(data) > 0 && data[len(data)-1] != '\n' {
			want++
		}
		if err != nil || lines != want {
			t.Fatalf("%d lines, want %d, %v", lines, want, err)
		}
	})
}
