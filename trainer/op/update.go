package op

import "espalier/trainer/tensor"

// Adam is one update of a parameter tensor: with g the scaled and clipped
// gradient, plus L2*p, m and v the decayed means of g and g², p falls by
// Rate/(1-Beta1^Step) * m / (sqrt(v)/sqrt(1-Beta2^Step) + Eps), after
// p *= 1 - Rate*WeightDecay.
type Adam struct {
	Rate, Eps    float32
	Beta1, Beta2 float64
	Step         int     // from 1; 0 leaves the bias of the means as it is
	WeightDecay  float32 // decoupled, as AdamW
	L2           float32 // the gradient of a penalty, as torch's Adam
	ClipValue    float32 // gradients are clipped to ±ClipValue first; 0 means no clipping
	GradScale    float32 // gradients are multiplied by it before clipping; 0 means 1
	// Late is how Hugging Face's transformers had it before 5: Eps is added to
	// sqrt(v) before the bias is taken out, and the decay comes after the update.
	Late bool
}

// SGD is one update of a parameter tensor, as torch's: with g the scaled and
// clipped gradient, plus L2*p, and m = Momentum*m + (1-Dampening)*g, p falls by
// Rate*m, or by Rate*(g + Momentum*m) if Nesterov.
type SGD struct {
	Rate, Momentum, Dampening, L2 float32
	Nesterov                      bool
	First                         bool    // m is not begun: it becomes g
	ClipValue                     float32 // as in Adam
	GradScale                     float32 // as in Adam
}

// Adafactor is one update of a parameter tensor (Shazeer 2018), as Hugging
// Face's transformers make it: with b = 1 - Step^-Decay the running means of
// g² + Eps, g the scaled gradient, over the last axis and the one before it give
// v, their outer product by the mean of the former. u = g/sqrt(v) is divided by
// max(1, rms(u)/Clip), p falls by r*u, after p *= 1 - r*WeightDecay, where r is
// Rate, times max(MinScale, rms(p)) if Scaled. With Beta1, a decayed mean of r*u
// takes its place.
type Adafactor struct {
	Rate, Decay, Eps, Clip float32 // Clip 0 means no clipping
	Step                   int     // from 1
	Scaled                 bool
	MinScale               float32
	Beta1                  float32
	WeightDecay            float32
	GradScale              float32 // as in Adam
}

// Update is the family of optimiser steps, in place.
type Update interface {
	Adam(p, g, m, v tensor.Tensor, a Adam)
	// SGD takes a zero m where Momentum is 0.
	SGD(p, g, m tensor.Tensor, s SGD)
	// Adafactor of p [..., r, c] keeps means row [..., r] and col [..., c]; with a
	// zero col it is not factored, and row has p's shape. m is zero where Beta1 is
	// 0. A mean over nothing is 0.
	Adafactor(p, g, row, col, m tensor.Tensor, a Adafactor)
}
