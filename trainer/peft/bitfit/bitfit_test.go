package bitfit

import (
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/pefttest"
)

// At T5-base's size: 36 attentions of four maps to 768, 24 feed-forwards to 3072
// and 768.
func TestCounts(t *testing.T) {
	got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&Method{}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 36*4*768 + 24*(3072+768); got != want {
		t.Errorf("%d trained values, want %d", got, want)
	}
	got, _, err = t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&Method{Maps: []string{"**.q"}, Norms: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 36*768 + 47616; got != want {
		t.Errorf("%d trained values of queries and norms, want %d", got, want)
	}
}

// The bias of a key moves all scores of a query alike, so it has no gradient;
// all others do.
func TestGradients(t *testing.T) {
	m := &Method{Maps: []string{"**.{q,v,o,wi,wo}"}, Norms: true}
	pefttest.Gradients(t, peft.Given{}, m)
	pefttest.StartsPlain(t, peft.Given{}, &Method{})
}
