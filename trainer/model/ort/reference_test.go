package ort

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/nn"
)

// A reference is a model case of the reference data: outputs of the public
// PyTorch classes. A part of one lies in testdata.
type reference struct {
	t      *testing.T
	dir    string
	name   string
	json   refJSON
	io     *ckpt.File
	dev    *cpu.Device
	model  *Model
	tape   *grad.Tape
	images Images
	perImg int
	seqs   [][]int32
	masks  [][]float32
}

type refJSON struct {
	Config struct {
		ShareEncoder *string `json:"share_att_encoder"`
		ShareDecoder *string `json:"share_att_decoder"`
		MapEncoder   []int   `json:"share_layer_encoder"`
		MapDecoder   []int   `json:"share_layer_decoder"`
		Width        int     `json:"d_model"`
		Hidden       int     `json:"dim_feedforward"`
		Layers       int     `json:"num_layers"`
		Heads        int     `json:"num_heads"`
		MaxLen       int     `json:"max_seq_length"`
		Features     int     `json:"att_feat_size"`
		Vocab        int     `json:"vocab_size"`
		EOS          int32   `json:"eos_token_id"`
		BOS          int32   `json:"bos_token_id"`
		PAD          int32   `json:"pad_token_id"`
		RawBoxes     bool    `json:"no_box_trigonometric_embedding"`
	}
	Boxes            []int `json:"n_boxes"`
	PerImage         int   `json:"seq_per_img"`
	UniqueParameters int   `json:"unique_parameters"`
	LossXE           float64
	LossXE64         float64            `json:"loss_xe_f64"`
	Smoothed         map[string]float64 `json:"loss_label_smoothing_f64"`
	SCSTAll          *float64           `json:"scst_loss_mean_of_all_f64"`
	SCSTOthers       float64            `json:"scst_loss_leave_one_out_f64"`
	TrainSteps       *struct {
		History []struct {
			LossBefore float64 `json:"loss_before"`
			Rate       float64 `json:"learning_rate"`
		}
	} `json:"train_steps"`
}

func (c *refJSON) config() Config {
	none, x := 0.0, c.Config
	share := func(s *string) nn.Share {
		if s == nil {
			return nn.ShareNone
		}
		return nn.Share(*s)
	}
	return Config{
		Width: x.Width, Hidden: x.Hidden, Heads: x.Heads, Features: x.Features, Layers: x.Layers,
		EncoderMap: x.MapEncoder, DecoderMap: x.MapDecoder, EncoderShare: share(x.ShareEncoder), DecoderShare: share(x.ShareDecoder),
		Vocab: x.Vocab, PAD: x.PAD, BOS: x.BOS, EOS: x.EOS, MaxLen: x.MaxLen, RawBoxes: x.RawBoxes, DropSource: &none, Drop: &none,
	}
}

// eachReference runs f for every model case, the one in testdata included.
func eachReference(t *testing.T, f func(t *testing.T, r *reference)) {
	t.Run("testdata", func(t *testing.T) { f(t, openReference(t, "testdata", "acort_kv_000111")) })
	for _, name := range []string{"acort_kv_000111", "ort_unshared", "qk_mixed_maps", "head13_notrig_0x3"} {
		t.Run(name, func(t *testing.T) { f(t, openReference(t, shared.Dir(t, "goldens", "papers", "acort"), name)) })
	}
}

func openReference(t *testing.T, dir, name string) *reference {
	t.Helper()
	r := &reference{t: t, dir: dir, name: name}
	text, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r.json); err != nil {
		t.Fatal(err)
	}
	r.io = r.file("io")
	r.perImg = r.json.PerImage
	r.load(r.json.config())
	r.images = r.readImages(r.json.Boxes)
	ids, masks := r.ints("seqs"), r.floats("masks")
	width := r.json.Config.MaxLen
	for i := 0; i < len(ids); i += width {
		r.seqs = append(r.seqs, toInt32(ids[i:i+width]))
		r.masks = append(r.masks, masks[i:i+width])
	}
	return r
}

