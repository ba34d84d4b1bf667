// Package prefix is prefix-tuning (Li and Liang 2021, section 4): trained keys
// and values before those of the attentions of a frozen model. They come from a
// table E of N rows and two maps, one set for each kind of attention,
//
//	P = W_up tanh(W_down E + c_down) + c_up
//
// whose columns are 2L slices: slice 2i is the keys of layer i, slice 2i+1 its
// values. Without that reparametrisation P itself is trained. All tasks share
// the prefixes.
package prefix

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
	Rows   int      `yaml:"rows" json:"rows" doc:"keys of a prefix; by default 49"`
	Hidden int      `yaml:"hidden" json:"hidden" doc:"width between the maps; by default 512"`
	Flat   bool     `yaml:"flat" json:"flat" doc:"train keys and values themselves, without the maps"`
	Sites  []string `yaml:"sites" json:"sites" doc:"encoder, decoder (self-attentions) and cross; by default all"`
	Place  string   `yaml:"place" json:"place" doc:"relative bias of a prefix: none (0, the default), before (as tokens in front) or inside (as package adapters)"`
	Slices string   `yaml:"slices" json:"slices" doc:"own for each layer (the default), or peft: layer i takes slices 4i and 4i+1 modulo 2L, as that package does"`
	Drop   float64  `yaml:"drop" json:"drop" doc:"dropout of the prefixes; by default none"`
}

// A site is one kind of attention.
type site struct {
	name  string
	stack peft.Stack
	kind  peft.Kind
}

var sites = []site{
	{"encoder", peft.Encoder, peft.SelfAttention},
	{"decoder", peft.Decoder, peft.SelfAttention},
	{"cross", peft.Decoder, peft.CrossAttention},
}

var places = map[string]peft.Place{"none": peft.Nowhere, "before": peft.Before, "inside": peft.Inside}

// Check fills in defaults and reports every fault at once.
func (m *Method) Check() error {
	m.Rows, m.Hidden = cmp.Or(m.Rows, 49), cmp.Or(m.Hidden, 512)
	m.Place, m.Slices = cmp.Or(m.Place, "none"), cmp.Or(m.Slices, "own")
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m.Rows < 1 || m.Hidden < 1 {
		fault("rows: %d, hidden: %d, want at least 1", m.Rows, m.Hidden)
	}
	for _, name := range m.Sites {
		if !slices.ContainsFunc(sites, func(s site) bool { return s.name == name }) {
			fault("sites: %q, want encoder, decoder or cross", name)
		}
	}
	if len(m.Sites) == 0 {
		m.Sites = []string{"encoder", "decoder", "cross"}
	}
	if _, ok := places[m.Place]; !ok {
		fault("place: %q, want none, before or inside", m.Place)
	}
	if m.Slices != "own" && m.Slices != "peft" {
		fault("slices: %q, want own or peft", m.Slices)
	}
	if !(m.Drop >= 0 && m.Drop < 1) {
		fault("drop: %g, want 0 or more and less than 1", m.Drop)
	}
	return errors.Join(errs...)
}

// Edit adds prefixes under prefix.encoder, prefix.decoder and prefix.cross.
func (m *Method) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("prefix: %w", err)
	}
	for _, s := range sites {
		if subs := e.Subs(s.stack, s.kind); slices.Contains(m.Sites, s.name) && len(subs) > 0 {
			m.attach(e, s.name, subs)
		}
	}
	return nil
}

// attach adds the prefixes of one kind of attention.
func (m *Method) attach(e *peft.Editor, name string, subs []*peft.Sub) {
	path := "prefix." + name
	d, inner := e.Layout().Width, subs[0].Inner
	count := 2 * len(subs)
	var table, in, inBias, out, outBias *nn.Param
	if m.Flat {
		table = e.New(path+".flat", nn.Normal(1), m.Rows, count*inner)
	} else {
		table = e.New(path+".table", nn.Normal(1), m.Rows, d)
		in, inBias = e.New(path+".in.weight", nn.FanIn(d), m.Hidden, d), e.New(path+".in.bias", nn.FanIn(d), m.Hidden)
		out, outBias = e.New(path+".out.weight", nn.FanIn(m.Hidden), count*inner, m.Hidden), e.New(path+".out.bias", nn.FanIn(m.Hidden), count*inner)
	}
	memo, place := e.Memo(), e.Site()
	made := func(p *peft.Pass) []grad.Var {
		return p.Once(memo, func() []grad.Var {
			t := p.Tape
			x := table.Var(t)
			if !m.Flat {
				x = t.Linear(x, in.Var(t), inBias.Var(t), grad.Out{Act: op.Tanh})
				x = t.Linear(x, out.Var(t), outBias.Var(t), grad.Out{})
			}
			x = t.Dropout(x, t.Drop(float32(m.Drop), place))
			x = t.Permute(t.View(x, m.Rows, count, inner), 1, 0, 2)
			all := make([]grad.Var, count)
			for i := range all {
				all[i] = p.Row(x, i)
			}
			return all
		})
	}
	for i, sub := range subs {
		at := 2 * i
		if m.Slices == "peft" {
			at = 4 * i % count
		}
		e.Prefix(sub, peft.Prefix{Len: m.Rows, Place: places[m.Place], Make: func(p *peft.Pass) (k, v grad.Var) {
			all := made(p)
			return all[at], all[at+1]
		}})
	}
}
