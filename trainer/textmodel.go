package trainer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/tokenize/tokens"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/model/t5"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
	"espalier/trainer/peft/methods"
)

// A TextModel says what text-to-text model is edited.
type TextModel struct {
	Kind   string      `yaml:"kind" json:"kind" doc:"t5"`
	Half   bool        `yaml:"half" json:"half,omitempty" doc:"keep frozen matrices as bfloat16"`
	Round  bool        `yaml:"round" json:"round,omitempty" doc:"with half: round what frozen matrices read to bfloat16 too, which is faster"`
	Pool   int         `yaml:"pool" json:"pool,omitempty" doc:"side of the grid of features after adaptive maximum pooling; by default as it is"`
	Drop   *float64    `yaml:"drop" json:"drop,omitempty" doc:"dropout; by default what the backbone's config.json says"`
	Random *RandomText `yaml:"random" json:"random,omitempty" doc:"a backbone of random weights, instead of the input backbone"`
}

// A RandomText is the sizes of a T5 whose weights are drawn from a seed, for
// samples and for training from nothing.
type RandomText struct {
	Width         int    `yaml:"width" json:"width" doc:"by default 64"`
	HeadWidth     int    `yaml:"head_width" json:"head_width" doc:"by default width/heads"`
	Hidden        int    `yaml:"hidden" json:"hidden" doc:"inner width of feed-forward; by default 4*width"`
	Layers        int    `yaml:"layers" json:"layers" doc:"of the encoder; by default 2"`
	DecoderLayers int    `yaml:"decoder_layers" json:"decoder_layers" doc:"by default layers"`
	Heads         int    `yaml:"heads" json:"heads" doc:"by default 4"`
	Vocab         int    `yaml:"vocab" json:"vocab" doc:"rows of the token table; by default those of the vocabulary"`
	Projection    string `yaml:"projection" json:"projection" doc:"relu or gated-gelu; by default relu"`
	Seed          uint64 `yaml:"seed" json:"seed" doc:"of the weights"`
}

func (m *TextModel) check() error {
	m.Kind = cmp.Or(m.Kind, "t5")
	var errs []error
	if m.Kind != "t5" {
		errs = append(errs, fmt.Errorf("model.kind: %q, want t5", m.Kind))
	}
	if d := m.Drop; d != nil && !(*d >= 0 && *d < 1) {
		errs = append(errs, fmt.Errorf("model.drop: %g, want 0 or more and less than 1", *d))
	}
	if m.Pool < 0 {
		errs = append(errs, fmt.Errorf("model.pool: %d, want at least 1", m.Pool))
	}
	if m.Round && (!m.Half || m.Random != nil) {
		errs = append(errs, errors.New("model.round: only with half, and not of random weights"))
	}
	if r := m.Random; r != nil {
		r.Width, r.Heads, r.Layers = cmp.Or(r.Width, 64), cmp.Or(r.Heads, 4), cmp.Or(r.Layers, 2)
		r.DecoderLayers, r.Hidden = cmp.Or(r.DecoderLayers, r.Layers), cmp.Or(r.Hidden, 4*r.Width)
		r.HeadWidth = cmp.Or(r.HeadWidth, r.Width/max(r.Heads, 1))
		r.Projection = cmp.Or(r.Projection, "relu")
		c := r.config(tokens.Vocab{Size: 2, EOS: 1})
		if err := c.Check(); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				errs = append(errs, errors.New("model.random: "+line))
			}
		}
	}
	return errors.Join(errs...)
}

// config is the model for a vocabulary.
func (r *RandomText) config(v tokens.Vocab) t5.Config {
	eos := v.EOS
	return t5.Config{
		Vocab: cmp.Or(r.Vocab, v.Size), Width: r.Width, HeadWidth: r.HeadWidth, Hidden: r.Hidden, Layers: r.Layers,
		DecoderLayers: r.DecoderLayers, Heads: r.Heads, Projection: r.Projection, Pad: v.Pad, EOS: &eos, Start: v.Pad,
	}
}

// TextKind is what model.json calls checkpoints of Tune.
const TextKind = "t5"

