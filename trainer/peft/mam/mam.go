// Package mam is the mix-and-match adapter (He et al. 2022, section 4.6):
// prefix-tuning of the attentions together with parallel adapters of the
// feed-forwards of a frozen model,
//
//	y = h + drop(FFN(x)) + s (W_up relu(W_down x + b_down) + b_up)
//
// with x = norm(h) and s = 4, fixed or trained. All tasks share it.
package mam

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/prefix"
)

// Method is the settings of both parts.
type Method struct {
	Prefix  prefix.Method  `yaml:"prefix" json:"prefix" doc:"prefixes"`
	Adapter adapter.Method `yaml:"adapter" json:"adapter" doc:"adapters; by default parallel ones of the feed-forwards, relu, scale 4, init lora, norms frozen"`
}

// Check fills in defaults and reports every fault at once.
func (m *Method) Check() error {
	a := &m.Adapter
	if len(a.Sites.Sites) == 0 {
		a.Sites.Sites = []string{"feed_forward"}
	}
	a.Position, a.Act, a.Init = cmp.Or(a.Position, "parallel"), cmp.Or(a.Act, "relu"), cmp.Or(a.Init, "lora")
	if a.Scale == nil {
		four := 4.0
		a.Scale = &four
	}
	if a.Norms == nil {
		a.Norms = new(bool)
	}
	var errs []error
	for _, part := range []struct {
		name string
		err  error
	}{{"prefix", m.Prefix.Check()}, {"adapter", a.Check()}} {
		if part.err != nil {
			for line := range strings.SplitSeq(part.err.Error(), "\n") {
				errs = append(errs, fmt.Errorf("%s.%s", part.name, line))
			}
		}
	}
	return errors.Join(errs...)
}

// Edit adds both parts.
func (m *Method) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("mam: %w", err)
	}
	if err := m.Prefix.Edit(e); err != nil {
		return fmt.Errorf("mam: %w", err)
	}
	if err := m.Adapter.Edit(e); err != nil {
		return fmt.Errorf("mam: %w", err)
	}
	return nil
}
