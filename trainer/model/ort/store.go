package ort

import (
	"encoding/json"
	"fmt"

	"espalier/trainer/ckpt"
	"espalier/trainer/op"
)

// Kind is the name of this model in checkpoints.
const Kind = "ort"

// Checkpoint returns what a checkpoint says of the model besides its weights,
// which are ckpt.Params(m.Params(), true).
func (m *Model) Checkpoint() (ckpt.Checkpoint, error) {
	config, err := json.Marshal(m.config)
	if err != nil {
		return ckpt.Checkpoint{}, fmt.Errorf("ort: %w", err)
	}
	return ckpt.Checkpoint{Model: Kind, Config: config}, nil
}

// FromCheckpoint returns the model that c describes, with the weights in f.
func FromCheckpoint(dev op.Device, c ckpt.Checkpoint, f *ckpt.File) (*Model, error) {
	if c.Model != Kind {
		return nil, fmt.Errorf("ort: checkpoint of a model %q", c.Model)
	}
	var config Config
	if err := json.Unmarshal(c.Config, &config); err != nil {
		return nil, fmt.Errorf("ort: checkpoint: config: %w", err)
	}
	m, err := New(dev, config, 0)
	if err != nil {
		return nil, err
	}
	if err := m.Load(f); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}
