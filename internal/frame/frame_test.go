package frame

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// texts are what frames are made of: of the lengths at which headers change,
// with few and many different bytes.
func texts() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := map[string][]byte{"nothing": {}, "chinese": []byte(strings.Repeat("一二三四五六七八九十，", 9000))}
	for _, n := range []int{1, 31, 32, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 16383, 16384, 16385, 65791, 65792, blockBytes - 1, blockBytes, blockBytes + 1, 3*blockBytes + 7} {
		few, noise := make([]byte, n), make([]byte, n)
		for i := range n {
			few[i] = "aaaaabbbc def"[r.IntN(13)]
			noise[i] = byte(r.Uint32())
		}
		out["few "+strings.Repeat("I", n%50)+string(rune('0'+n%10))] = few
		out["noise "+strings.Repeat("I", n%50)+string(rune('0'+n%10))] = noise
		out["same "+strings.Repeat("I", n%50)+string(rune('0'+n%10))] = bytes.Repeat([]byte{'x'}, n)
	}
	return out
}

func TestAppend(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var e Encoder
	for name, text := range texts() {
		got := e.Append([]byte("head"), text)
		if !bytes.Equal(got, new(Encoder).Append([]byte("head"), text)) {
			t.Errorf("%s, %d bytes: the frame depends on those before it", name, len(text))
		}
		var h zstd.Header
		if err := h.Decode(got[4:]); err != nil || !h.HasFCS || h.FrameContentSize != uint64(len(text)) {
			t.Errorf("%s: header %+v, %v", name, h, err)
		}
		back, err := d.DecodeAll(got[4:], nil)
		if err != nil || !bytes.Equal(back, text) {
			t.Errorf("%s: %d bytes come back as %d, %v", name, len(text), len(back), err)
		}
		if n := len(got) - 4; n > len(text)+13+3*(1+len(text)/blockBytes) {
			t.Errorf("%s: %d bytes take %d", name, len(text), n)
		}
	}
}

func TestParts(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	all := texts()
	for _, parts := range [][][]byte{nil, {nil, nil}, {all["chinese"], nil}, {nil, all["chinese"]}, {[]byte("ab"), all["chinese"], []byte("c")}} {
		want := bytes.Join(parts, nil)
		back, err := d.DecodeAll(new(Encoder).Append(nil, parts...), nil)
		if err != nil || !bytes.Equal(back, want) {
			t.Errorf("%d parts: %d bytes come back as %d, %v", len(parts), len(want), len(back), err)
		}
	}
}

func TestCoded(t *testing.T) {
	for name, text := range texts() {
		if n := len(new(Encoder).Append(nil, text)); strings.HasPrefix(name, "few") && len(text) > 1000 && n > len(text)/2 {
			t.Errorf("%s: %d bytes take %d", name, len(text), n)
		}
	}
}

func FuzzAppend(f *testing.F) {
	f.Add([]byte("some words, some words"))
	d, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		back, err := d.DecodeAll(new(Encoder).Append(nil, text), nil)
		if err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q comes back as %q, %v", text, back, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	text := texts()["chinese"]
	var e Encoder
	var out []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		out = e.Append(out[:0], text)
	}
}
