package trainer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"espalier/features/vectors"
	"espalier/pipeline/store"
	"espalier/tokenize/tokens"
	"espalier/trainer/ckpt"
	"espalier/trainer/model/ort"
	"espalier/trainer/nn"
	"espalier/trainer/op"
)

// A Model says what is trained. What the vocabulary and the features decide is
// not part of it.
type Model struct {
	// Preset is a row of ACORT's Table 1, such as acort-small; the other fields
	// override it.
	Preset       string   `yaml:"preset" json:"preset" doc:"a model of ACORT's Table 1, such as acort-small"`
	Width        int      `yaml:"width" json:"width" doc:"width of the model; by default 512"`
	Hidden       int      `yaml:"hidden" json:"hidden" doc:"inner width of feed-forward; by default 4*width"`
	Heads        int      `yaml:"heads" json:"heads" doc:"attention heads; by default 8"`
	Layers       int      `yaml:"layers" json:"layers" doc:"independent layers of a stack without a map; by default 6"`
	EncoderMap   []int    `yaml:"encoder_map" json:"encoder_map" doc:"layer of each position, such as [0, 0, 0, 1, 1, 1]"`
	DecoderMap   []int    `yaml:"decoder_map" json:"decoder_map" doc:"likewise"`
	EncoderShare nn.Share `yaml:"encoder_share" json:"encoder_share" doc:"projections shared within an attention: kv, qk or nothing"`
	DecoderShare nn.Share `yaml:"decoder_share" json:"decoder_share" doc:"likewise"`
	RawBoxes     bool     `yaml:"raw_boxes" json:"raw_boxes" doc:"use the 4 relative box positions, not their 64 sines and cosines"`
	DropSource   *float64 `yaml:"drop_source" json:"drop_source" doc:"dropout of the embedded features; by default 0.5"`
	Drop         *float64 `yaml:"drop" json:"drop" doc:"all other dropout; by default 0.1"`
	MaxLen       int      `yaml:"max_len" json:"max_len" doc:"tokens generated at most; by default what the vocabulary says"`
}

// check fills in the preset and all defaults.
func (m *Model) check() error {
	if m.Preset != "" {
		p, ok := ort.Preset(m.Preset)
		if !ok {
			return fmt.Errorf("model.preset: %q, want %s", m.Preset, strings.Join(ort.Presets(), ", "))
		}
		m.Width, m.Hidden, m.Heads = cmp.Or(m.Width, p.Width), cmp.Or(m.Hidden, p.Hidden), cmp.Or(m.Heads, p.Heads)
		m.EncoderShare, m.DecoderShare = cmp.Or(m.EncoderShare, p.EncoderShare), cmp.Or(m.DecoderShare, p.DecoderShare)
		if m.Layers == 0 {
			m.Layers = p.Layers
			if m.EncoderMap == nil {
				m.EncoderMap = p.EncoderMap
			}
			if m.DecoderMap == nil {
				m.DecoderMap = p.DecoderMap
			}
		}
	}
	var errs []error
	if m.MaxLen < 0 {
		errs = append(errs, fmt.Errorf("model.max_len: %d, want at least 1", m.MaxLen))
	}
	c := m.config(tokens.Vocab{Size: 2, EOS: 1, MaxLen: 1}, 1)
	if err := c.Check(); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			errs = append(errs, errors.New("model."+line))
		}
	}
	m.Width, m.Hidden, m.Heads, m.Layers = c.Width, c.Hidden, c.Heads, c.Layers
	m.EncoderMap, m.DecoderMap, m.DropSource, m.Drop = c.EncoderMap, c.DecoderMap, c.DropSource, c.Drop
	return errors.Join(errs...)
}

// config is the model for a vocabulary and features of a length.
func (m *Model) config(v tokens.Vocab, features int) ort.Config {
	return ort.Config{
		Width: m.Width, Hidden: m.Hidden, Heads: m.Heads, Features: features,
		Layers: m.Layers, EncoderMap: m.EncoderMap, DecoderMap: m.DecoderMap,
		EncoderShare: m.EncoderShare, DecoderShare: m.DecoderShare,
		Vocab: v.Size, PAD: v.Pad, BOS: v.BOS, EOS: v.EOS, MaxLen: cmp.Or(m.MaxLen, v.MaxLen),
		RawBoxes: m.RawBoxes, DropSource: m.DropSource, Drop: m.Drop,
	}
}

// ModelKind is what model.json calls checkpoints of this package.
const ModelKind = "ort"