// TextInfo is the configuration in the model.json of an edited text model: with
// the backbone all that is needed to use the weights.
type TextInfo struct {
	Model     t5.Config        `json:"model"`
	Method    methods.Config   `json:"method"`
	Tasks     []string         `json:"tasks"`
	Backbone  string           `json:"backbone"` // digest of its weights
	Random    *RandomText      `json:"random,omitempty"`
	Half      bool             `json:"half,omitempty"`
	Round     bool             `json:"round,omitempty"`
	Trained   int              `json:"trained"`    // values
	Size      int              `json:"size"`       // values of the backbone
	MaxTarget int              `json:"max_target"` // longest target of the training, EOS counted
	Vocab     tokens.Vocab     `json:"vocab"`      // its files lie in the folder vocab/ of the checkpoint, if it was given
	Features  *FeatureInfo     `json:"features,omitempty"`
	Cells     int              `json:"cells,omitempty"` // vectors of an image, as the model sees it
	Pool      int              `json:"pool,omitempty"`
	Inputs    []store.InputRef `json:"inputs"` // of the training
}

// given is what the methods are told of the data.
func (x *TextInfo) given() peft.Given {
	g := peft.Given{Tasks: x.Tasks}
	if x.Features != nil {
		g.Visual, g.Cells = x.Features.Dim, x.Cells
	}
	return g
}

// A sharedBackbone is a backbone on a device of its own, which all stages of a
// run use.
type sharedBackbone struct {
	*t5.Backbone
	dev *cpu.Device
}

