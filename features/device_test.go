package features

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/trainer/cpu"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// remote is a second device: it computes on a processor's, but its tensors are
// handles of its own, which nothing but itself can look into.
type remote struct {
	op.Device // panics where remote lacks a method: a handle is no memory of it
	products  *atomic.Int64
	numerics  string
}

// far is a tensor's storage on a remote.
type far struct{ near tensor.Storage }

func (f *far) Bytes() int { return f.near.Bytes() }

func out(t tensor.Tensor) tensor.Tensor {
	t.Store = &far{t.Store}
	return t
}

func in(t tensor.Tensor) tensor.Tensor {
	if !t.IsZero() {
		t.Store = t.Store.(*far).near
	}
	return t
}

func inside(e op.Epilogue) op.Epilogue {
	e.Bias, e.Residual, e.Pre = in(e.Bias), in(e.Residual), in(e.Pre)
	return e
}

func (r *remote) Name() string     { return "remote" }
func (r *remote) Numerics() string { return r.numerics }

func (r *remote) Alloc(dt tensor.DType, shape ...int) tensor.Tensor {
	return out(r.Device.Alloc(dt, shape...))
}

func (r *remote) Keep(dt tensor.DType, shape ...int) tensor.Tensor {
	return out(r.Device.Keep(dt, shape...))
}

func (r *remote) Free(t tensor.Tensor)                   { r.Device.Free(in(t)) }
func (r *remote) Write(t tensor.Tensor, x []float32)     { r.Device.Write(in(t), x) }
func (r *remote) Read(x []float32, t tensor.Tensor)      { r.Device.Read(x, in(t)) }
func (r *remote) Copy(y, x tensor.Tensor)                { r.Device.Copy(in(y), in(x)) }
func (r *remote) Paste(y, x tensor.Tensor, axis, at int) { r.Device.Paste(in(y), in(x), axis, at) }

func (r *remote) Cut(y, x tensor.Tensor, axis, at int) { r.Device.Cut(in(y), in(x), axis, at) }

func (r *remote) AvgPool(y, x tensor.Tensor, size int)       { r.Device.AvgPool(in(y), in(x), size) }
func (r *remote) Activate(y, x tensor.Tensor, a op.Act)      { r.Device.Activate(in(y), in(x), a) }
func (r *remote) Add(z, x, y tensor.Tensor)                  { r.Device.Add(in(z), in(x), in(y)) }
func (r *remote) PackConv(w tensor.Tensor) tensor.Tensor     { return out(r.Device.PackConv(in(w))) }
func (r *remote) Pack(w tensor.Tensor, t bool) tensor.Tensor { return out(r.Device.Pack(in(w), t)) }

func (r *remote) Gemm(c, a, b tensor.Tensor, g op.Gemm) {
	r.products.Add(1)
	g.Epilogue = inside(g.Epilogue)
	r.Device.Gemm(in(c), in(a), in(b), g)
}

func (r *remote) Conv(y, x, w tensor.Tensor, c op.Conv) {
	r.products.Add(1)
	c.Epilogue = inside(c.Epilogue)
	r.Device.Conv(in(y), in(x), in(w), c)
}

func (r *remote) Norm(y, stats, x, gain, shift tensor.Tensor, n op.Norm) {
	r.Device.Norm(in(y), in(stats), in(x), in(gain), in(shift), n)
}

func (r *remote) Attend(y, lse, q, k, v tensor.Tensor, a op.Attention) {
	a.Mask, a.Bias = in(a.Mask), in(a.Bias)
	r.Device.Attend(in(y), in(lse), in(q), in(k), in(v), a)
}

// stageOn runs the stage over a folder on the devices that open gives.
func stageOn(t *testing.T, s *store.Store, dir string, e *Extract, numerics string) (*pipeline.Result, error) {
	t.Helper()
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "images", Stage: &pipeline.Files{Path: dir}},
		{Name: "grids", Stage: e, Inputs: map[string]string{"images": "images"}, MaxDead: &pipeline.NoLimit},
	}}
	return pipeline.Run(t.Context(), g, pipeline.Options{Store: s, Threads: 2, Jobs: 2, Numerics: numerics})
}

// Extract runs unchanged on another device: nothing in it looks into a tensor
// or opens a processor of its own.
func TestExtractOnAnotherDevice(t *testing.T) {
	dir := photos(t, 40)
	want := extract(t, newStore(t), &pipeline.Files{Path: dir}, tiny(), 2)
	var products, opened, closed atomic.Int64
	open := func(env pipeline.Env) (op.Device, error) {
		opened.Add(1)
		d := cpu.New(env.Threads)
		return &closing{&remote{d, &products, "remote-1"}, &closed}, nil
	}
	res, err := stageOn(t, newStore(t), dir, tiny().On(open), "remote-1")
	if err != nil {
		t.Fatal(err)
	}
	n := res.Node("grids")
	if n.Manifest.Digest != want.Manifest.Digest || n.Key == want.Key || n.Manifest.Numerics != "remote-1" {
		t.Errorf("digest %.8s under key %.8s, class %q; the processor's is %.8s under %.8s", n.Manifest.Digest, n.Key, n.Manifest.Numerics, want.Manifest.Digest, want.Key)
	}
	// 19 convolutions and products a batch; parts whose images are known from
	// others need none.
	if products.Load() < 19 {
		t.Errorf("%d products in %d parts went through the device", products.Load(), n.Parts)
	}
	if o := opened.Load(); o < 1 || o > 2 || closed.Load() != o {
		t.Errorf("%d devices opened for two parts at a time, %d closed", o, closed.Load())
	}
}

type closing struct {
	*remote
	closed *atomic.Int64
}

func (c *closing) Close() error {
	c.closed.Add(1)
	return c.Device.Close()
}

func TestExtractRefusesDevices(t *testing.T) {
	dir := photos(t, 3)
	open := func(pipeline.Env) (op.Device, error) { return nil, errors.New("no card in this machine") }
	if _, err := stageOn(t, newStore(t), dir, tiny().On(open), ""); err == nil || !strings.Contains(err.Error(), "no card in this machine") {
		t.Errorf("device that does not open: %v", err)
	}
	other := func(pipeline.Env) (op.Device, error) {
		return &remote{cpu.New(1), new(atomic.Int64), "remote-2"}, nil
	}
	if _, err := stageOn(t, newStore(t), dir, tiny().On(other), "remote-1"); err == nil || !strings.Contains(err.Error(), `"remote-2"`) {
		t.Errorf("device of another class: %v", err)
	}
}

// Weights of another size need no size given.
func TestSizeFollowsWeights(t *testing.T) {
	if s := (Spec{}).sized(nil); s.Size != 224 {
		t.Errorf("size %d without weights", s.Size)
	}
	if s := (Spec{Size: 64}).sized(nil); s.Size != 64 {
		t.Errorf("size %d, 64 was given", s.Size)
	}
}
