// Package optim is update rules and learning-rate schedules.
//
// An [Optimizer] updates the trained parameters of an nn.Params from their
// gradients, which the caller has summed and zeroes again. Its state is saved
// beside the parameters, under their paths, so that a run resumes to the bit.
// [Settings] chooses and configures one. It is used from the goroutine that
// uses the device.
package optim

import (
	"fmt"
	"math"

	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An Optimizer is an update rule with its state.
type Optimizer interface {
	// Update changes the parameters by one step at the given rate. It returns the
	// norm of all gradients before clipping if the rule clips by norm, else 0.
	Update(rate float64) float64
	Step() int                  // updates made
	Tensors() []ckpt.Tensor     // the state, to be written
	Restore(f *ckpt.File) error // takes the state from f, as Tensors wrote it
	Free()                      // gives the memory of the state back
}

var (
	_ Optimizer = (*Adam)(nil)
	_ Optimizer = (*SGD)(nil)
	_ Optimizer = (*Adafactor)(nil)
)

// A Group gives a parameter its own share of the rate and its own weight decay.
// A nil Group gives all the whole rate and the rule's decay.
type Group func(p *nn.Param) (rateScale, weightDecay float64)

// A trained is what all rules have: the parameters, the number of updates, and
// clipping by norm.
type trained struct {
	ps    *nn.Params
	dev   op.Device
	clip  float64
	norm2 tensor.Tensor // one element
	step  int
	read  [1]float32
}

func newTrained(ps *nn.Params, clipNorm float64) trained {
	ps.Train()
	return trained{ps: ps, dev: ps.Device(), clip: clipNorm, norm2: ps.Device().Keep(tensor.Float32, 1)}
}

// Step returns the number of updates made.
func (t *trained) Step() int { return t.step }

// begin counts an update and returns the norm of the gradients, if they are to
// be clipped, and what they are to be multiplied by.
func (t *trained) begin() (norm float64, scale float32) {
	t.step++
	if t.clip <= 0 {
		return 0, 1
	}
	t.dev.SumSquares(t.norm2, t.ps.Grads())
	t.dev.Read(t.read[:], t.norm2)
	norm = math.Sqrt(float64(t.read[0]))
	return norm, float32(min(1, t.clip/(norm+1e-6)))
}

func (t *trained) free() { t.dev.Free(t.norm2) }

func (t *trained) stepTensor(name string) ckpt.Tensor {
	return ckpt.Tensor{Name: name, Ints: []int64{int64(t.step)}}
}

func (t *trained) restoreStep(f *ckpt.File, name string) error {
	step, err := f.Ints(name)
	if err != nil {
		return err
	}
	if len(step) != 1 || step[0] < 0 {
		return fmt.Errorf("optim: %s is %v", name, step)
	}
	t.step = int(step[0])
	return nil
}

// A span is parameters that are updated together, and their parts of the state.
type span struct {
	nn.Span
	m, v         tensor.Tensor
	scale, decay float64
}

// spans cuts the trained parameters into runs of one group.
func spans(ps *nn.Params, group Group, decay float64) []span {
	group = orWhole(group, decay)
	index := map[[2]float64]int{}
	var out []span
	for _, s := range ps.Spans(func(p *nn.Param) int {
		r, d := group(p)
		k := [2]float64{r, d}
		if _, ok := index[k]; !ok {
			index[k] = len(index)
		}
		return index[k]
	}) {
		r, d := group(s.Params[0])
		out = append(out, span{Span: s, scale: r, decay: d})
	}
	return out
}

func orWhole(group Group, decay float64) Group {
	if group != nil {
		return group
	}
	return func(*nn.Param) (float64, float64) { return 1, decay }
}
