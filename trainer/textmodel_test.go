package trainer

import (
	"strings"
	"testing"
)

func TestTextModelFaults(t *testing.T) {
	low := -0.5
	for want, m := range map[string]TextModel{
		`model.kind: "bart"`:                 {Kind: "bart"},
		"model.drop: -0.5":                   {Drop: &low},
		"model.pool: -1":                     {Pool: -1},
		"model.round: only with half":        {Round: true},
		"model.round: only with half, and n": {Round: true, Half: true, Random: &RandomText{}},
		`model.random: `:                     {Random: &RandomText{Projection: "sin"}},
	} {
		if err := m.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	if err := (&TextModel{Round: true, Half: true}).check(); err != nil {
		t.Error(err)
	}
}