// load makes the model with the reference's weights.
func (r *reference) load(c Config) {
	r.t.Helper()
	r.dev = cpu.New(2)
	r.t.Cleanup(func() { r.dev.Close() })
	m, err := New(r.dev, c, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	r.model, r.tape = m, grad.New(r.dev)
	if err := m.Load(r.file("weights")); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reference) readImages(counts []int) Images {
	info, _ := r.io.Info("att_feats")
	return Images{N: info.Shape[0], Cells: info.Shape[1], Feats: r.floats("att_feats"), Boxes: r.floats("boxes"), Counts: counts}
}

func (r *reference) file(kind string) *ckpt.File {
	r.t.Helper()
	f, err := ckpt.OpenFile(filepath.Join(r.dir, r.name+"."+kind+".safetensors"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { f.Close() })
	return f
}

func (r *reference) has(name string) bool { _, ok := r.io.Info(name); return ok }

func (r *reference) floats(name string) []float32 {
	r.t.Helper()
	x, err := r.io.Floats(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

func (r *reference) ints(name string) []int64 {
	r.t.Helper()
	x, err := r.io.Ints(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

func toInt32(x []int64) []int32 {
	out := make([]int32, len(x))
	for i, v := range x {
		out[i] = int32(v)
	}
	return out
}

// batch returns the captions without padding.
func (r *reference) batch() *Batch {
	b := &Batch{Images: r.images}
	for i, s := range r.seqs {
		n := 0
		for n < len(s) && r.masks[i][n] != 0 {
			n++
		}
		b.Captions = append(b.Captions, s[:n])
	}
	return b
}

func (r *reference) read(v grad.Var) []float32 {
	x := make([]float32, r.tape.Value(v).Len())
	r.tape.Read(x, v)
	return x
}

// near compares with an absolute bound.
func near(t *testing.T, what string, got, want []float32, bound float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	worst, at := 0.0, 0
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= bound) {
		t.Errorf("%s: differs by %.3g at %d (%g, want %g), allowed %.3g", what, worst, at, got[at], want[at], bound)
	}
}

func largest(x []float32) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(float64(v)))
	}
	return m
}

func (r *reference) loss(s grad.Step, b *Batch, smoothing float32) (float64, int) {
	r.t.Helper()
	r.tape.Begin(s)
	loss, tokens, err := r.model.Loss(r.tape, b, smoothing)
	if err != nil {
		r.t.Fatal(err)
	}
	if s.Grad {
		r.tape.Backward(loss)
	}
	return float64(r.read(loss)[0]), tokens
}

// A whole is a stepper that recomputes the decoder over the whole prefix.
type whole struct {
	m      *Model
	tape   *grad.Tape
	images *Images
	rows   [][]int32
	image  []int
}

func newWhole(m *Model, im *Images) *whole {
	w := &whole{m: m, tape: grad.New(m.dev), images: im}
	for i := range im.N {
		w.rows, w.image = append(w.rows, nil), append(w.image, i)
	}
	return w
}

func (w *whole) Step(source, token []int32) ([]float32, error) {
	var rows [][]int32
	var image []int
	for r, src := range source {
		rows = append(rows, append(slices.Clone(w.rows[src]), token[r]))
		image = append(image, w.image[src])
	}
	w.rows, w.image = rows, image
	width, vocab := len(rows[0]), w.m.config.Vocab
	var out []float32
	for r := range rows { // one by one, each with its own image
		one := pick(w.images, image[r])
		t := w.tape
		t.Begin(grad.Step{})
		mem, err := w.m.Encode(t, &one)
		if err != nil {
			return nil, err
		}
		logits := t.Value(w.m.output.Apply(t, w.m.decode(t, mem, rows[r], 1, width, false), grad.Out{}))
		w.m.dev.LogSoftmax(logits, logits)
		x := make([]float32, width*vocab)
		w.m.dev.Read(x, logits)
		out = append(out, x[(width-1)*vocab:]...)
	}
	return out, w.m.dev.Err()
}

// pick returns image i alone, padding included.
func pick(im *Images, i int) Images {
	f := len(im.Feats) / im.N
	one := Images{N: 1, Cells: im.Cells, Feats: im.Feats[i*f:][:f], Height: im.Height, Width: im.Width}
	if im.Counts != nil {
		one.Counts = im.Counts[i : i+1]
	}
	if im.Boxes != nil {
		one.Boxes = im.Boxes[4*i*im.Cells:][:4*im.Cells]
	}
	return one
}
