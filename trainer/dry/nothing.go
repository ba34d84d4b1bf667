package dry

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

type t = tensor.Tensor

// What takes no memory is not done.

func (*Device) Write(t, []float32)                                                          {}
func (*Device) WriteInts(t, []int32)                                                        {}
func (*Device) Copy(_, _ t)                                                                 {}
func (*Device) Paste(_, _ t, _, _ int)                                                      {}
func (*Device) PasteAdd(_, _ t, _, _ int)                                                   {}
func (*Device) Cut(_, _ t, _, _ int)                                                        {}
func (*Device) Zero(t)                                                                      {}
func (*Device) Gemm(_, _, _ t, _ op.Gemm)                                                   {}
func (*Device) Attend(_, _, _, _, _ t, _ op.Attention)                                      {}
func (*Device) AttendBack(_, _, _, _, _, _, _, _, _, _ t, _ op.Attention)                   {}
func (*Device) Norm(_, _, _, _, _ t, _ op.Norm)                                             {}
func (*Device) NormBack(_, _, _, _, _, _, _ t, _ op.Norm)                                   {}
func (*Device) Softmax(_, _ t)                                                              {}
func (*Device) LogSoftmax(_, _ t)                                                           {}
func (*Device) Activate(_, _ t, _ op.Act)                                                   {}
func (*Device) ActivateBack(_, _, _ t, _ op.Act)                                            {}
func (*Device) FinishBack(_, _, _ t, _ op.Act, _ op.Dropout)                                {}
func (*Device) Signs(_, _ t)                                                                {}
func (*Device) Add(_, _, _ t)                                                               {}
func (*Device) Mul(_, _, _ t)                                                               {}
func (*Device) Axpy(_, _ t, _ float32)                                                      {}
func (*Device) Scale(_, _ t, _ float64)                                                     {}
func (*Device) LogFloor(_, _ t, _ float32)                                                  {}
func (*Device) LogFloorBack(_, _, _ t, _ float32)                                           {}
func (*Device) Drop(_, _ t, _ op.Dropout)                                                   {}
func (*Device) Permute(_, _ t, _ []int)                                                     {}
func (*Device) Gather(_, _, _ t, _ float32)                                                 {}
func (*Device) ScatterAdd(_, _, _ t, _ float32)                                             {}
func (*Device) CrossEntropy(_, _, _, _ t, _ op.CrossEntropy)                                {}
func (*Device) CrossEntropyBack(_, _, _, _, _ t, _ op.CrossEntropy)                         {}
func (*Device) ProjectLoss(_, _, _ t, _ op.Projection, _ t, _ op.CrossEntropy)              {}
func (*Device) ProjectLossBack(_, _, _, _, _, _ t, _ op.Projection, _ t, _ op.CrossEntropy) {}
func (*Device) Conv(_, _, _ t, _ op.Conv)                                                   {}
func (*Device) AvgPool(_, _ t, _ int)                                                       {}
func (*Device) Sum(_, _ t)                                                                  {}
func (*Device) SumRows(_, _ t)                                                              {}
func (*Device) SumSquares(_, _ t)                                                           {}
func (*Device) ArgMax(_, _ t)                                                               {}
func (*Device) TopK(_, _, _ t)                                                              {}
func (*Device) Adam(_, _, _, _ t, _ op.Adam)                                                {}
func (*Device) SGD(_, _, _ t, _ op.SGD)                                                     {}
func (*Device) Adafactor(_, _, _, _, _ t, _ op.Adafactor)                                   {}
