package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

func read(ps *Params, p *Param) []float32 {
	x := make([]float32, p.Len())
	ps.Device().Read(x, p.Value)
	return x
}

// Initial values depend on the seed and the path, not on the order or company
// of the declaration.
func TestInitIgnoresOrder(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	make2 := func(seed uint64, paths ...string) map[string]string {
		ps := NewParams(dev, seed)
		for _, path := range paths {
			ps.New(path, Uniform(1), 5, 3)
		}
		ps.Alloc()
		out := map[string]string{}
		for _, p := range ps.All() {
			out[p.Path] = fmt.Sprint(read(ps, p))
		}
		return out
	}
	a, b, c := make2(1, "x", "y", "z"), make2(1, "z", "x"), make2(2, "x")
	if a["x"] != b["x"] || a["z"] != b["z"] {
		t.Error("values depend on the order of declaration")
	}
	if a["x"] == a["y"] {
		t.Error("two paths have equal values")
	}
	if a["x"] == c["x"] {
		t.Error("two seeds have equal values")
	}
}

func TestInitBounds(t *testing.T) {
	x := make([]float32, 100_000)
	bound := math.Sqrt(6.0 / 576)
	Xavier(512, 64).Fill(x, 8888, "w")
	sum, squares, low, high := 0.0, 0.0, 0.0, 0.0
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
		low, high = min(low, float64(v)), max(high, float64(v))
	}
	n := float64(len(x))
	if low < -bound || high > bound || low > -0.999*bound || high < 0.999*bound {
		t.Errorf("values from %g to %g, want +-%g", low, high, bound)
	}
	if mean := sum / n; math.Abs(mean) > 5*bound/math.Sqrt(3*n) {
		t.Errorf("mean %g", mean)
	}
	if got, want := squares/n, bound*bound/3; math.Abs(got/want-1) > 0.02 {
		t.Errorf("variance %g, want %g", got, want)
	}
	Const(0.5).Fill(x[:3], 1, "c")
	if x[0] != 0.5 || x[2] != 0.5 {
		t.Errorf("constant: %v", x[:3])
	}
}

func TestSpans(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	ps := NewParams(dev, 1)
	for _, path := range []string{"a.weight", "a.bias", "frozen.weight", "b.weight", "b.bias", "c.bias"} {
		ps.New(path, Uniform(1), 3, 7)
	}
	ps.Alloc()
	ps.Freeze(func(path string) bool { return strings.HasPrefix(path, "frozen") })
	ps.Train()
	if got, want := ps.CountTrained(), 5*21; got != want {
		t.Errorf("CountTrained() = %d, want %d", got, want)
	}
	if !ps.Get("frozen.weight").Grad.IsZero() {
		t.Error("a frozen parameter has a gradient")
	}
	for name, c := range map[string]struct {
		group func(*Param) int
		want  string
	}{
		"all":    {func(*Param) int { return 0 }, "[a.weight a.bias] 0 64; [b.weight b.bias c.bias] 64 96; "},
		"biases": {func(p *Param) int { return strings.Count(p.Path, "bias") }, "[a.weight] 0 32; [a.bias] 32 32; [b.weight] 64 32; [b.bias c.bias] 96 64; "},
	} {
		got := ""
		for _, s := range ps.Spans(c.group) {
			var paths []string
			for _, p := range s.Params {
				paths = append(paths, p.Path)
			}
			got += fmt.Sprint(paths, s.At, s.Value.Len(), "; ")
			// Writing through the span changes its parameters and nothing else.
			x := make([]float32, s.Value.Len())
			for i := range x {
				x[i] = 9
			}
			dev.Write(s.Value, x)
			for _, p := range s.Params {
				if v := read(ps, p); v[0] != 9 || v[20] != 9 {
					t.Errorf("%s: %s is %v", name, p.Path, v)
				}
			}
			if v := read(ps, ps.Get("frozen.weight")); v[0] == 9 || v[20] == 9 {
				t.Errorf("%s: a frozen parameter lies in a span", name)
			}
		}
		if got != c.want {
			t.Errorf("%s: spans %q, want %q", name, got, c.want)
		}
	}
}

