package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/internal/shared"
	"espalier/pipeline"
)

func TestMaxMatchFiles(t *testing.T) {
	for _, workers := range []int{1, 3} {
		res, err := Run(t.Context(), Request{
			Metrics: []string{"maxmatch", "maxmatch:ignorecase=true"}, Workers: workers, Bootstrap: 20,
			Pred: input.Source{Path: "maxmatch/testdata/ten_lines.hyp"}, Refs: []input.Source{{Path: "maxmatch/testdata/ten_lines.m2"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{2. / 3, .8, .689655172413793, .6363636363636364, .7, .6481481481481481} {
			if got := res.Values[i]; math.Abs(got.Value-want) > 1e-15 || got.N != 10 {
				t.Errorf("%s = %v over %d, want %v", got.Metric, got.Value, got.N, want)
			}
		}
		if res.Values[2].Metric != "maxmatch-f0.5" {
			t.Errorf("metric %s, want maxmatch-f0.5", res.Values[2].Metric)
		}
	}
	m2 := write(t, "bad.m2", "S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||0\n\nS c\nA 0 x|||R|||x|||REQUIRED|||-NONE-|||0\n")
	hyp := write(t, "h.txt", "a b\nc\n")
	_, err := Run(t.Context(), Request{Metrics: []string{"maxmatch"}, Pred: input.Source{Path: hyp}, Refs: []input.Source{{Path: m2}}})
	if err == nil || !strings.Contains(err.Error(), ":5: offset") || pipeline.ExitCode(err) != pipeline.ExitBadInput {
		t.Errorf("error %v, want line 5 named", err)
	}
	short := write(t, "s.txt", "a b\nc\nd\n")
	if _, err := Run(t.Context(), Request{Metrics: []string{"maxmatch"}, Pred: input.Source{Path: short}, Refs: []input.Source{{Path: m2}}}); err == nil || !strings.Contains(err.Error(), "have no reference") {
		t.Errorf("more lines than blocks: error %v", err)
	}
}

func TestErrantFiles(t *testing.T) {
	block := func(edits ...string) string { return "S a b c\n" + strings.Join(edits, "\n") + "\n\n" }
	one, other := "A 0 1|||R:NOUN|||x|||REQUIRED|||-NONE-|||0", "A 1 2|||R:VERB|||y|||REQUIRED|||-NONE-|||0"
	noop := "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0"
	hyp := write(t, "h.m2", block(one, other)+block(noop)+block(one))
	ref := write(t, "r.m2", block(one)+block(other)+block(one))
	res, err := Run(t.Context(), Request{Metrics: []string{"errant", "cherrant:beta=1"}, Pred: input.Source{Path: hyp}, Refs: []input.Source{{Path: ref}}, Bootstrap: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{.6667, .6667, .6667, .6667, .6667, .6667} {
		if got := res.Values[i]; got.Value != want || got.N != 3 {
			t.Errorf("%s = %v over %d, want %v", got.Metric, got.Value, got.N, want)
		}
	}
	if res.Values[2].Metric != "errant-f0.5" || res.Values[5].Metric != "cherrant-f1" {
		t.Errorf("metrics %v", res.Values)
	}
}

// checkCategories compares with a table that a tool printed.
func checkCategories(t *testing.T, metric, pred, refs, printed string) {
	t.Helper()
	res, err := Run(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs}}})
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(metric, ":")
	rows := 0
	table, _, _ := strings.Cut(printed, "\n\n=")
	for _, line := range strings.Split(table, "\n") {
		f := strings.Fields(line)
		if len(f) == 6 {
			f = append([]string{""}, f...) // the category without a name
		}
		if len(f) != 7 || f[0] == "Category" {
			continue
		}
		rows++
		for k, part := range []string{"-p", "-r", "-f0.5"} {
			want, err := strconv.ParseFloat(f[4+k], 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := value(t, res, name+"["+f[0]+"]"+part).Value; got != want {
				t.Errorf("%s of %s, %s%s: %v, want %v", metric, pred, f[0], part, got, want)
			}
		}
	}
	if 3*(rows+1) != len(res.Values) || rows == 0 {
		t.Errorf("%s of %s: %d values, the tool prints %d categories", metric, pred, len(res.Values), rows)
	}
}

// The tables by category that errant_compare and ChERRANT print with -cat.
func TestByCategory(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "cherrant")
	b, err := os.ReadFile(filepath.Join(dir, "compare.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]map[string]string
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	checkCategories(t, "cherrant:cat=1", filepath.Join(dir, "nlpcc_a_hyp.char.m2"), filepath.Join(dir, "nlpcc_a_ref.char.m2"), golden["nlpcc_a_hyp vs nlpcc_a_ref"]["-cat 1"])
	files, err := filepath.Glob(shared.Dir(t, "goldens", "metrics", "errant") + "/*.scores.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var runs []struct {
			Args    struct{ Cat int }
			Printed string
		}
		if err := json.Unmarshal(b, &runs); err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(f, ".scores.json")
		for _, r := range runs {
			if r.Args.Cat > 0 {
				checkCategories(t, fmt.Sprintf("errant:cat=%d", r.Args.Cat), base+".hyp.m2", base+".ref.m2", r.Printed)
			}
		}
	}
}

// Edits of texts are those of the tool's M2 files, whatever the files' layout.
func TestCherrantOfTexts(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "cherrant")
	run := func(r Request) *Result {
		t.Helper()
		r.Metrics, r.Cherrant, r.Workers = []string{"cherrant", "cherrant:mode=tokens", "cherrant:beta=1:cat=1"}, "cherrant/testdata", 3
		res, err := Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	want := run(Request{Pred: input.Source{Path: filepath.Join(dir, "nlpcc_a_hyp.char.m2")}, Refs: []input.Source{{Path: filepath.Join(dir, "nlpcc_a_ref.char.m2")}}})
	hyp, ref := filepath.Join(dir, "nlpcc_a_hyp.para"), filepath.Join(dir, "nlpcc_a_ref.para")
	column := func(path string, k int) string {
		var b strings.Builder
		for _, cells := range cells(t, path) {
			b.WriteString(cells[k] + "\n")
		}
		return b.String()
	}
	var objects, answers strings.Builder
	for i, c := range cells(t, ref) {
		objects.WriteString(jsonLine(t, map[string]any{"id": i, "source": c[1], "references": c[2:]}))
		answers.WriteString(jsonLine(t, map[string]any{"id": i, "text": cells(t, hyp)[i][2]}))
	}
	lines := write(t, "hyp.txt", column(hyp, 2))
	for name, r := range map[string]Request{
		"the tool's files":        {Pred: input.Source{Path: hyp}, Refs: []input.Source{{Path: ref}}},
		"lines and a source":      {Pred: input.Source{Path: lines}, Refs: []input.Source{{Path: ref}}, Source: input.Source{Path: write(t, "src.txt", column(ref, 1))}},
		"lines":                   {Pred: input.Source{Path: lines}, Refs: []input.Source{{Path: ref}}},
		"JSON lines with sources": {Pred: input.Source{Path: write(t, "h.jsonl", answers.String())}, Refs: []input.Source{{Path: write(t, "r.jsonl", objects.String())}}},
	} {
		got := run(r)
		for k, w := range want.Values {
			if g := got.Values[k]; g.Metric != w.Metric || g.Value != w.Value || g.N != w.N || !strings.HasPrefix(g.Variant, w.Variant+"|edits:char|tables:pinyin+cilin") {
				t.Errorf("%s: %+v, want %+v", name, g, w)
			}
		}
	}
}

// cells are those of the lines of a file.
func cells(t *testing.T, path string) (out [][]string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		out = append(out, strings.Split(line, "\t"))
	}
	return out
}

func TestCherrantRefuses(t *testing.T) {
	for name, c := range map[string]struct{ pred, refs, source, want string }{
		"no M2 and no source":       {"我爱你\n", "我喜欢你\n", "", "p.txt:1: id 1: \"我爱你\" is no block of an M2 file (S SENTENCE, A EDIT ...); for edits of texts give the sentences"},
		"a source too few":          {"我\n你\n", "我\n你\n", "我\n", "s.txt: id 2, which is predicted, has no text here"},
		"another source":            {"{\"id\":1,\"source\":\"甲\",\"text\":\"我\"}\n", "{\"id\":1,\"source\":\"乙\",\"references\":[\"我\"]}\n", "", "p.txt:1: id 1: its source is \"甲\", and that of the reference \"乙\""},
		"a source for some":         {"{\"id\":1,\"text\":\"我\"}\n{\"id\":2,\"text\":\"我\"}\n", "{\"id\":1,\"source\":\"乙\",\"references\":[\"我\"]}\n{\"id\":2,\"references\":[\"我\"]}\n", "", "r.txt:2: id 2: no source"},
		"a sentence that is a book": {strings.Repeat("我", 3000) + "\n", "我\n", strings.Repeat("你", 3000) + "\n", "too long for one sentence"},
	} {
		r := Request{Metrics: []string{"cherrant"}, Pred: input.Source{Path: write(t, "p.txt", c.pred)}, Refs: []input.Source{{Path: write(t, "r.txt", c.refs)}}}
		if c.source != "" {
			r.Source = input.Source{Path: write(t, "s.txt", c.source)}
		}
		if _, err := Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) || pipeline.ExitCode(err) != pipeline.ExitBadInput {
			t.Errorf("%s: %v (exit %d), want %q", name, err, pipeline.ExitCode(err), c.want)
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"two predictions": {"1\t我\t你\t他\n", "p.para:1: 2 corrections, want one prediction"},
		"no correction":   {"1\t我\t你\n2\t我\n", "p.para:2: 2 columns, want NUMBER"},
		"an empty line":   {"1\t我\t你\n\n2\t我\t你\n", "p.para:2: an empty line"},
		"not UTF-8":       {"1\t我\t\xff\n", "p.para:1: not valid UTF-8"},
		"other sentences": {"1\t我\t你\n2\t我\t你\n", "1 of 2 predictions have no reference"},
	} {
		_, err := Run(t.Context(), Request{Metrics: []string{"cherrant"}, Pred: input.Source{Path: write(t, "p.para", c.text)}, Refs: []input.Source{{Path: write(t, "r.para", "1\t我\t你\n")}}})
		if err == nil || !strings.Contains(err.Error(), c.want) || pipeline.ExitCode(err) != pipeline.ExitBadInput {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Types of edits have colons, as options do.
func TestTypesAreOptions(t *testing.T) {
	s, err := parseSpec("errant:skip=R:NOUN/M:DET:beta=1")
	if err != nil || s.options["skip"] != "R:NOUN/M:DET" || s.options["beta"] != "1" {
		t.Errorf("options %v, %v", s, err)
	}
	for _, text := range []string{"errant:skip", "errant:=1", "errant:beta=1:beta=2"} {
		if _, err := parseSpec(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// Sentences that are too long for how much they differ are refused, the first
// one whatever the number of workers.
func TestHopelessCorrectionsAreRefused(t *testing.T) {
	long := strings.Repeat("a ", 6000)
	pred := write(t, "p.txt", "a b\n"+long+"\n"+long+"\n")
	refs := write(t, "r.m2", "S a c\nA 1 2|||R|||b|||REQUIRED|||-NONE-|||0\n\nS "+strings.Repeat("b ", 6000)+"\n\nS "+long+"\n\n")
	for _, workers := range []int{1, 2, 3} {
		_, err := Run(t.Context(), Request{Metrics: []string{"maxmatch"}, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs, Format: "m2"}}, Workers: workers})
		var refused *pipeline.RefusedError
		if !errors.As(err, &refused) || refused.Line != 2 || !strings.Contains(refused.Reason, "6000 words for a source of 6000") {
			t.Errorf("%d workers: %v, want line 2 refused", workers, err)
		}
	}
}
