package decode

import (
	"slices"
	"testing"
)

func TestIntrosort(t *testing.T) {
	// Ties as torch.sort of PyTorch 2.13 leaves them on the CPU.
	want := []int{11, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 0, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	if got := introsort(make([]float32, 23)); !slices.Equal(got, want) {
		t.Errorf("23 equal values: %v, want %v", got, want)
	}
	for n := range 200 {
		for _, values := range []int{1, 3, 1000} {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(int(uniform(uint64(n), uint64(i), uint64(values)) * float64(values)))
			}
			at := introsort(x)
			seen := make([]bool, n)
			for i, p := range at {
				if seen[p] || i > 0 && x[at[i-1]] > x[p] {
					t.Fatalf("%d values of %d: order %v of %v", n, values, at, x)
				}
				seen[p] = true
			}
		}
	}
}

func TestGenerationErrors(t *testing.T) {
	one := int32(1)
	for _, g := range []Generation{
		{},
		{MaxNew: 3, Beams: 2, Sample: true},
		{MaxNew: 3, Filter: Filter{TopK: 3}},
		{MaxNew: 3, Return: 2},
		{MaxNew: 3, Early: "maybe"},
		{MaxNew: 3, Rules: "3"},
		{MaxNew: 3, Rules: Rules47, Early: EarlyNever},
		{MaxNew: 3, Sample: true, Filter: Filter{TopP: 2}},
		{MaxNew: 3, Processing: Processing{MinNew: -1, ForcedEOS: &one}},
	} {
		if err := g.Check(); err == nil {
			t.Errorf("%+v was taken", g)
		}
	}
}

// raw is a toy that gives scores too, shifted by a constant.
type raw struct{ *toy }

func (r raw) Scores(source, token []int32) ([]float32, error) {
	x, err := r.Step(source, token)
	for i := range x {
		x[i] += 3
	}
	return x, err
}

// Draws have the filtered distribution and do not depend on other inputs.
func TestDraws(t *testing.T) {
	g := Generation{Return: 500, MaxNew: 1, EOS: 99, Start: 9, Sample: true, Seed: 4, Filter: Filter{Temperature: 0.8, TopK: 3}}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	draw := func(keys ...uint64) [][]Hypothesis {
		out, err := g.Run(t.Context(), raw{newToyKeys(t, keys)}, keys)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	both := draw(3, 8)
	if alone := draw(8); !slices.EqualFunc(alone[0], both[1], same) {
		t.Error("draws depend on the other inputs")
	}
	scores := newToy(t, 4, 1, 2).logp([]int32{3, 9})
	g.Filter.apply(scores)
	p := softmax(scores)
	counts := make([]float64, 4)
	for _, h := range both[0] {
		counts[h.Tokens[0]]++
	}
	zeros := 0
	for i, n := range counts {
		if p[i] == 0 {
			zeros++
		}
		if d := n - 500*p[i]; d*d > 16*500*p[i]*(1-p[i])+1e-9 {
			t.Errorf("token %d drawn %g times of 500, want about %.1f", i, n, 500*p[i])
		}
	}
	if zeros != 1 {
		t.Errorf("%d tokens have no chance, want 1", zeros)
	}
}
