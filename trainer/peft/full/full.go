// Package full trains a model as it is: all its parameters, or those whose
// paths have a pattern, such as the biases (BitFit) or the norms.
package full

import (
	"cmp"

	"espalier/trainer/peft"
)

// Method trains parameters of the model itself. The zero Method trains all.
type Method struct {
	// Patterns of the paths that are trained; by default all.
	Train []string `yaml:"train" json:"train" doc:"patterns of the parameters that are trained; by default all"`
}

// Edit trains what the patterns say.
func (m *Method) Edit(e *peft.Editor) error {
	for _, p := range m.Train {
		e.Train(cmp.Or(p, "**"))
	}
	if len(m.Train) == 0 {
		e.Train("**")
	}
	return nil
}
