package peft

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a.b", "a.b", true},
		{"a.b", "a.bc", false},
		{"a.*", "a.b", true},
		{"a.*", "a.b.c", false},
		{"a.*.c", "a.b.c", true},
		{"*.c", "a.b.c", false},
		{"**", "a.b.c", true},
		{"**.c", "a.b.c", true},
		{"**.c", "c", false},
		{"**c", "c", true},
		{"a.**.d", "a.b.c.d", true},
		{"a.**.d", "a.d", false},
		{"**.{q,v}", "encoder.block.0.layer.0.SelfAttention.q", true},
		{"**.{q,v}", "encoder.block.0.layer.0.SelfAttention.k", false},
		{"{en,de}coder.block.{0,1}.*", "decoder.block.1.x", true},
		{"{en,de}coder.block.{0,1}.*", "decoder.block.2.x", false},
		{"**layer_norm.weight", "encoder.final_layer_norm.weight", true},
		{"a{b", "ab", false},
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
	} {
		if got := Match(c.pattern, c.path); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}
