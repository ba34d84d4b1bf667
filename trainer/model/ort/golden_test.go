package ort

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/optim"
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

func TestReferenceOutputs(t *testing.T) {
	eachReference(t, func(t *testing.T, r *reference) {
		m, tp := r.model, r.tape
		if got := m.Params().Count(); got != r.json.UniqueParameters {
			t.Errorf("%d parameters, want %d", got, r.json.UniqueParameters)
		}
		seen := map[string][]float32{}
		m.trace = func(name string, i int, v grad.Var) { seen[fmt.Sprint(name, i)] = r.read(v) }
		tp.Begin(grad.Step{})
		mem, err := m.Encode(tp, &r.images)
		if err != nil {
			t.Fatal(err)
		}
		width := r.json.Config.MaxLen - 1
		var ids []int32
		for _, s := range r.seqs {
			ids = append(ids, s[:width]...)
		}
		logits := m.output.Apply(tp, m.decode(tp, mem, ids, len(r.seqs), width, true), grad.Out{})
		got := r.read(logits)
		logp := tp.Value(logits)
		r.dev.LogSoftmax(logp, logp)
		for name, key := range map[string]string{"att_embed": "feature0", "memory": "memory0"} {
			if r.has(name) {
				near(t, name, seen[key], r.floats(name), 2e-4)
			}
		}
		for _, kind := range []string{"encoder", "decoder"} {
			for i := 0; r.has(fmt.Sprintf("%s.%d.out", kind, i)); i++ {
				name := fmt.Sprintf("%s.%d.out", kind, i)
				near(t, name, seen[fmt.Sprint(kind, ".out", i)], r.floats(name), 5e-4)
			}
		}
		if r.has("encoder.0.geometry_weight") {
			want := r.floats("encoder.0.geometry_weight")
			for i, g := range want {
				want[i] = float32(math.Log(max(float64(g), leastWeight)))
			}
			// Where a weight is small its logarithm is steep: compare the weights.
			w := seen["encoder.geometry0"]
			for i := range w {
				w[i], want[i] = float32(math.Exp(float64(w[i]))), float32(math.Exp(float64(want[i])))
			}
			near(t, "geometry weight", w, want, 1e-3)
		}
		if r.has("logits") {
			near(t, "logits", got, r.floats("logits"), 2e-4)
		}
		near(t, "log_probs", r.read(logits), r.floats("log_probs"), 2e-4)
		near(t, "log_probs_f64", r.read(logits), r.floats("log_probs_f64"), 2e-4)
	})
}

