package draw

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"espalier/internal/shared"
)

func TestNumbersOfNumPy(t *testing.T) {
	var golden struct {
		PCG64 []struct {
			Seed   uint64
			Raw    []uint64 `json:"random_raw"`
			Choice []struct {
				N     uint32
				Shape [2]int
				First []uint32
				Hash  string `json:"sha256_int64_little_endian"`
			}
			Bool []struct {
				Shape []int
				First string
				Sum   int
			}
		}
		Legacy []struct {
			Seed   uint32
			Choice []uint32 `json:"choice_123"`
		}
	}
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "bleu", "rng.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	for _, g := range golden.PCG64 {
		p := NewPCG64(g.Seed)
		for i, want := range g.Raw {
			if got := p.Uint64(); got != want {
				t.Errorf("seed %d, word %d: %d, want %d", g.Seed, i, got, want)
			}
		}
		for _, c := range g.Choice {
			p, h := NewPCG64(g.Seed), sha256.New()
			for i := range c.Shape[0] * c.Shape[1] {
				v := p.Below(c.N)
				if i < len(c.First) && v != c.First[i] {
					t.Errorf("seed %d, choice of %d, draw %d: %d, want %d", g.Seed, c.N, i, v, c.First[i])
				}
				var b [8]byte
				binary.LittleEndian.PutUint64(b[:], uint64(v))
				h.Write(b[:])
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != c.Hash {
				t.Errorf("seed %d, choice of %d: hash %s, want %s", g.Seed, c.N, got, c.Hash)
			}
		}
		for _, c := range g.Bool {
			p, n := NewPCG64(g.Seed), 1
			for _, s := range c.Shape {
				n *= s
			}
			sum := 0
			for i := range n {
				v := 0
				if p.Bool() {
					v = 1
				}
				sum += v
				if i < len(c.First) && v != int(c.First[i]-'0') {
					t.Errorf("seed %d, truth value %d: %d, want %c", g.Seed, i, v, c.First[i])
				}
			}
			if sum != c.Sum {
				t.Errorf("seed %d, %d truth values: sum %d, want %d", g.Seed, n, sum, c.Sum)
			}
		}
	}
	for _, g := range golden.Legacy {
		m := NewMT19937(g.Seed)
		for i, want := range g.Choice {
			if got := m.Below(123); got != want {
				t.Errorf("legacy seed %d, draw %d: %d, want %d", g.Seed, i, got, want)
			}
		}
	}
}

// The first words of default_rng(12345) and of seed(5489), which is MT19937's own
// example.
func TestFirstNumbers(t *testing.T) {
	if got := NewPCG64(12345).Uint64(); got != 4193609425186963869 {
		t.Errorf("PCG64: %d", got)
	}
	if got := NewMT19937(5489).Uint32(); got != 3499211612 {
		t.Errorf("MT19937: %d", got)
	}
}