func TestParams(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	ps := NewParams(dev, 1)
	NewAttention(ps, "none", 8, 2, ShareNone)
	NewAttention(ps, "kv", 8, 2, ShareKV)
	NewAttention(ps, "qk", 8, 2, ShareQK)
	NewFeedForward(ps, "ffn", 8, 16, op.ReLU)
	NewNorm(ps, "norm", 8, op.Norm{})
	ps.Alloc()
	proj, ffn := 8*8+8, 8*16+16+16*8+8
	if got, want := ps.Count(), (4+3+3)*proj+ffn+16; got != want {
		t.Errorf("Count() = %d, want %d", got, want)
	}
	if ps.Get("kv.kv.weight") == nil || ps.Get("qk.qk.bias") == nil || ps.Get("none.k.weight") == nil || ps.Get("kv.v.weight") != nil {
		t.Error("projections have other names")
	}
	if err := ps.Set("norm.gain", []float32{1}); err == nil {
		t.Error("Set of another length: no error")
	}
	if err := ps.Set("absent", nil); err == nil {
		t.Error("Set of an absent path: no error")
	}
	defer func() {
		if recover() == nil {
			t.Error("declaring twice does not panic")
		}
	}()
	ps2 := NewParams(dev, 1)
	ps2.New("a", Const(0), 1)
	ps2.New("a", Const(0), 1)
}

// A packed layer gives what the plain one gives, and only without recording.
func TestPack(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	ps := NewParams(dev, 3)
	l := NewLinear(ps, "l", 5, 7)
	ps.Alloc()
	tp := grad.New(dev)
	run := func(s grad.Step) []float32 {
		tp.Begin(s)
		x := make([]float32, 10)
		for i := range x {
			x[i] = float32(i) - 4
		}
		y := l.Apply(tp, tp.Floats(x, 2, 5), grad.Out{Act: op.ReLU})
		out := make([]float32, 14)
		tp.Read(out, y)
		return out
	}
	want := fmt.Sprint(run(grad.Step{}))
	l.Pack(dev)
	if got := fmt.Sprint(run(grad.Step{})); got != want {
		t.Errorf("packed %v, want %v", got, want)
	}
	if err := ps.Set("l.weight", make([]float32, 35)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(run(grad.Step{Grad: true})); got == want {
		t.Error("a recording step uses the packed weight")
	}
	l.Unpack(dev)
	if got := fmt.Sprint(run(grad.Step{})); got == want {
		t.Error("the packed weight is used after Unpack")
	}
}

func TestNormal(t *testing.T) {
	x := make([]float32, 200_000)
	Normal(0.5).Fill(x, 3, "w")
	var sum, squares, inside float64
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
		if math.Abs(float64(v)) < 0.5 {
			inside++
		}
	}
	n := float64(len(x))
	if mean := sum / n; math.Abs(mean) > 0.005 {
		t.Errorf("mean %g", mean)
	}
	if std := math.Sqrt(squares / n); math.Abs(std-0.5) > 0.005 {
		t.Errorf("deviation %g, want 0.5", std)
	}
	if share := inside / n; math.Abs(share-0.6827) > 0.005 {
		t.Errorf("%g lie within one deviation, want 0.6827", share)
	}
}

// A bound parameter keeps its owner's memory, is never trained and leaves no
// gap between those that are.
func TestBind(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	owner := dev.Keep(tensor.Float32, 6)
	dev.Write(owner, []float32{1, 2, 3, 4, 5, 6})
	ps := NewParams(dev, 1)
	a, b, c := ps.New("a", Const(1), 2), ps.New("b", Const(2), 2, 3), ps.New("c", Const(3), 2)
	ps.Bind("b", owner)
	ps.Alloc()
	ps.Train()
	if got := fmt.Sprint(read(ps, b)); got != "[1 2 3 4 5 6]" || b.Value.Store != owner.Store {
		t.Errorf("bound values %s", got)
	}
	if !b.Frozen || !b.Grad.IsZero() || a.Grad.IsZero() || c.Grad.IsZero() {
		t.Error("what is trained is not what is not bound")
	}
	if spans := ps.Spans(func(*Param) int { return 0 }); len(spans) != 1 || len(spans[0].Params) != 2 {
		t.Errorf("%d spans", len(spans))
	}
	if err := ps.Set("b", make([]float32, 6)); err == nil {
		t.Error("a bound parameter was set")
	}
	ps.Free()
	out := make([]float32, 6)
	if dev.Read(out, owner); out[5] != 6 {
		t.Error("the owner's memory was given back")
	}
}
