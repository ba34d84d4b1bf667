package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"espalier/cmd/benchpeers/duel"
	"espalier/features/raster"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/model/clip"
	"espalier/trainer/tensor"
)

// Work of the group.
const (
	photoCount = 64 // 640x480, 4:2:0, quality 90
	cropSize   = 224
	trunkBatch = 8
	resNetDim  = 2048 // of a cell
)

// Bounds of differences, as shares of the largest value: convolutions by
// Winograd's transforms; networks in bfloat16.
const (
	closeTrunk = 2e-3
	closeBF16  = 0.15
)

// featuresGroup is JPEG files to pixels, and image trunks.
func featuresGroup(ctx context.Context, b *bench) error {
	f := &features{b, ctx}
	errs := []error{
		b.do(ctx, "JPEG 640x480, decode, 1 thread", func() error { return f.pixels("JPEG 640x480, decode, 1 thread", 0, 0.8) }),
		b.do(ctx, "JPEG 640x480, decode, resize, crop 224, 1 thread", func() error { return f.pixels("JPEG 640x480, decode, resize, crop 224, 1 thread", cropSize, 1.2) }),
	}
	for _, threads := range b.threads {
		work := "RN101 trunk, batch 8, f32, " + threadText(threads)
		errs = append(errs, b.do(ctx, work, func() error { return f.resNet(work, threads, false) }))
	}
	for _, threads := range b.threads {
		work := "RN101 trunk, batch 8, bf16, " + threadText(threads)
		errs = append(errs, b.do(ctx, work, func() error { return f.resNet(work, threads, true) }))
	}
	errs = append(errs, b.do(ctx, "RN101 of 64 photos, whole process, peak memory", func() error { return f.memory("RN101 of 64 photos, whole process, peak memory") }))
	most := slices.Max(b.threads)
	work := "ViT-L/14, batch 8, f32, " + threadText(most)
	return errors.Join(append(errs, b.do(ctx, work, func() error { return f.vit(work, most) }))...)
}

type features struct {
	*bench
	ctx context.Context
}

// photos has Pillow write the photos and returns their folder.
func (f *features) photos() (string, error) {
	dir := filepath.Join(f.work, "photos")
	w, err := f.worker(f.ctx, "images")
	if err != nil {
		return "", err
	}
	data, err := filepath.Abs(f.data)
	if err != nil {
		return "", err
	}
	_, err = w.Prepare("photos", map[string]any{"data": data, "out": dir, "n": photoCount})
	return dir, err
}

func (f *features) pixels(work string, size int, target float64) error {
	dir, err := f.photos()
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.jpg"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	var files [][]byte
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			return err
		}
		files = append(files, text)
	}
	var d raster.Decoder
	one := func(text []byte) (*raster.Image, error) {
		im, err := d.Decode(text)
		if err != nil {
			return nil, err
		}
		if size > 0 {
			return raster.CLIP.Apply(im, size, raster.Pillow13)
		}
		return im.RGB(), nil
	}
	var values []float64
	for _, text := range files[:8] {
		im, err := one(text)
		if err != nil {
			return err
		}
		x := make([]float32, len(im.Pix))
		for i, v := range im.Pix {
			x[i] = float32(v)
		}
		values = append(values, duel.Sample(x)[:500]...)
	}
	rival, err := f.peer(f.ctx, "Pillow", "images", "pixels", map[string]any{"out": dir, "size": size}, map[string][]float64{"pixels": values}, 0)
	if err != nil {
		return err
	}
	return f.runner.Run(f.ctx, duel.Contest{
		Group: "features", Work: work, Unit: duel.Unit{Name: "img/s", Amount: float64(len(files))},
		Ours: duel.Func("espalier", func() error {
			for _, text := range files {
				if _, err := one(text); err != nil {
					return err
				}
			}
			return nil
		}),
		Rivals: []duel.Side{rival}, Targets: []duel.Target{{AtLeast: target}},
	})
}

// tower makes a tower and a batch, and returns its side and samples of its
// result, and the result.
func (f *features) tower(dev *cpu.Device, w seeded, o clip.Options, tap clip.Tap) (duel.Side, map[string][]float64, []float32, error) {
	tower, err := clip.OpenTower(dev, w, o)
	if err != nil {
		return nil, nil, nil, err
	}
	size := tower.Size()
	x := dev.Keep(tensor.Float32, trunkBatch, size, size, 3)
	duel.Fill(cpu.Floats(x), 9)
	y := tower.Forward(x, tap)
	out := make([]float32, y.Len())
	dev.Read(out, y)
	dev.Reset()
	side := duel.Func("espalier", func() error {
		tower.Forward(x, tap)
		dev.Reset()
		return dev.Err()
	})
	return side, map[string][]float64{"out": duel.Sample(out)}, out, dev.Err()
}

