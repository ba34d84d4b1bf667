package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"espalier/pipeline"
	"espalier/tokenize"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/model/t5"
)

// Backbone is the stage that writes a T5 of random weights, laid out as
// published ones are, so that jobs run where none was downloaded.
//
// Input: vocab (a public vocabulary, or one that tokenize/train has learned).
// Output: config.json, model.safetensors.
type Backbone struct {
	Random RandomText `yaml:"random" json:"random" doc:"sizes and seed"`
}

// Kind returns the stage's kind.
func (*Backbone) Kind() string { return "trainer/backbone" }

// Version returns the stage's version.
func (*Backbone) Version() int { return 1 }

// Check fills in defaults and reports every fault at once.
func (s *Backbone) Check() error {
	m := TextModel{Random: &s.Random}
	if err := m.check(); err != nil {
		return fmt.Errorf("random: %w", err)
	}
	return nil
}

// Run draws the weights.
func (s *Backbone) Run(_ context.Context, t *pipeline.Task, _ pipeline.Part) (err error) {
	in, err := input(t, "vocab")
	if err != nil {
		return err
	}
	src, err := tokenize.OpenFamily(in)
	if err != nil {
		return err
	}
	words, err := src.As("t5", nil)
	if err != nil {
		return err
	}
	dev := cpu.New(1)
	defer func() { err = errors.Join(err, dev.Close()) }()
	b, err := t5.Random(dev, s.Random.config(src.Space("t5", words)), s.Random.Seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	config, err := json.MarshalIndent(b.Config, "", " ")
	if err != nil {
		return err
	}
	if err := writeFile(t.Out, "config.json", append(config, '\n')); err != nil {
		return err
	}
	out, err := t.Out.Create(ckpt.WeightsFile, "safetensors")
	if err != nil {
		return err
	}
	if err := ckpt.Write(out, b.Tensors(), map[string]string{"format": "pt"}); err != nil {
		return err
	}
	return out.Close(0)
}