// Info is the configuration in a checkpoint's model.json: all that is needed
// to use the weights.
type Info struct {
	Model      ort.Config       `json:"model"`
	Parameters int              `json:"parameters"` // unique ones
	Vocab      tokens.Vocab     `json:"vocab"`      // its files lie in the folder vocab/ of the checkpoint
	Features   FeatureInfo      `json:"features"`
	Inputs     []store.InputRef `json:"inputs"` // of the training
}

// A FeatureInfo says what features a model was trained with.
type FeatureInfo struct {
	Schema   string            `json:"schema"`
	Height   int               `json:"height,omitempty"` // of a grid
	Width    int               `json:"width,omitempty"`
	Dim      int               `json:"dim"`
	Metadata map[string]string `json:"metadata,omitempty"` // what made them
}

func featureInfo(o vectors.Options) FeatureInfo {
	return FeatureInfo{Schema: o.Schema(), Height: o.Height, Width: o.Width, Dim: o.Dim, Metadata: o.Metadata}
}

// fits reports features that a model was not made for.
func (f FeatureInfo) fits(o vectors.Options) error {
	if o.Dim != f.Dim {
		return fmt.Errorf("features of %d numbers, the model takes %d", o.Dim, f.Dim)
	}
	return nil
}

// A Result is the state in a checkpoint's model.json: what the training came
// to.
type Result struct {
	Step       int64    `json:"step"` // of the weights
	Steps      int64    `json:"steps"`
	Metric     string   `json:"metric,omitempty"`
	Validation *float64 `json:"validation,omitempty"` // of the weights
	Loss       float64  `json:"loss"`                 // mean of the last steps
	Missing    int      `json:"missing,omitempty"`    // examples left out for want of features
}

// A Loaded is a model read from a checkpoint.
type Loaded struct {
	Info   Info
	Result Result
	Model  *ort.Model
}

// readInfo reads a checkpoint's model.json.
func readInfo(files Files) (info Info, c ckpt.Checkpoint, err error) {
	text, err := readFile(files, ckpt.ConfigFile)
	if err != nil {
		return info, c, err
	}
	if c, err = ckpt.Decode(text, ckpt.ConfigFile); err != nil {
		return info, c, err
	}
	if c.Model != ModelKind {
		return info, c, fmt.Errorf("%s: a model of %q, want %q", ckpt.ConfigFile, c.Model, ModelKind)
	}
	if err := json.Unmarshal(c.Config, &info); err != nil {
		return info, c, fmt.Errorf("%s: config: %w", ckpt.ConfigFile, err)
	}
	return info, c, nil
}

// Load reads a checkpoint from the files model.json and model.safetensors to a
// device.
func Load(dev op.Device, files Files) (*Loaded, error) {
	info, c, err := readInfo(files)
	if err != nil {
		return nil, err
	}
	l := Loaded{Info: info}
	if len(c.State) > 0 {
		if err := json.Unmarshal(c.State, &l.Result); err != nil {
			return nil, fmt.Errorf("%s: state: %w", ckpt.ConfigFile, err)
		}
	}
	f, err := files.Open(ckpt.WeightsFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() != c.Weights.Bytes {
		return nil, fmt.Errorf("%s: %d bytes, %s says %d", ckpt.WeightsFile, f.Size(), ckpt.ConfigFile, c.Weights.Bytes)
	}
	weights, err := ckpt.Open(f, f.Size(), ckpt.WeightsFile)
	if err != nil {
		return nil, err
	}
	if l.Model, err = ort.New(dev, l.Info.Model, 0); err != nil {
		return nil, err
	}
	if err := l.Model.Load(weights); err != nil {
		l.Model.Free()
		return nil, err
	}
	return &l, nil
}

// A Folder is a folder on disk as [Files], such as an exported checkpoint.
type Folder string

// Open opens a file of the folder.
func (d Folder) Open(name string) (*store.File, error) {
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("open %s: not a name within a folder", name)
	}
	path := filepath.Join(string(d), filepath.FromSlash(name))
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &store.File{ReaderAt: f, Closer: f, Entry: store.FileEntry{Name: name, Bytes: st.Size()}, Path: path}, nil
}

// Names returns the names of the folder's files, sorted; not those of folders
// within.
func (d Folder) Names() []string {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			out = append(out, e.Name())
		}
	}
	return out
}

// VocabOf returns the vocabulary's files of a checkpoint.
func VocabOf(checkpoint Files) Files { return within{checkpoint, vocabFolder + "/"} }

const vocabFolder = "vocab"

type within struct {
	Files
	prefix string
}

func (w within) Open(name string) (*store.File, error) { return w.Files.Open(w.prefix + name) }
