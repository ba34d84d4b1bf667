package frame

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestFives compares the streams of five codes at once with those of plain Go and
// with bits written one by one.
func TestFives(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{2, 3, 5, 9, 10, 11, 63, 64, 65, 200, 1023, 1024, 1025, 1026, 1027, 1028, 5000, 40_000} {
		for _, many := range []int{2, 3, 17, 90, 256} {
			src := make([]byte, n)
			for i := range src {
				src[i] = byte(min(r.IntN(many), r.IntN(many)) * 255 / (many - 1))
			}
			src[0], src[n-1] = 0, 255
			var count [256]uint32
			for _, b := range src {
				count[b]++
			}
			var c code
			c.make(&count)
			want := plainStream(&c, src)
			if got := c.size(&count); got != len(want) {
				t.Fatalf("%d of %d: a stream of %d bytes, foretold as %d", n, many, len(want), got)
			}
			for cut := range min(n, 4) {
				short := src[:n-cut]
				beside := plainStream(&c, short)
				got, other := make([]byte, len(want)), make([]byte, len(beside))
				c.two(got, other, src, short)
				if !bytes.Equal(got, want) || !bytes.Equal(other, beside) {
					t.Fatalf("%d of %d, %d fewer beside: streams differ", n, many, cut)
				}
				var a, b, x, y stream
				u, v := make([]byte, len(beside)), make([]byte, len(beside))
				p, q := slices.Clone(u), slices.Clone(v)
				i, k := fives(&c.table, &a, &b, u, v, short, short), fivesGeneric(&c.table, &x, &y, p, q, short, short)
				if i != k || a.n != x.n || b.at != y.at || !bytes.Equal(u[:a.at], p[:x.at]) || !bytes.Equal(v[:b.at], q[:y.at]) {
					t.Fatalf("%d of %d: fives and their plain twin differ", n, many)
				}
			}
		}
	}
}

// plainStream writes bit by bit.
func plainStream(c *code, src []byte) []byte {
	var bits []byte
	for _, b := range slices.Backward(src) {
		n := c.table[b] & 63
		for k := range n { // from the lowest bit of the code
			bits = append(bits, byte(c.table[b]>>(64-n+k)&1))
		}
	}
	bits = append(bits, 1)
	out := make([]byte, (len(bits)+7)/8)
	for i, b := range bits {
		out[i/8] |= b << (i % 8)
	}
	return out
}

// TestLengths checks codes of counts of all kinds: they fill the tree, are not
// longer than may be, and those of more frequent bytes are not longer.
func TestLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for try := range 2000 {
		var count [256]uint32
		n := 2 + try%255
		a, b := uint32(1), uint32(1)
		for i := range n {
			switch try % 3 {
			case 0:
				count[i] = 1 + r.Uint32N(1000)
			case 1:
				count[i], a, b = a, b, min(a+b, 1<<24) // as deep as trees get
			case 2:
				count[r.IntN(256)] = 1 + uint32(1)<<r.IntN(20)
			}
		}
		if try%3 == 2 {
			count[0], count[255] = 1, 1
		}
		var lengths [256]byte
		if !codeLengths(&count, &lengths) {
			t.Fatalf("%d: no code", try)
		}
		sum := 0
		for i, l := range lengths {
			if (l > 0) != (count[i] > 0) || l > longest {
				t.Fatalf("%d: byte %d, which occurs %d times, has a code of %d bits", try, i, count[i], l)
			}
			if l > 0 {
				sum += 1 << (longest - l)
			}
			for k, m := range lengths {
				if count[k] > count[i] && count[i] > 0 && m > l {
					t.Fatalf("%d: byte %d of %d has %d bits, byte %d of %d has %d", try, k, count[k], m, i, count[i], l)
				}
			}
		}
		if sum != 1<<longest {
			t.Fatalf("%d: codes fill %d of %d", try, sum, 1<<longest)
		}
	}
}

// TestNoCode has no code for what needs none.
func TestNoCode(t *testing.T) {
	var count [256]uint32
	var lengths [256]byte
	if codeLengths(&count, &lengths) {
		t.Error("a code of nothing")
	}
	count['x'] = 7
	if codeLengths(&count, &lengths) {
		t.Error("a code of one byte")
	}
}

// TestShared has blocks that share codes, with ones between them that are not
// coded: of noise, and of a single byte.
func TestShared(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := rand.New(rand.NewPCG(7, 8))
	for _, order := range []string{"tnst", "nttt", "ssts", "sss", "nnn", "tttttttttt", "nstnstnstnst"} {
		var text []byte
		for _, kind := range order {
			for range blockBytes {
				b := byte('x')
				switch kind {
				case 't':
					b = "aaaabbbcdeeeeee \n"[r.IntN(17)]
				case 'n':
					b = byte(r.Uint32())
				}
				text = append(text, b)
			}
		}
		for _, cut := range []int{0, 1, 100, blockBytes - 50, blockBytes - 1500} {
			want := text[:len(text)-cut]
			got := new(Encoder).Append(nil, want)
			back, err := d.DecodeAll(got, nil)
			if err != nil || !bytes.Equal(back, want) {
				t.Errorf("%s, %d fewer: %d bytes come back as %d, %v", order, cut, len(want), len(back), err)
			}
			if len(got) > len(want)+100 {
				t.Errorf("%s, %d fewer: %d bytes take %d", order, cut, len(want), len(got))
			}
		}
	}
}
