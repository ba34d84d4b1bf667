package ckpt

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
)

// file returns safetensors bytes with the given header text and data.
func file(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func open(b []byte) (*File, error) { return Open(bytes.NewReader(b), int64(len(b)), "test") }

func TestReadKinds(t *testing.T) {
	le := binary.LittleEndian
	var data []byte
	for _, v := range []float32{1.5, -2.25} {
		data = le.AppendUint32(data, math.Float32bits(v))
	}
	for _, h := range []uint16{0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000} { // half
		data = le.AppendUint16(data, h)
	}
	for _, h := range []uint16{0x3fc0, 0xff80} { // bfloat16
		data = le.AppendUint16(data, h)
	}
	for _, v := range []float64{math.Pi} {
		data = le.AppendUint64(data, math.Float64bits(v))
	}
	for _, v := range []int64{-7, 1 << 40} {
		data = le.AppendUint64(data, uint64(v))
	}
	data = le.AppendUint32(data, 0xffffffff)
	header := `{"__metadata__":{"a":"b"},` +
		`"f32":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},` +
		`"f16":{"dtype":"F16","shape":[6],"data_offsets":[8,20]},` +
		`"bf16":{"dtype":"BF16","shape":[2],"data_offsets":[20,24]},` +
		`"f64":{"dtype":"F64","shape":[],"data_offsets":[24,32]},` +
		`"i64":{"dtype":"I64","shape":[2],"data_offsets":[32,48]},` +
		`"i32":{"dtype":"I32","shape":[1],"data_offsets":[48,52]},` +
		`"none":{"dtype":"F32","shape":[0,5],"data_offsets":[52,52]}}  `
	f, err := open(file(header, data))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Names(), []string{"bf16", "f16", "f32", "f64", "i32", "i64", "none"}; !slices.Equal(got, want) {
		t.Errorf("Names() = %v, want %v", got, want)
	}
	if got := f.Meta("a"); got != "b" {
		t.Errorf(`Meta("a") = %q, want "b"`, got)
	}
	for name, want := range map[string][]float32{
		"f32":  {1.5, -2.25},
		"f16":  {1, -2, 1.0 / (1 << 24), 65504, float32(math.Inf(1)), float32(math.Copysign(0, -1))},
		"bf16": {1.5, float32(math.Inf(-1))},
		"f64":  {math.Pi},
		"none": {},
	} {
		got, err := f.Floats(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Errorf("%s[%d] = %g, want %g", name, i, got[i], want[i])
			}
		}
	}
	if got, err := f.Ints("i64"); err != nil || !slices.Equal(got, []int64{-7, 1 << 40}) {
		t.Errorf("i64 = %v, %v", got, err)
	}
	if got, err := f.Ints("i32"); err != nil || !slices.Equal(got, []int64{-1}) {
		t.Errorf("i32 = %v, %v", got, err)
	}
	if got, err := f.Floats64("f64"); err != nil || got[0] != math.Pi {
		t.Errorf("f64 = %v, %v", got, err)
	}
	if in, _ := f.Info("f32"); !slices.Equal(in.Shape, []int{2, 1}) {
		t.Errorf("shape of f32 = %v", in.Shape)
	}
	one := make([]float32, 1)
	if err := f.ReadFloats("f16", 3, one); err != nil || one[0] != 65504 {
		t.Errorf("f16[3] = %g, %v", one[0], err)
	}
	if err := f.ReadFloats("f16", 6, one); err == nil {
		t.Error("reading past the end: no error")
	}
	if _, err := f.Floats("absent"); !errors.Is(err, ErrMissing) {
		t.Errorf("absent tensor: %v, want ErrMissing", err)
	}
	if _, err := f.Floats("i64"); err == nil {
		t.Error("reading I64 as floats: no error")
	}
}

func TestHalfExact(t *testing.T) {
	for h := range 1 << 16 {
		sign, exp, frac := h>>15, h>>10&31, h&1023
		want := math.Ldexp(float64(1024+frac), exp-25)
		switch {
		case exp == 0:
			want = math.Ldexp(float64(frac), -24)
		case exp == 31 && frac == 0:
			want = math.Inf(1)
		case exp == 31:
			want = math.NaN()
		}
		if sign == 1 {
			want = -want
		}
		got := float64(fromHalf(uint16(h)))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("half %#04x = %g, want %g", h, got, want)
		}
	}
}

