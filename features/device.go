package features

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"espalier/pipeline"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/model/clip"
	"espalier/trainer/op"
)

// An Opener opens the device that some parts of an Extract compute on, one
// after the other; parts that run at the same time have devices of their own.
// Whoever opens it closes it.
type Opener func(env pipeline.Env) (op.Device, error)

// On makes the stage compute on devices that open gives, instead of on the
// processor, and returns it. The numerics class of the device must be that of
// the run, under which its outputs are kept.
func (e *Extract) On(open Opener) *Extract {
	e.open = open
	return e
}

// extractor returns an Extractor and what gives it back. Parts of one run
// share a few, so that weights are not read and packed for each part anew.
func (e *Extract) extractor(ctx context.Context, t *pipeline.Task, weights string) (x *Extractor, put func(), err error) {
	spec := e.Spec
	spec.Weights = weights
	text, err := spec.Metadata()
	if err != nil {
		return nil, nil, err
	}
	key := fmt.Sprintf("%s threads %d %s", e.Kind(), t.Env.Threads, text[MetadataKey])
	v, release, err := t.Share(ctx, key, func(context.Context) (any, func(), error) {
		p := new(extractors)
		return p, p.close, nil
	})
	if err != nil {
		return nil, nil, err
	}
	idle := v.(*extractors)
	if x = idle.get(); x == nil {
		if x, err = e.newExtractor(t, spec); err != nil {
			release()
			return nil, nil, err
		}
	}
	return x, func() { idle.put(x); release() }, nil
}

// newExtractor opens a device and loads the network onto it.
func (e *Extract) newExtractor(t *pipeline.Task, spec Spec) (x *Extractor, err error) {
	var dev op.Device
	if e.open == nil {
		dev = cpu.New(t.Env.Threads)
	} else if dev, err = e.open(t.Env); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dev.Close())
		}
	}()
	if got, want := dev.Numerics(), t.Env.Numerics; e.open != nil && got != want {
		return nil, fmt.Errorf("device %s computes as %q, the run's outputs are kept as %q", dev.Name(), got, want)
	}
	w, err := openWeights(t)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return NewExtractor(dev, spec, nil)
	}
	x, err = NewExtractor(dev, spec, w)
	return x, errors.Join(err, w.Close())
}

// openWeights opens the input weights, nil if there is none.
func openWeights(t *pipeline.Task) (ckpt.Weights, error) {
	in := t.In["weights"]
	if in == nil {
		return nil, nil
	}
	// Opening a file of the input verifies its digest.
	root := ""
	for _, entry := range in.Manifest.Files {
		f, err := in.Open(entry.Name)
		if err != nil {
			return nil, err
		}
		root = f.Path
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	if len(in.Manifest.Files) > 1 {
		root = filepath.Dir(root)
	}
	w, err := ckpt.OpenWeights(root)
	if err != nil {
		return nil, &pipeline.RefusedError{File: filepath.Base(root), Offset: -1, Reason: err.Error()}
	}
	return w, nil
}

// madeWith returns the Spec of the output.
func (e *Extract) madeWith(t *pipeline.Task) (Spec, error) {
	spec := e.Spec
	w, err := openWeights(t)
	if err != nil || w == nil {
		return spec.sized(nil), err
	}
	spec.Weights = inputDigest(t.In["weights"])
	return spec.sized(w), w.Close()
}

// sized returns the Spec with the size that the weights are for, where it says
// none.
func (s Spec) sized(w ckpt.Weights) Spec {
	if s.Size == 0 {
		s.Size = clip.InputSize(w)
	}
	return s
}

// extractors are those that no part uses at the moment.
type extractors struct {
	mu   sync.Mutex
	idle []*Extractor
}

func (p *extractors) get() *Extractor {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	x := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return x
}

// put keeps an Extractor for the next part, unless its device has failed.
func (p *extractors) put(x *Extractor) {
	if x.dev.Err() != nil {
		x.release()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, x)
}

func (p *extractors) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.idle {
		x.release()
	}
	p.idle = nil
}

// release frees the network and closes its device. A device's error was read
// after each batch; closing one adds nothing to what is already written.
func (e *Extractor) release() {
	e.Close()
	_ = e.dev.Close()
}
