package prompt

import (
	"slices"
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/pefttest"
)

func TestPaper(t *testing.T) {
	pefttest.Paper{File: "prompt", Rename: func(string) string { return "prompt.rows" }}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&Method{Rows: z.Rows}}
	})
}

func TestReference(t *testing.T) {
	rename := func(name string) string {
		name = strings.TrimPrefix(name, "prompt_encoder.default.")
		if name == "embedding.weight" {
			return "prompt.rows"
		}
		if rest, ok := strings.CutPrefix(name, "lstm_head."); ok {
			side := "forward"
			if s, ok := strings.CutSuffix(rest, "_reverse"); ok {
				side, rest = "backward", s
			}
			part, layer, _ := strings.Cut(rest, "_l")
			return "prompt.lstm." + layer + "." + side + "." + map[string]string{
				"weight_ih": "input.weight", "weight_hh": "state.weight", "bias_ih": "input.bias", "bias_hh": "state.bias",
			}[part]
		}
		return strings.NewReplacer("mlp_head.0", "prompt.mlp.0", "mlp_head.2", "prompt.mlp.1", "mlp_head.4", "prompt.mlp.2").Replace(name)
	}
	for _, c := range []struct {
		name string
		m    Method
	}{
		{"prompt", Method{Rows: 5}},
		{"prompt_both", Method{Rows: 3, spare: 3}}, // the package trains a prompt of the decoder and never reads it
		{"p_tuning_mlp", Method{Rows: 4, Encoder: "mlp", Hidden: 9}},
		{"p_tuning_lstm", Method{Rows: 4, Encoder: "lstm", Hidden: 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pefttest.Golden{Base: "t5-v1_0", Folder: "peft/t5-v1_0/" + c.name, Rename: rename}.Run(t, &c.m)
		})
	}
}

// The published size at T5-base's (spec 8.8).
func TestCounts(t *testing.T) {
	got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&Method{}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 37632; got != want {
		t.Errorf("%d trained values, want %d", got, want)
	}
}

// A prompt that starts from the vocabulary holds rows of the token table.
func TestInit(t *testing.T) {
	const d = 8
	words := func(m *t5.Model) []float32 {
		return pefttest.Value(m.Params().Device(), m.Params().Get("shared.weight"))
	}
	m := pefttest.Toy(t, peft.Given{}, &Method{Rows: 5, Init: "tokens", Tokens: []int32{7, 3}})
	rows, table := pefttest.Value(m.Params().Device(), m.Params().Get("prompt.rows")), words(m)
	for i, id := range []int{7, 3, 7, 3, 7} {
		pefttest.Near(t, "row of a token", rows[i*d:][:d], table[id*d:][:d], 0)
	}
	m = pefttest.Toy(t, peft.Given{}, &Method{Rows: 6, Init: "vocabulary", Common: 4})
	rows, table = pefttest.Value(m.Params().Device(), m.Params().Get("prompt.rows")), words(m)
	seen := map[int]bool{}
	for i := range 6 {
		id := slices.IndexFunc([]int{0, 1, 2, 3}, func(id int) bool { return slices.Equal(table[id*d:][:d], rows[i*d:][:d]) })
		if id < 0 {
			t.Errorf("row %d is none of the first four of the table", i)
		}
		seen[id] = true
	}
	if len(seen) < 2 {
		t.Error("all rows are the same word")
	}
}

func TestGradients(t *testing.T) {
	pefttest.Gradients(t, peft.Given{}, &Method{Rows: 3, Stacks: []string{"encoder", "decoder"}})
	pefttest.Gradients(t, peft.Given{}, &Method{Rows: 3, Encoder: "lstm", Hidden: 4})
}

func TestCheck(t *testing.T) {
	m := Method{Rows: -1, Stacks: []string{"both"}, Init: "tokens", Encoder: "cnn"}
	err := m.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"rows:", "stacks:", "tokens:", "encoder:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q says nothing of %s", err, want)
		}
	}
}