func TestRefuse(t *testing.T) {
	ok := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	if _, err := open(file(ok, make([]byte, 4))); err != nil {
		t.Fatal(err)
	}
	long := file(ok, make([]byte, 4))
	binary.LittleEndian.PutUint64(long, 1<<40)
	cases := map[string]struct {
		b    []byte
		want string
	}{
		"empty":             {nil, "too short"},
		"header length":     {long, "header of"},
		"no object":         {file(`[]`, nil), "want an object"},
		"cut header":        {file(ok[:20], nil), ""},
		"text after":        {file(ok+"x", make([]byte, 4)), "after the object"},
		"twice":             {file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, nil), "twice"},
		"unknown dtype":     {file(`{"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4)), "not known"},
		"no shape":          {file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, make([]byte, 4)), "missing"},
		"negative":          {file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, make([]byte, 4)), "shape"},
		"overflow":          {file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}}`, nil), "too large"},
		"offsets and shape": {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, make([]byte, 4)), "do not hold"},
		"short data":        {file(ok, make([]byte, 3)), "ends at 4 of 3"},
		"spare data":        {file(ok, make([]byte, 5)), "end at 4 of 5"},
		"hole":              {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)), "no holes"},
		"overlap":           {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)), "no holes"},
		"metadata":          {file(`{"__metadata__":{"a":1}}`, nil), "__metadata__"},
		"not UTF-8":         {file("{\"\xff\":{}}", nil), "UTF-8"},
	}
	for name, c := range cases {
		if _, err := open(c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestWrite(t *testing.T) {
	tensors := []Tensor{
		Slice("b", []float32{1, 2, 3, 4}, 2, 2),
		{Name: "step", Ints: []int64{5}},
		Slice("a<é>", []float32{-1}, 1),
	}
	var b bytes.Buffer
	if err := Write(&b, tensors, map[string]string{"k2": "v", "k1": "w"}); err != nil {
		t.Fatal(err)
	}
	head := `{"__metadata__":{"k1":"w","k2":"v"},` +
		`"a<é>":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},` +
		`"b":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]},` +
		`"step":{"dtype":"I64","shape":[],"data_offsets":[20,28]}}`
	head += strings.Repeat(" ", (8-len(head)%8)%8)
	data := []byte{
		0, 0, 0x80, 0xbf, // -1
		0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40, // 1 2 3 4
		5, 0, 0, 0, 0, 0, 0, 0,
	}
	if want := file(head, data); !bytes.Equal(b.Bytes(), want) {
		t.Errorf("got\n%q\nwant\n%q", b.Bytes(), want)
	}
	var again bytes.Buffer
	slices.Reverse(tensors)
	if err := Write(&again, tensors, map[string]string{"k1": "w", "k2": "v"}); err != nil || !bytes.Equal(again.Bytes(), b.Bytes()) {
		t.Errorf("another order gives other bytes (%v)", err)
	}
	if _, err := open(b.Bytes()); err != nil {
		t.Error(err)
	}

	for name, bad := range map[string][]Tensor{
		"twice":      {Slice("a", nil, 0), Slice("a", nil, 0)},
		"metadata":   {Slice("__metadata__", nil, 0)},
		"short":      {Slice("a", []float32{1}, 2)},
		"short ints": {{Name: "a", Shape: []int{2}, Ints: []int64{1}}},
	} {
		if err := Write(io.Discard, bad, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var empty bytes.Buffer
	if err := Write(&empty, nil, nil); err != nil || !bytes.Equal(empty.Bytes(), file("{}      ", nil)) {
		t.Errorf("no tensors: %q, %v", empty.Bytes(), err)
	}
}

func TestSaveLoad(t *testing.T) {
	dir := t.TempDir()
	in := []Tensor{Slice("w", []float32{3, 1, 4}, 3)}
	if err := Save(dir, Checkpoint{Model: "toy", Config: json.RawMessage(`{"d":3}`)}, in); err != nil {
		t.Fatal(err)
	}
	c, f, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := f.Floats("w")
	if err != nil || !slices.Equal(w, []float32{3, 1, 4}) {
		t.Errorf("w = %v, %v", w, err)
	}
	var config struct{ D int }
	if err := json.Unmarshal(c.Config, &config); err != nil || config.D != 3 || c.Model != "toy" {
		t.Errorf("checkpoint %+v, config %+v, %v", c, config, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	// Weights of another save under the same JSON are refused.
	name := filepath.Join(dir, WeightsFile)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "does not belong") {
		t.Errorf("flipped byte: %v", err)
	}
	failing := []Tensor{{Name: "x", Shape: []int{1}, Floats: func([]float32) error { return errors.New("gone") }}}
	if err := Save(dir, Checkpoint{}, failing); err == nil {
		t.Error("failing tensor: no error")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp*")); len(left) > 0 {
		t.Errorf("left behind after an error: %v", left)
	}
}

// The reference data were written by the safetensors Python package.
func TestReferenceFiles(t *testing.T) {
	f, err := OpenFile(shared.Dir(t, "goldens", "papers", "acort", "acort_kv_000111.io.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ids, err := f.Ints("seqs")
	if err != nil || ids[0] != 31 || slices.Max(ids) != 32 {
		t.Errorf("seqs begin %v, largest %d, %v", ids[0], slices.Max(ids), err)
	}
	single, err := f.Floats64("log_probs")
	if err != nil {
		t.Fatal(err)
	}
	double, err := f.Floats64("log_probs_f64")
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i := range single {
		worst = max(worst, math.Abs(single[i]-double[i]))
	}
	if want := 1.9285598010565508e-05; worst != want { // as its JSON file says
		t.Errorf("largest difference %v, want %v", worst, want)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"__metadata__":{"x":"y"}}`, make([]byte, 4)))
	f.Add(file(`{"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[0,9],"data_offsets":[8,8]}}`, make([]byte, 8)))
	f.Add(file(`{}`, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := open(b)
		if err != nil {
			return
		}
		total := int64(8 + binary.LittleEndian.Uint64(b))
		for _, name := range s.Names() {
			in, _ := s.Info(name)
			total += int64(in.Len) * in.DType.bytes()
			n := 1
			for _, d := range in.Shape {
				n *= d
			}
			if n != in.Len {
				t.Fatal(fmt.Sprint("shape ", in.Shape, " holds ", in.Len))
			}
			switch in.DType {
			case F32, F16, BF16, F64:
				if _, err := s.Floats(name); err != nil {
					t.Fatal(err)
				}
			case I64, I32:
				if _, err := s.Ints(name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if total != int64(len(b)) {
			t.Fatalf("tensors and header make %d of %d bytes", total, len(b))
		}
	})
}