func TestReferenceBoxes(t *testing.T) {
	eachReference(t, func(t *testing.T, r *reference) {
		if !r.has("box_relational_embedding") {
			t.Skip("not in this part of the data")
		}
		n := r.images.Cells
		var want []float32 // the embedding itself if that is raw
		if r.has("box_relational_position") {
			want = r.floats("box_relational_position")
		} else {
			want = r.floats("box_relational_embedding")
		}
		size := r.model.config.geometry() * n * n
		emb := r.floats("box_relational_embedding")
		p, e := make([]float64, 4*n*n), make([]float32, size)
		for i := range r.images.N {
			relate(e, p, r.images.Boxes[4*i*n:][:4*n], r.model.config.RawBoxes)
			single := make([]float32, len(p))
			for j, v := range p {
				single[j] = float32(v)
			}
			near(t, fmt.Sprint("positions of image ", i), single, want[i*4*n*n:][:4*n*n], 1e-5)
			near(t, fmt.Sprint("embedding of image ", i), e, emb[i*size:][:size], 1e-3)
		}
	})
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

func TestReferenceLoss(t *testing.T) {
	eachReference(t, func(t *testing.T, r *reference) {
		b := r.batch()
		got, tokens := r.loss(grad.Step{}, b, 0)
		if math.Abs(got-r.json.LossXE64) > 1e-5 {
			t.Errorf("loss %g, want %g", got, r.json.LossXE64)
		}
		want := 0
		for i := range b.Captions {
			want += len(b.Captions[i]) - 1
		}
		if tokens != want {
			t.Errorf("%d tokens, want %d", tokens, want)
		}
		for name, want := range r.json.Smoothed {
			var s float32
			fmt.Sscan(name, &s)
			if got, _ := r.loss(grad.Step{}, b, s); math.Abs(got-want) > 1e-5 {
				t.Errorf("smoothing %s: loss %g, want %g", name, got, want)
			}
		}
	})
}

// compareGradients compares all gradients with the reference's under a prefix.
func (r *reference) compareGradients(f *ckpt.File, prefix string) {
	r.t.Helper()
	worst := 0.0
	for _, name := range f.Names() {
		if strings.HasPrefix(name, prefix) {
			x, err := f.Floats(name)
			if err != nil {
				r.t.Fatal(err)
			}
			worst = max(worst, largest(x))
		}
	}
	compared := 0
	for _, p := range r.model.Published() {
		var want []float32
		for _, name := range p.Names {
			if _, ok := f.Info(prefix + name); !ok {
				continue
			}
			x, err := f.Floats(prefix + name)
			if err != nil {
				r.t.Fatal(err)
			}
			want = append(want, x...)
			compared++
		}
		if want == nil {
			continue
		}
		param := r.model.Params().Get(p.Path)
		got := make([]float32, param.Len())
		r.dev.Read(got, param.Grad)
		near(r.t, prefix+p.Path, got[:len(want)], want, 1e-4*worst)
	}
	if compared == 0 {
		r.t.Errorf("no gradient compared under %s", prefix)
	}
}

func TestReferenceGradients(t *testing.T) {
	eachReference(t, func(t *testing.T, r *reference) {
		ps := r.model.Params()
		ps.Train()
		f := r.file("grads")
		r.loss(grad.Step{Grad: true}, r.batch(), 0)
		r.compareGradients(f, "xe/")
		if r.json.SCSTAll == nil || !r.has("scst.samples") {
			return
		}
		ids := toInt32(r.ints("scst.samples"))
		width := r.json.Config.MaxLen
		var samples [][]int32
		for i := 0; i < len(ids); i += width {
			s := ids[i : i+width]
			if end := slices.Index(s, r.json.Config.EOS); end >= 0 {
				s = s[:end+1]
			}
			samples = append(samples, s)
		}
		// The advantages come from the rewards (spec/acort.md 7.3).
		rewards, err := r.io.Floats64("scst.rewards_f64")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			baseline Baseline
			name     string
			want     float64
		}{{MeanOfAll, "mean_of_all", *r.json.SCSTAll}, {LeaveOneOut, "leave_one_out", r.json.SCSTOthers}} {
			advantage, err := Advantages(rewards, len(samples)/r.images.N, c.baseline)
			if err != nil {
				t.Fatal(err)
			}
			near(t, c.name, advantage, r.floats("scst.advantage_"+c.name+"_f64"), 1e-6)
			ps.ZeroGrads()
			r.tape.Begin(grad.Step{Grad: true})
			loss, _, err := r.model.SampleLoss(r.tape, &r.images, samples, advantage)
			if err != nil {
				t.Fatal(err)
			}
			if got := float64(r.read(loss)[0]); math.Abs(got-c.want) > 1e-5 {
				t.Errorf("SCST loss, %s: %g, want %g", c.name, got, c.want)
			}
			if c.baseline == MeanOfAll {
				r.tape.Backward(loss)
				r.compareGradients(f, "scst/")
			}
		}
	})
}

// Ten updates with the reference's optimiser end at the reference's weights.
// The rate is so high that noise of one unit in the last place grows by three
// orders of magnitude, so the bound is what such noise does to our own run.
func TestReferenceTraining(t *testing.T) {
	const more = 4
	r := openReference(t, shared.Dir(t, "goldens", "papers", "acort"), "acort_kv_000111")
	rate := optim.Schedule{Kind: optim.Noam, Width: r.json.Config.Width, Warmup: 6}
	if err := rate.Check(); err != nil {
		t.Fatal(err)
	}
	b := r.batch()
	train := func(noise float32) (losses []float64, weights map[string][]float32) {
		ps := r.model.Params()
		if err := r.model.Load(r.file("weights")); err != nil {
			t.Fatal(err)
		}
		for _, p := range ps.All() {
			r.dev.Scale(p.Value, p.Value, 1+noise)
		}
		adam := optim.NewAdam(ps, optim.AdamConfig{Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, ClipValue: 0.1})
		defer adam.Free()
		for i := range r.json.TrainSteps.History {
			ps.ZeroGrads()
			loss, _ := r.loss(grad.Step{Grad: true, Number: uint64(i)}, b, 0)
			losses = append(losses, loss)
			adam.Update(rate.At(i))
		}
		weights = map[string][]float32{}
		for _, p := range ps.All() {
			x := make([]float32, p.Len())
			r.dev.Read(x, p.Value)
			weights[p.Path] = x
		}
		return losses, weights
	}
	losses, weights := train(0)
	noisyLosses, noisyWeights := train(1.0 / (1 << 23))
	drift := 0.0
	for i, h := range r.json.TrainSteps.History {
		drift = max(drift, math.Abs(losses[i]-noisyLosses[i]))
		if got := losses[i]; math.Abs(got-h.LossBefore) > 1e-5+more*drift {
			t.Errorf("update %d: loss %g, want %g (noise makes %.1g)", i+1, got, h.LossBefore, drift)
		}
		if i < 2 && math.Abs(losses[i]-h.LossBefore) > 1e-5 {
			t.Errorf("update %d: loss %g, want %g", i+1, losses[i], h.LossBefore)
		}
		if got := rate.At(i); math.Abs(got-h.Rate) > 1e-12*h.Rate {
			t.Errorf("update %d: rate %g, want %g", i+1, got, h.Rate)
		}
	}
	if drift > 0.05 {
		t.Errorf("noise makes %g of the loss: this test shows nothing", drift)
	}
	drift = 0
	for path, x := range weights {
		drift = max(drift, worst(x, noisyWeights[path]))
	}
	if drift > 0.05 {
		t.Errorf("noise makes %g of the weights: this test shows nothing", drift)
	}
	f := r.file("after10")
	for _, p := range r.model.Published() {
		var want []float32
		for _, name := range p.Names {
			x, err := f.Floats(name)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, x...)
		}
		near(t, p.Path, weights[p.Path], want, more*drift)
	}
	t.Logf("noise makes %.2g of the weights", drift)
}

