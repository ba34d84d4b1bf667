package t5

import "espalier/trainer/grad"

// Trace lets a test see hidden states.
func Trace(m *Model, f func(stack string, i int, v grad.Var)) { m.trace = f }
