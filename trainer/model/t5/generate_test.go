package t5_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/peft/pefttest"
)

// A run is one line of stored generations.
type stored struct {
	Name     string
	Settings struct {
		MaxNew    int             `json:"max_new_tokens"`
		MaxLength int             `json:"max_length"`
		MinNew    int             `json:"min_new_tokens"`
		MinLength int             `json:"min_length"`
		Beams     int             `json:"num_beams"`
		Return    int             `json:"num_return_sequences"`
		Penalty   *float64        `json:"length_penalty"`
		Early     json.RawMessage `json:"early_stopping"`
		NoRepeat  int             `json:"no_repeat_ngram_size"`
		Repeat    float64         `json:"repetition_penalty"`
	}
	Sequences [][]int32
	Scores    []float64 `json:"sequences_scores"`
}

func (s *stored) generation(rules decode.Rules) decode.Generation {
	x := s.Settings
	g := decode.Generation{
		Beams: x.Beams, Return: x.Return, MaxNew: x.MaxNew, Penalty: x.Penalty, Rules: rules, EOS: 1,
		Processing: decode.Processing{Repetition: x.Repeat, NoRepeat: x.NoRepeat, MinNew: x.MinNew},
	}
	if rules == decode.Rules47 { // lengths count the start token
		g.MaxNew, g.MinNew = x.MaxLength-1, max(x.MinLength-1, 0)
	}
	switch string(x.Early) {
	case "true":
		g.Early = decode.EarlyTrue
	case `"never"`:
		g.Early = decode.EarlyNever
	}
	return g
}

func readStored(t *testing.T, name string) []stored {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []stored
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s stored
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// cut returns a stored sequence without the start token and what comes behind
// EOS.
func cut(x []int32) []int32 {
	x = x[1:]
	if i := slices.Index(x, 1); i >= 0 {
		return x[:i+1]
	}
	return x
}

func TestReferenceGenerations(t *testing.T) {
	files := map[string]decode.Rules{"generate.jsonl": decode.Rules5, "generate47.jsonl": decode.Rules47}
	for _, name := range models {
		m, _ := open(t, pefttest.Fast(), name)
		dir := shared.Dir(t, "goldens", "models", name)
		sources := pefttest.Texts(pefttest.Rows(t, pefttest.Weights(t, dir, "inputs.safetensors"), "main/input_ids", "main/attention_mask"))
		for file, rules := range files {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				continue
			}
			for _, s := range readStored(t, filepath.Join(dir, file)) {
				t.Run(name+" "+file+" "+s.Name, func(t *testing.T) {
					g := s.generation(rules)
					if err := g.Check(); err != nil {
						t.Fatal(err)
					}
					for _, all := range [][][]int32{sources, sources[:1], sources[1:]} { // alone and together
						first := slices.IndexFunc(sources, func(x []int32) bool { return &x[0] == &all[0][0] })
						st, err := m.Stepper(all, 0, t5.Images{}, g.Rows(), g.MaxNew)
						if err != nil {
							t.Fatal(err)
						}
						got, err := g.Run(t.Context(), st, make([]uint64, len(all)))
						st.Close()
						if err != nil {
							t.Fatal(err)
						}
						for i, hs := range got {
							if len(hs) != g.Return {
								t.Errorf("input %d: %d sequences, want %d", first+i, len(hs), g.Return)
								continue
							}
							for j, h := range hs {
								at := (first+i)*g.Return + j
								if want := cut(s.Sequences[at]); !slices.Equal(h.Tokens, want) {
									t.Errorf("input %d, sequence %d: %v, want %v", first+i, j, h.Tokens, want)
								} else if s.Scores != nil && !(abs(h.Score-s.Scores[at]) <= 1e-4*abs(s.Scores[at])) {
									t.Errorf("input %d, sequence %d: score %g, want %g", first+i, j, h.Score, s.Scores[at])
								}
							}
						}
					}
				})
			}
		}
	}
}

// Scores of a stepper are those of the whole sequence, also when rows are
// reordered and examples leave.
func TestCache(t *testing.T) {
	for _, name := range models {
		m, tape := open(t, pefttest.Fast(), name)
		dir := shared.Dir(t, "goldens", "models", name)
		in := pefttest.Weights(t, dir, "inputs.safetensors")
		sources := pefttest.Texts(pefttest.Rows(t, in, "main/input_ids", "main/attention_mask"))
		sources = append(sources[:2:2], sources[0][1:4])
		checkCache(t, name, m, tape, sources, 0, t5.Images{})
	}
}

func checkCache(t *testing.T, name string, m *t5.Model, tape *grad.Tape, sources [][]int32, task int, im t5.Images) {
	t.Helper()
	st, err := m.Stepper(sources, task, im, 2, 6)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	type row struct {
		input  int
		tokens []int32
	}
	var rows []row
	for i := range sources {
		rows = append(rows, row{input: i})
	}
	for at, source := range [][]int32{{0, 1, 2}, {0, 0, 1, 1, 2, 2}, {1, 0, 2, 2, 5, 4}, {0, 1, 4, 5}, {3, 2}} {
		token := make([]int32, len(source))
		var now []row
		for i, s := range source {
			token[i] = int32((7*at + 3*i + 2) % 20)
			now = append(now, row{rows[s].input, append(slices.Clone(rows[s].tokens), token[i])})
		}
		rows = now
		got, err := st.Scores(source, token)
		if err != nil {
			t.Fatal(err)
		}
		got = slices.Clone(got)
		vocab := len(got) / len(token)
		for r, x := range rows {
			src := &t5.Source{Rows: 1, Len: len(sources[x.input]), IDs: sources[x.input]}
			one := im
			if im.Cells > 0 {
				one.Features = im.Features[x.input*im.Cells*im.Dim:][:im.Cells*im.Dim]
				if im.Boxes != nil {
					one.Boxes = im.Boxes[x.input*im.Cells*5:][:im.Cells*5]
				}
			}
			tape.Begin(grad.Step{})
			logits, err := m.Logits(tape, src, &t5.Source{Rows: 1, Len: len(x.tokens), IDs: x.tokens}, task, one)
			if err != nil {
				t.Fatal(err)
			}
			all := make([]float32, tape.Value(logits).Len())
			tape.Read(all, logits)
			want := all[len(all)-vocab:]
			pefttest.Near(t, name+": cached scores", got[r*vocab:][:vocab], want, 2e-5*(1+pefttest.Largest(want)))
		}
	}
}