func worst(a, b []float32) float64 {
	w := 0.0
	for i := range a {
		w = max(w, math.Abs(float64(a[i]-b[i])))
	}
	return w
}

// A found is a line of a search file.
type found struct {
	Decoder   string
	Beam      int           `json:"beam_size"`
	Penalty   string        `json:"length_penalty"`
	Sequences [][][]int32   `json:"sequences"`
	LogProbs  [][][]float32 `json:"log_probs"`
	Scores    [][]float64
	Lengths   [][]int
}

func TestReferenceSearch(t *testing.T) {
	eachReference(t, func(t *testing.T, r *reference) {
		f, err := os.Open(filepath.Join(r.dir, r.name+".search.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := 0
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for ; sc.Scan(); lines++ {
			var want found
			if err := json.Unmarshal(sc.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			if want.Decoder != "strict" && want.Decoder != "strict_f64" && want.Decoder != "legacy_shared_cache" {
				t.Fatalf("unknown decoder %q", want.Decoder)
			}
			for _, incremental := range []bool{true, false} {
				legacy := want.Decoder == "legacy_shared_cache"
				if legacy && !incremental {
					continue
				}
				r.compareSearch(&want, incremental, legacy)
			}
		}
		if lines < 4 {
			t.Errorf("%d searches", lines)
		}
	})
}

func (r *reference) compareSearch(want *found, incremental, legacy bool) {
	t := r.t
	t.Helper()
	c := r.json.Config
	search := decode.Search{Beam: want.Beam, MaxLen: c.MaxLen, BOS: c.BOS, EOS: c.EOS}
	if name, alpha, ok := strings.Cut(want.Penalty, "_"); ok {
		search.Penalty = decode.Penalty(name)
		fmt.Sscan(alpha, &search.Alpha)
	}
	if err := search.Check(); err != nil {
		t.Fatal(err)
	}
	var st decode.Stepper = newWhole(r.model, &r.images)
	if incremental {
		s, err := r.model.Stepper(&r.images, want.Beam, legacy)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		st = s
	}
	got, err := search.Run(t.Context(), st, r.images.N)
	if err != nil {
		t.Fatal(err)
	}
	what := fmt.Sprintf("%s beam %d penalty %q incremental %v", want.Decoder, want.Beam, want.Penalty, incremental)
	for i := range want.Sequences {
		for j, seq := range want.Sequences[i] {
			h := got[i][j]
			n := len(h.Tokens)
			if want.Lengths != nil {
				if n != want.Lengths[i][j] {
					t.Errorf("%s: image %d, %d: length %d, want %d", what, i, j, n, want.Lengths[i][j])
				}
			}
			if padded := append(slices.Clone(h.Tokens), make([]int32, len(seq)-n)...); !slices.Equal(padded, seq) {
				t.Errorf("%s: image %d, %d: %v, want %v", what, i, j, padded, seq)
				continue
			}
			near(t, what, h.LogProbs, want.LogProbs[i][j][:n], 2e-4)
			if want.Scores != nil && math.Abs(h.Score-want.Scores[i][j]) > 2e-4 {
				t.Errorf("%s: image %d, %d: score %g, want %g", what, i, j, h.Score, want.Scores[i][j])
			}
		}
	}
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

// The public code's incremental pass with its shared caches.
func TestReferenceLegacyCache(t *testing.T) {
	eachReference(t, func(t *testing.T, r *reference) {
		if !r.has("log_probs_legacy_incremental") {
			t.Skip("not in this part of the data")
		}
		rows := len(r.seqs)
		s, err := r.model.Stepper(&r.images, r.perImg, true)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		width := r.json.Config.MaxLen - 1
		vocab := r.json.Config.Vocab
		want := r.floats("log_probs_legacy_incremental")
		for i := range width {
			source, token := make([]int32, rows), make([]int32, rows)
			for j := range rows {
				source[j], token[j] = int32(j), r.seqs[j][i]
				if i == 0 {
					source[j] = int32(j / r.perImg)
				}
			}
			got, err := s.Step(source, token)
			if err != nil {
				t.Fatal(err)
			}
			for j := range rows {
				near(t, fmt.Sprintf("row %d, token %d", j, i), got[j*vocab:][:vocab], want[(j*width+i)*vocab:][:vocab], 2e-4)
			}
		}
	})
}

// The original ORT: one id for BOS, EOS and PAD, and its own search rule.
func TestOriginalORT(t *testing.T) {
	r := &reference{t: t, dir: shared.Dir(t, "goldens", "papers", "acort"), name: "ort_original"}
	text, err := os.ReadFile(filepath.Join(r.dir, r.name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var j struct {
		Config struct{ D, FFN, Layers, Heads, Vocab, Unk int }
		Words  int     `json:"max_words"`
		LossXE float64 `json:"loss_xe"`
		Search []struct {
			Beam       int         `json:"beam_size"`
			Best       [][]int32   `json:"best"`
			LogProbs   [][]float32 `json:"best_log_probs"`
			Hypotheses [][]struct {
				IDs   []int32
				Score float64
			}
		}
	}
	if err := json.Unmarshal(text, &j); err != nil {
		t.Fatal(err)
	}
	none := 0.0
	c := j.Config
	r.io = r.file("io")
	r.load(Config{Width: c.D, Hidden: c.FFN, Layers: c.Layers, Heads: c.Heads, Vocab: c.Vocab, Features: 20, MaxLen: 9, DropSource: &none, Drop: &none})
	masks := r.floats("att_masks")
	counts := make([]int, 2)
	for i, v := range masks {
		counts[i/5] += int(v)
	}
	r.images = r.readImages(counts)

	labels, capMask := toInt32(r.ints("labels")), r.floats("masks")
	b := &Batch{Images: r.images}
	var ids []int32
	for i := range 4 {
		n := 0
		for ; n < 10 && capMask[i*10+n] != 0; n++ {
		}
		b.Captions = append(b.Captions, labels[i*10:][:n])
		ids = append(ids, labels[i*10:][:9]...)
	}
	tp := r.tape
	tp.Begin(grad.Step{})
	mem, err := r.model.Encode(tp, &r.images)
	if err != nil {
		t.Fatal(err)
	}
	logits := r.model.output.Apply(tp, r.model.decode(tp, mem, ids, 4, 9, true), grad.Out{})
	r.dev.LogSoftmax(tp.Value(logits), tp.Value(logits))
	near(t, "log_probs", r.read(logits), r.floats("log_probs"), 2e-4)

	r.model.Params().Train()
	if got, _ := r.loss(grad.Step{Grad: true}, b, 0); math.Abs(got-j.LossXE) > 1e-5 {
		t.Errorf("loss %g, want %g", got, j.LossXE)
	}
	r.compareGradients(r.io, "grad/")

	for _, want := range j.Search {
		search := decode.Search{Beam: want.Beam, MaxLen: 8, Original: true, Suppress: []int32{int32(c.Unk)}}
		if err := search.Check(); err != nil {
			t.Fatal(err)
		}
		s, err := r.model.Stepper(&r.images, want.Beam, false)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got, err := search.Run(t.Context(), s, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			for k, h := range want.Hypotheses[i] {
				ids := append(slices.Clone(got[i][k].Tokens), make([]int32, 8)...)[:8]
				if !slices.Equal(ids, h.IDs) {
					t.Errorf("beam %d image %d, %d: %v, want %v", want.Beam, i, k, ids, h.IDs)
				}
				if math.Abs(got[i][k].Score-h.Score) > 2e-4 {
					t.Errorf("beam %d image %d, %d: score %g, want %g", want.Beam, i, k, got[i][k].Score, h.Score)
				}
			}
			near(t, "log_probs of the best", got[i][0].LogProbs, want.LogProbs[i][:len(got[i][0].LogProbs)], 2e-4)
		}
	}
}