// openBackbone opens the backbone of a stage, once for all stages of a run.
// release lets go of it.
func openBackbone(ctx context.Context, t *pipeline.Task, m *TextModel, v tokens.Vocab) (b *t5.Backbone, release func(), err error) {
	var key string
	if m.Random != nil {
		text, err := json.Marshal(m.Random.config(v))
		if err != nil {
			return nil, nil, err
		}
		key = fmt.Sprintf("t5 random %d %s", m.Random.Seed, text)
	} else {
		in, err := input(t, "backbone")
		if err != nil {
			return nil, nil, err
		}
		key = fmt.Sprintf("t5 %s half=%v round=%v", in.Manifest.Digest, m.Half, m.Round)
	}
	x, release, err := t.Share(ctx, key, func(context.Context) (any, func(), error) {
		dev := cpu.New(1)
		var b *t5.Backbone
		var err error
		if m.Random != nil {
			b, err = t5.Random(dev, m.Random.config(v), m.Random.Seed)
		} else {
			b, err = readBackbone(t.In["backbone"], dev, t5.OpenOptions{Half: m.Half, Round: m.Round})
		}
		if err != nil {
			return nil, nil, errors.Join(err, dev.Close())
		}
		return &sharedBackbone{b, dev}, func() { _ = errors.Join(b.Close(), dev.Close()) }, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return x.(*sharedBackbone).Backbone, release, nil
}

// readBackbone opens the folder of a published model, which its config.json
// marks. Each file is opened once through the input, which verifies it.
func readBackbone(in *pipeline.Input, dev op.Device, o t5.OpenOptions) (*t5.Backbone, error) {
	config := ""
	for _, e := range in.Manifest.Files {
		if name := filepath.Base(e.Name); name == "config.json" && (config == "" || len(e.Name) < len(config)) {
			config = e.Name
		}
	}
	if config == "" {
		return nil, fmt.Errorf("input %s: no config.json", in.Name)
	}
	prefix := strings.TrimSuffix(config, "config.json")
	dir := ""
	for _, e := range in.Manifest.Files {
		if !strings.HasPrefix(e.Name, prefix) || strings.Contains(e.Name[len(prefix):], "/") {
			continue
		}
		f, err := in.Open(e.Name)
		if err != nil {
			return nil, err
		}
		if e.Name == config {
			dir = filepath.Dir(f.Path)
			if filepath.Base(f.Path) != "config.json" {
				return nil, errors.Join(fmt.Errorf("input %s: want the folder of a published model, or an output of trainer/backbone", in.Name), f.Close())
			}
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	b, err := t5.Open(dev, dir, o)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", in.Name, err)
	}
	return b, nil
}

// readTextInfo reads a checkpoint's model.json.
func readTextInfo(files Files) (info TextInfo, c ckpt.Checkpoint, err error) {
	text, err := readFile(files, ckpt.ConfigFile)
	if err != nil {
		return info, c, err
	}
	if c, err = ckpt.Decode(text, ckpt.ConfigFile); err != nil {
		return info, c, err
	}
	if c.Model != TextKind {
		return info, c, fmt.Errorf("%s: a model of %q, want %q", ckpt.ConfigFile, c.Model, TextKind)
	}
	if err := json.Unmarshal(c.Config, &info); err != nil {
		return info, c, fmt.Errorf("%s: config: %w", ckpt.ConfigFile, err)
	}
	return info, c, nil
}

// A weightsFile is the tensors of a checkpoint.
type weightsFile struct {
	*ckpt.File
	from io.Closer
}

func (w *weightsFile) Close() error { return errors.Join(w.File.Close(), w.from.Close()) }

// openWeights opens the tensors of a checkpoint.
func openWeights(files Files, source string) (*weightsFile, error) {
	f, err := files.Open(ckpt.WeightsFile)
	if err != nil {
		return nil, err
	}
	w, err := ckpt.Open(f, f.Size(), source+ckpt.WeightsFile)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &weightsFile{w, f}, nil
}

// has reports whether a checkpoint has a tensor.
func (w *weightsFile) has(path string) bool {
	_, ok := w.Info(path)
	return ok
}

// takeWeights gives the parameters of m the values that w has. Rows of
// parameters per task are taken by name: had are the checkpoint's tasks, tasks
// the model's, and donors says for a new task whose row it starts with; a task
// that is neither keeps its initial row. It returns how many were taken.
func takeWeights(m *t5.Model, w *weightsFile, had, tasks []string, donors map[string]string) (taken int, err error) {
	for _, p := range m.Params().All() {
		in, ok := w.Info(p.Path)
		if !ok || p.Bound() {
			continue
		}
		taken++
		if !m.PerTask(p.Path) {
			if !slices.Equal(in.Shape, p.Shape) {
				return taken, fmt.Errorf("%s has shape %v, want %v", p.Path, in.Shape, p.Shape)
			}
			if err := w.Into(m.Params().Device(), p.Value, p.Path); err != nil {
				return taken, err
			}
			continue
		}
		if err := takeRows(m, w, p, had, tasks, donors); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// anyTask is the name of a donor for all tasks that the checkpoint lacks.
const anyTask = "*"

// takeRows takes the rows of a parameter per task.
func takeRows(m *t5.Model, w *weightsFile, p *nn.Param, had, tasks []string, donors map[string]string) error {
	in, _ := w.Info(p.Path)
	if len(in.Shape) != len(p.Shape) || !slices.Equal(in.Shape[1:], p.Shape[1:]) || in.Shape[0] != len(had) {
		return fmt.Errorf("%s has shape %v for %d tasks, want %v", p.Path, in.Shape, len(had), p.Shape)
	}
	stored, err := w.Floats(p.Path)
	if err != nil {
		return err
	}
	values := make([]float32, p.Len())
	dev := m.Params().Device()
	dev.Read(values, p.Value)
	n := p.Len() / p.Shape[0]
	for i, task := range tasks {
		donor := donors[task]
		if !slices.Contains(had, task) {
			donor = cmp.Or(donor, donors[anyTask])
		}
		from := cmp.Or(donor, task)
		at := slices.Index(had, from)
		if at < 0 {
			if donor != "" {
				return fmt.Errorf("donors.%s: the checkpoint has no task %s; it has %s", task, from, strings.Join(had, ", "))
			}
			continue
		}
		copy(values[i*n:][:n], stored[at*n:][:n])
	}
	dev.Write(p.Value, values)
	return dev.Err()
}

// readTextVocab reads vocab.json of token shards, all but the length of their
// longest text.
func readTextVocab(files Files) (v tokens.Vocab, err error) {
	text, err := readFile(files, vocabFile)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%s: %w", vocabFile, err)
	}
	if v.Size < 1 {
		return v, fmt.Errorf("%s: %d ids", vocabFile, v.Size)
	}
	v.MaxLen = 0
	return v, nil
}

// fitsVocab reports a vocabulary that a model was not made for.
func fitsVocab(c t5.Config, v tokens.Vocab) error {
	switch {
	case v.Size > c.Vocab:
		return fmt.Errorf("the vocabulary has %d ids, the model's token table %d rows", v.Size, c.Vocab)
	case v.EOS != *c.EOS:
		return fmt.Errorf("the vocabulary ends texts with id %d, the model with %d", v.EOS, *c.EOS)
	case v.Pad >= 0 && v.Pad != c.Pad:
		return fmt.Errorf("the vocabulary pads with id %d, the model with %d", v.Pad, c.Pad)
	}
	return nil
}
