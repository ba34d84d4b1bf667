// Package prompt is prompt-tuning (Lester et al. 2021): trained vectors before
// the embedded tokens of a frozen model, which it treats as ordinary tokens.
//
// With an encoder (P-tuning, Liu et al. 2021) the vectors are what two or three
// maps, or an LSTM in both directions, make of a trained table.
package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// Method is the settings. The zero value of a field means its default.
type Method struct {
	Rows    int      `yaml:"rows" json:"rows" doc:"vectors of a prompt; by default 49"`
	Stacks  []string `yaml:"stacks" json:"stacks" doc:"encoder or decoder; by default the encoder"`
	Init    string   `yaml:"init" json:"init" doc:"uniform within 0.5 (the default), vocabulary (rows of the token table drawn at random) or tokens"`
	Common  int      `yaml:"common" json:"common" doc:"init vocabulary draws from so many first rows; by default 5000"`
	Tokens  []int32  `yaml:"tokens" json:"tokens,omitempty" doc:"init tokens: ids of the rows, repeated in order, such as the labels'"`
	Encoder string   `yaml:"encoder" json:"encoder" doc:"none (the default), mlp or lstm"`
	Hidden  int      `yaml:"hidden" json:"hidden" doc:"width of the encoder; by default that of the model"`

	spare int // rows that nothing reads, for tests
}

// Check fills in defaults and reports every fault at once.
func (m *Method) Check() error {
	m.Rows, m.Common = cmp.Or(m.Rows, 49), cmp.Or(m.Common, 5000)
	m.Init, m.Encoder = cmp.Or(m.Init, "uniform"), cmp.Or(m.Encoder, "none")
	if len(m.Stacks) == 0 {
		m.Stacks = []string{"encoder"}
	}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m.Rows < 1 || m.Common < 1 || m.Hidden < 0 {
		fault("rows: %d, common: %d, hidden: %d, want at least 1", m.Rows, m.Common, m.Hidden)
	}
	for _, s := range m.Stacks {
		if s != "encoder" && s != "decoder" {
			fault("stacks: %q, want encoder or decoder", s)
		}
	}
	if !slices.Contains([]string{"uniform", "vocabulary", "tokens"}, m.Init) {
		fault("init: %q, want uniform, vocabulary or tokens", m.Init)
	}
	if (m.Init == "tokens") != (len(m.Tokens) > 0) {
		fault("tokens: %d ids, init: %s; they go together", len(m.Tokens), m.Init)
	}
	if !slices.Contains([]string{"none", "mlp", "lstm"}, m.Encoder) {
		fault("encoder: %q, want none, mlp or lstm", m.Encoder)
	}
	if m.Encoder != "none" && m.Init != "uniform" {
		fault("init: %q, an encoder starts from uniform", m.Init)
	}
	return errors.Join(errs...)
}

// Edit adds prompt.rows, first those of the encoder, then those of the decoder.
func (m *Method) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("prompt: %w", err)
	}
	l := e.Layout()
	n := m.Rows*len(m.Stacks) + m.spare
	init := nn.Uniform(0.5)
	if m.Init != "uniform" {
		init = nn.Init{Low: 0, High: 1}
	}
	table := e.New("prompt.rows", init, n, l.Width)
	if m.Init != "uniform" {
		e.Loaded(func() error { return m.fill(e, table) })
	}
	encode := func(_ *grad.Tape, x grad.Var) grad.Var { return x }
	hidden := cmp.Or(m.Hidden, l.Width)
	switch m.Encoder {
	case "mlp":
		encode = mlp(e, l.Width, hidden, hidden, l.Width)
	case "lstm":
		encode = lstm(e, l.Width, hidden, n)
	}
	memo := e.Memo()
	made := func(p *peft.Pass) grad.Var {
		return p.Once(memo, func() []grad.Var { return []grad.Var{encode(p.Tape, table.Var(p.Tape))} })[0]
	}
	at := 0
	for _, s := range []peft.Stack{peft.Encoder, peft.Decoder} {
		if !slices.Contains(m.Stacks, s.String()) {
			continue
		}
		lo := at
		at += m.Rows
		e.Tokens(s, peft.Tokens{Len: m.Rows, Make: func(p *peft.Pass) grad.Var {
			return p.Tape.Cut(made(p), 0, lo, lo+m.Rows)
		}})
	}
	return nil
}

// fill gives the prompt rows of the token table: those of the tokens, or such as
// the initial values of the prompt, uniform in [0, 1), say.
func (m *Method) fill(e *peft.Editor, table *nn.Param) error {
	from := e.Param(e.Layout().Table)
	d := e.Layout().Width
	words, rows := e.Read(from), e.Read(table)
	for i := range len(rows) / d {
		id := int(rows[i*d] * float32(min(m.Common, e.Layout().Vocab)))
		if m.Init == "tokens" {
			id = int(m.Tokens[i%len(m.Tokens)])
		}
		if id < 0 || id >= len(words)/d {
			return fmt.Errorf("prompt: tokens: %d, want 0 to %d", id, len(words)/d-1)
		}
		copy(rows[i*d:][:d], words[id*d:])
	}
	return e.Set(table, rows)
}

// mlp declares maps between widths, with ReLU between them.
func mlp(e *peft.Editor, widths ...int) func(t *grad.Tape, x grad.Var) grad.Var {
	var weights, biases []*nn.Param
	for i, out := range widths[1:] {
		in := widths[i]
		weights = append(weights, e.New(fmt.Sprintf("prompt.mlp.%d.weight", i), nn.FanIn(in), out, in))
		biases = append(biases, e.New(fmt.Sprintf("prompt.mlp.%d.bias", i), nn.FanIn(in), out))
	}
	return func(t *grad.Tape, x grad.Var) grad.Var {
		for i, w := range weights {
			o := grad.Out{Act: op.ReLU}
			if i == len(weights)-1 {
				o.Act = op.None
			}
			x = t.Linear(x, w.Var(t), biases[i].Var(t), o)
		}
		return x
	}
}