// leastCosine is the least of the cosines of rows of n.
func leastCosine(x, y []float32, n int) float64 {
	least := 1.0
	for i := 0; i < len(x); i += n {
		var xy, xx, yy float64
		for j := i; j < i+n; j++ {
			a, b := float64(x[j]), float64(y[j])
			xy, xx, yy = xy+a*b, xx+a*a, yy+b*b
		}
		least = min(least, xy/math.Sqrt(xx*yy))
	}
	return least
}

func (f *features) resNet(work string, threads int, half bool) error {
	dev := cpu.New(threads)
	defer dev.Close()
	weights := resNetShapes([4]int{3, 4, 23, 3}, 64)
	ours, values, out, err := f.tower(dev, weights, clip.Options{BF16: half}, clip.Grid)
	if err != nil {
		return err
	}
	note := ""
	if half {
		_, _, full, err := f.tower(dev, weights, clip.Options{}, clip.Grid)
		if err != nil {
			return err
		}
		note = fmt.Sprintf("our cosine %.5f", leastCosine(out, full, resNetDim))
	}
	how, bound, targets := "f32", closeTrunk, [2]float64{1.15, 1}
	if f.compile {
		how = "compile"
	}
	if half {
		how, bound, targets = "bf16", closeBF16, [2]float64{1.1, 1}
	}
	args := func(kv ...any) map[string]any {
		m := map[string]any{"model": "RN101", "batch": trunkBatch, "threads": threads}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	torch, err := f.peer(f.ctx, "PyTorch", "trunks", "pytorch", args("how", how), values, bound, "PEER=pytorch")
	if err != nil {
		return err
	}
	vino, err := f.peer(f.ctx, "OpenVINO", "trunks", "openvino", args("half", half), values, bound, "PEER=openvino")
	if err != nil {
		return err
	}
	rivals, others := []duel.Side{torch, vino}, []string{vino.Name()}
	if !half {
		onnx, err := f.peer(f.ctx, "ONNX Runtime", "trunks", "onnxruntime", args(), values, bound, "PEER=onnxruntime")
		if err != nil {
			return err
		}
		rivals, others = append(rivals, onnx), append(others, onnx.Name())
	}
	err = f.runner.Run(f.ctx, duel.Contest{
		Group: "features", Work: work, Unit: duel.Unit{Name: "img/s", Amount: trunkBatch}, Ours: ours, Rivals: rivals, Budget: 15 * time.Second,
		Targets: []duel.Target{{Rivals: []string{torch.Name()}, AtLeast: targets[0]}, {Rivals: others, AtLeast: targets[1]}},
		Note:    func(float64) string { return note },
	})
	return errors.Join(err, f.retire()) // libraries keep much memory
}

// memory measures the binary with weights of RN101's size.
func (f *features) memory(work string) error {
	dir, err := f.photos()
	if err != nil {
		return err
	}
	binary, err := f.espalier(f.ctx)
	if err != nil {
		return err
	}
	weights, out := filepath.Join(f.work, "rn101.safetensors"), filepath.Join(f.work, "grids")
	shapes := resNetShapes([4]int{3, 4, 23, 3}, 64)
	var all []ckpt.Tensor
	for _, name := range shapes.Names() {
		all = append(all, ckpt.Tensor{Name: name, Shape: shapes[name], Floats: func(dst []float32) error {
			x, err := shapes.Floats(name)
			copy(dst, x)
			return err
		}})
	}
	if err := writeTensors(weights, all); err != nil {
		return err
	}
	p := &duel.Program{Argv: []string{binary, "features", "--weights", weights, "--images", dir, "--out", out, "--progress", "none"}, Watch: true}
	times, err := p.Time(f.ctx, 1)
	if err != nil {
		return err
	}
	const limit = 1500 // MB
	f.emit(duel.Limit("features", work, "MB", p.PeakMB, limit, fmt.Sprintf("%.1f images/s from start to end", photoCount/times[0])))
	return errors.Join(os.Remove(weights), os.RemoveAll(out))
}

func (f *features) vit(work string, threads int) error {
	dev := cpu.New(threads)
	defer dev.Close()
	ours, values, _, err := f.tower(dev, vitShapes(14, 1024, 24, 768), clip.Options{}, clip.Embedding)
	if err != nil {
		return err
	}
	torch, err := f.peer(f.ctx, "PyTorch", "trunks", "pytorch", map[string]any{"model": "ViT-L/14", "batch": trunkBatch, "threads": threads, "how": "f32"}, values, closeTrunk)
	if err != nil {
		return err
	}
	return f.runner.Run(f.ctx, duel.Contest{
		Group: "features", Work: work, Unit: duel.Unit{Name: "img/s", Amount: trunkBatch}, Ours: ours, Rivals: []duel.Side{torch}, Budget: 45 * time.Second,
		Targets: []duel.Target{{AtLeast: 1.3}},
	})
}

// seeded is weights that are functions of their names and shapes, which
// peer/seeded.py makes as well.
type seeded map[string][]int

var _ ckpt.Weights = seeded{}

func (s seeded) Names() []string { return sortedKeys(s) }

func (s seeded) Info(name string) (ckpt.Info, bool) {
	shape, ok := s[name]
	return ckpt.Info{DType: ckpt.F32, Shape: shape, Len: tensor.Size(shape)}, ok
}

func (s seeded) Floats(name string) ([]float32, error) {
	shape, ok := s[name]
	if !ok {
		return nil, fmt.Errorf("%w %q", ckpt.ErrMissing, name)
	}
	x := make([]float32, tensor.Size(shape))
	duel.Fill(x, crc32.ChecksumIEEE([]byte(name)))
	base, scale := float32(0), float32(0)
	switch has := func(end string) bool { return strings.HasSuffix(name, end) }; {
	case has("running_var"):
		base, scale = 1, 0.2
	case has(".bias"), has("running_mean"), has("_bias"):
		scale = 0.05
	case len(shape) == 1 && !has(".weight"):
		scale = 0.1
	case len(shape) == 1:
		base = 1
		if strings.Contains(name, ".bn3.") {
			base = 0.25
		}
		scale = base * 0.1
	default:
		gain := 3.0
		if len(shape) == 4 {
			gain = 6
		}
		scale = float32(math.Sqrt(gain / float64(tensor.Size(shape[1:]))))
	}
	for i, v := range x {
		x[i] = base + float32(scale*v)
	}
	return x, nil
}

func (s seeded) Raw(name string) ([]byte, error) {
	x, err := s.Floats(name)
	out := make([]byte, 0, 4*len(x))
	for _, v := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out, err
}

func (s seeded) Close() error { return nil }

// norm adds a batch norm's tensors.
func (s seeded) norm(name string, n int) {
	for _, t := range []string{"weight", "bias", "running_mean", "running_var"} {
		s[name+"."+t] = []int{n}
	}
}

// resNetShapes is a ModifiedResNet without its attention pool.
func resNetShapes(layers [4]int, width int) seeded {
	s := seeded{}
	conv := func(name, bn string, out, in, k int) {
		s["visual."+name+".weight"] = []int{out, in, k, k}
		s.norm("visual."+bn, out)
	}
	conv("conv1", "bn1", width/2, 3, 3)
	conv("conv2", "bn2", width/2, width/2, 3)
	conv("conv3", "bn3", width, width/2, 3)
	in := width
	for l, n := range layers {
		planes := width << l
		for i := range n {
			p := fmt.Sprintf("layer%d.%d.", l+1, i)
			conv(p+"conv1", p+"bn1", planes, in, 1)
			conv(p+"conv2", p+"bn2", planes, planes, 3)
			conv(p+"conv3", p+"bn3", 4*planes, planes, 1)
			if i == 0 {
				conv(p+"downsample.0", p+"downsample.1", 4*planes, in, 1)
			}
			in = 4 * planes
		}
	}
	return s
}

// vitShapes is a vision transformer for 224 pixels.
func vitShapes(patch, width, layers, out int) seeded {
	cells := cropSize / patch
	s := seeded{
		"visual.conv1.weight": {width, 3, patch, patch}, "visual.class_embedding": {width},
		"visual.positional_embedding": {cells*cells + 1, width}, "visual.proj": {width, out},
	}
	norm := func(name string) { s[name+".weight"], s[name+".bias"] = []int{width}, []int{width} }
	linear := func(name string, out, in int) { s[name+".weight"], s[name+".bias"] = []int{out, in}, []int{out} }
	norm("visual.ln_pre")
	norm("visual.ln_post")
	for i := range layers {
		p := fmt.Sprintf("visual.transformer.resblocks.%d.", i)
		norm(p + "ln_1")
		norm(p + "ln_2")
		s[p+"attn.in_proj_weight"], s[p+"attn.in_proj_bias"] = []int{3 * width, width}, []int{3 * width}
		linear(p+"attn.out_proj", width, width)
		linear(p+"mlp.c_fc", 4*width, width)
		linear(p+"mlp.c_proj", width, 4*width)
	}
	return s
}
