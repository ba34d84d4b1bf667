package ckpt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
)

type manifest struct {
	Files map[string]struct {
		Tensors map[string]struct {
			DType string
			Shape []int
			F32   string `json:"sha256_float32"`
			Raw   string `json:"sha256_raw"`
		}
		Values map[string]any
	}
	Refuse map[string]struct{ Why string }
}

func readManifest(t testing.TB, dir string) manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func eachManifest(t *testing.T, test func(t *testing.T, dir string, m manifest)) {
	t.Run("testdata", func(t *testing.T) { test(t, "testdata/torch", readManifest(t, "testdata/torch")) })
	t.Run("shared", func(t *testing.T) {
		dir := shared.Dir(t, "goldens", "models", "formats")
		test(t, dir, readManifest(t, dir))
	})
}

var torchNames = map[DType]string{
	F64: "float64", F32: "float32", F16: "float16", BF16: "bfloat16", I64: "int64", I32: "int32",
	"I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}

func digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func bytesOf(x []float32) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestWeightFormats(t *testing.T) {
	eachManifest(t, func(t *testing.T, dir string, m manifest) {
		for file, want := range m.Files {
			w, err := OpenWeights(filepath.Join(dir, file))
			if err != nil {
				t.Error(err)
				continue
			}
			if got := len(w.Names()); got != len(want.Tensors) {
				t.Errorf("%s: %d tensors, want %d", file, got, len(want.Tensors))
			}
			for name, x := range want.Tensors {
				in, ok := w.Info(name)
				if !ok || torchNames[in.DType] != x.DType || !slices.Equal(in.Shape, x.Shape) {
					t.Errorf("%s: %q is %v %v, want %s %v", file, name, in.DType, in.Shape, x.DType, x.Shape)
					continue
				}
				raw, err := w.Raw(name)
				if err != nil {
					t.Error(err)
					continue
				}
				floats, err := AsFloats(w, name)
				if err != nil {
					t.Error(err)
					continue
				}
				if digest(raw) != x.Raw || digest(bytesOf(floats)) != x.F32 {
					t.Errorf("%s: %q has other values", file, name)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTorchValues(t *testing.T) {
	for _, file := range []string{"nested.pt", "nested-legacy.pt"} {
		w, err := OpenTorch(filepath.Join("testdata/torch", file))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		v := w.Values()
		two70, _ := new(big.Int).SetString("1180591620717411303424", 10)
		for name, want := range map[string]any{
			"step": int64(1), "epoch": 0.5, "name": "tiny", "none": nil, "flags/0": true, "flags/1": false, "neg": int64(-3),
		} {
			if got, ok := v[name]; !ok || got != want {
				t.Errorf("%s: %s = %v, want %v", file, name, got, want)
			}
		}
		if got, ok := v["big"].(*big.Int); !ok || got.Cmp(two70) != 0 {
			t.Errorf("%s: big = %v, want %v", file, v["big"], two70)
		}
	}
}

func TestRefusedWeights(t *testing.T) {
	wants := map[string]string{
		"call-print.pt": "print", "call-print-legacy.pt": "print", "call-eval-protocol0.bin": "eval", "stack-global-getattr.bin": "getattr",
		"crc.bin": "checksum", "big-endian.bin": "byte order", "missing-storage.bin": "data/3", "short-storage.bin": "data/0",
		"truncated-half.bin": "cut", "truncated-last.bin": "cut", "truncated-legacy.bin": "cut", "empty.bin": "empty",
		"not-a-checkpoint.pt": "not one of PyTorch", "index-escape/model.safetensors.index.json": "no file beside the index",
		"index-missing/model.safetensors.index.json": "no such file",
	}
	eachManifest(t, func(t *testing.T, dir string, m manifest) {
		for file := range m.Refuse {
			path := filepath.Join(dir, "refuse", file)
			err := readAll(path)
			if err == nil {
				t.Errorf("%s: no error", file)
				continue
			}
			if !strings.Contains(err.Error(), filepath.Base(file)) || !strings.Contains(err.Error(), wants[file]) {
				t.Errorf("%s: error %q does not name the file and the cause %q", file, err, wants[file])
			}
		}
	})
}

func readAll(path string) error {
	w, err := OpenWeights(path)
	if err != nil {
		return err
	}
	_, err = Inspect(w)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}

func TestShardedWeights(t *testing.T) {
	w, err := OpenWeights("testdata/torch/sharded-bin")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m := readManifest(t, "testdata/torch")
	n := 0
	for file, want := range m.Files {
		if !strings.HasPrefix(file, "sharded-bin/") {
			continue
		}
		for name, x := range want.Tensors {
			n++
			raw, err := w.Raw(name)
			if err != nil || digest(raw) != x.Raw {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if n == 0 || n != len(w.Names()) {
		t.Errorf("%d tensors, want %d", len(w.Names()), n)
	}
}

// The vision goldens: a state dict in both containers, and OpenAI's archive
// form against the same weights as safetensors.
func TestVisionWeights(t *testing.T) {
	dir := shared.Dir(t, "goldens", "vision", "formats")
	want, err := OpenWeights(filepath.Join(dir, "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	for _, file := range []string{"zip_state_dict.pt", "legacy_state_dict.pt"} {
		w, err := OpenWeights(filepath.Join(dir, "torch", file))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		n := 0
		for _, name := range want.Names() {
			base, ok := strings.CutPrefix(name, "torch.")
			if !ok {
				continue
			}
			n++
			x, err := AsFloats(want, name)
			if err != nil {
				t.Fatal(err)
			}
			y, err := AsFloats(w, base)
			if err != nil {
				t.Error(err)
				continue
			}
			if !bytes.Equal(bytesOf(x), bytesOf(y)) {
				t.Errorf("%s: %s differs", file, base)
			}
		}
		if n != len(w.Names()) {
			t.Errorf("%s: %d tensors, want %d", file, len(w.Names()), n)
		}
	}

	dir = shared.Dir(t, "goldens", "vision", "clip")
	a, err := OpenWeights(filepath.Join(dir, "rn_b.jit.pt"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := OpenWeights(filepath.Join(dir, "rn_b.weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, name := range b.Names() {
		in, ok := a.Info(name)
		want, _ := b.Info(name)
		x, err1 := a.Raw(name)
		y, err2 := b.Raw(name)
		if !ok || err1 != nil || err2 != nil || in.DType != want.DType || !slices.Equal(in.Shape, want.Shape) || !bytes.Equal(x, y) {
			t.Errorf("%s: %v %v, want %v %v; %v, %v", name, in.DType, in.Shape, want.DType, want.Shape, err1, err2)
		}
	}
	for name, want := range map[string]int64{"input_resolution": 224, "context_length": 13, "vocab_size": 97} {
		if v, err := AsInts(a, name); err != nil || len(v) != 1 || v[0] != want {
			t.Errorf("%s = %v, %v, want %d", name, v, err, want)
		}
	}
}

// Inspect gives one digest to equal tensors, whatever file holds them, and
// Convert keeps them.
func TestConvert(t *testing.T) {
	w, err := OpenWeights("testdata/torch/odd.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before, err := Inspect(w)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "odd.safetensors")
	if err := Convert(w, path, ""); err != nil {
		t.Fatal(err)
	}
	c, err := OpenWeights(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	after, err := Inspect(c)
	if err != nil {
		t.Fatal(err)
	}
	if before.Digest != after.Digest || before.Bytes != after.Bytes {
		t.Errorf("digest %.8s, %d bytes; want %.8s, %d", after.Digest, after.Bytes, before.Digest, before.Bytes)
	}
	half := filepath.Join(t.TempDir(), "half.safetensors")
	if err := Convert(w, half, F16); err != nil {
		t.Fatal(err)
	}
	h, err := OpenWeights(half)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for name, want := range map[string]DType{"f64": F16, "i64": I64, "bf16": F16, "bool": "BOOL"} {
		if in, _ := h.Info(name); in.DType != want {
			t.Errorf("%s is %s, want %s", name, in.DType, want)
		}
	}
}

func TestHalfRounding(t *testing.T) {
	for h := range 1 << 16 {
		f := fromHalf(uint16(h))
		if f != f {
			continue
		}
		if got := toHalf(f); got != uint16(h) {
			t.Fatalf("toHalf(%g) = %#04x, want %#04x", f, got, h)
		}
		// Halfway to the next number goes to the even one.
		if next := fromHalf(uint16(h + 1)); h&0x7fff < 0x7bff {
			want := uint16(h + h&1)
			if got := toHalf(float32((float64(f) + float64(next)) / 2)); got != want {
				t.Fatalf("toHalf between %#04x and the next = %#04x, want %#04x", h, got, want)
			}
		}
	}
	for f, want := range map[float32]uint16{65519: 0x7bff, 65520: 0x7c00, 1e9: 0x7c00, -1e9: 0xfc00} {
		if got := toHalf(f); got != want {
			t.Errorf("toHalf(%g) = %#04x, want %#04x", f, got, want)
		}
	}
	for f, want := range map[uint32]uint16{0x3f800000: 0x3f80, 0x3f808000: 0x3f80, 0x3f818000: 0x3f82, 0x3f808001: 0x3f81, 0x7f7fffff: 0x7f80} {
		if got := toBrain(math.Float32frombits(f)); got != want {
			t.Errorf("toBrain(%#08x) = %#04x, want %#04x", f, got, want)
		}
	}
}

// A pickle that nests one tuple in the next doubles the tree at each step; it
// must end in an error soon.
func TestPickleOfManyPaths(t *testing.T) {
	p := []byte{0x80, 2, ')'}
	for range 50 {
		p = append(p, '2', 0x86)
	}
	p = append(p, '.')
	v, err := newUnpickler(bytes.NewReader(p), int64(len(p)), false).read()
	if err != nil {
		t.Fatal(err)
	}
	x := &Torch{tensors: map[string]*pyTensor{}, values: map[string]any{}}
	if err := x.flatten(v, "", "/", 0); err == nil {
		t.Error("flatten: no error")
	}
	if err := eachStorage(v, func(*pyStorage) error { return nil }); err == nil {
		t.Error("eachStorage: no error")
	}
}

func FuzzTorch(f *testing.F) {
	files, err := filepath.Glob("testdata/torch/*.pt")
	if err != nil {
		f.Fatal(err)
	}
	more, err := filepath.Glob("testdata/torch/refuse/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(files, more...) {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := ReadTorch(bytes.NewReader(data), int64(len(data)), "fuzz")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz: ") {
				t.Fatalf("error %q does not name the file", err)
			}
			return
		}
		for _, name := range w.Names() {
			in, _ := w.Info(name)
			if in.Len > 1<<20 {
				continue
			}
			if raw, err := w.Raw(name); err == nil && int64(len(raw)) != int64(in.Len)*in.DType.bytes() {
				t.Fatal(fmt.Sprint(name, " has ", len(raw), " bytes for ", in))
			}
		}
	})
}
