package errant

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/internal/shared"
)

func blocks(t *testing.T, path string) (out [][]Edit) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
		e, err := ParseBlock(block)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestEqualToErrantCompare(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "errant")
	files, err := filepath.Glob(filepath.Join(dir, "*.scores.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".scores.json")
		hyps, refs := blocks(t, filepath.Join(dir, name+".hyp.m2")), blocks(t, filepath.Join(dir, name+".ref.m2"))
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var golden []struct {
			Args struct {
				DS, DT, CSE   bool
				Single, Multi bool
				Beta          float64
				Filt          []string
			}
			TP, FP, FN int
			P, R, F    float64
			Sentences  [][3]int          `json:"per_sentence_tp_fp_fn"`
			Types      map[string][3]int `json:"by_type_tp_fp_fn"`
		}
		if err := json.Unmarshal(b, &golden); err != nil {
			t.Fatal(err)
		}
		for _, g := range golden {
			o := Options{Beta: 0.5, Single: g.Args.Single, Multi: g.Args.Multi, Skip: g.Args.Filt}
			switch {
			case g.Args.DT:
				o.Mode = TokenDetection
			case g.Args.DS:
				o.Mode = SpanDetection
			case g.Args.CSE:
				o.Mode = TypedCorrection
			}
			if g.Args.Beta != 0 {
				o.Beta = g.Args.Beta
			}
			c := Chooser{Options: o}
			for i := range hyps {
				n := c.Add(hyps[i], refs[i])
				if got := [3]int{n.TP, n.FP, n.FN}; len(g.Sentences) > 0 && got != g.Sentences[i] {
					t.Errorf("%s %+v sentence %d: %v, want %v", name, g.Args, i, got, g.Sentences[i])
				}
			}
			p, r, v := F(c.Total.TP, c.Total.FP, c.Total.FN, o.Beta)
			if c.Total.TP != g.TP || c.Total.FP != g.FP || c.Total.FN != g.FN || p != g.P || r != g.R || v != g.F {
				t.Errorf("%s %+v: %d %d %d, %v %v %v, want %d %d %d, %v %v %v", name, g.Args, c.Total.TP, c.Total.FP, c.Total.FN, p, r, v, g.TP, g.FP, g.FN, g.P, g.R, g.F)
			}
			if g.Types != nil && !maps.Equal(c.Total.Types, g.Types) {
				t.Errorf("%s %+v: by type %v, want %v", name, g.Args, c.Total.Types, g.Types)
			}
		}
	}
}

// Cases that a reader can check by hand.
func TestKnownAnswers(t *testing.T) {
	edit := func(s string) []Edit {
		e, err := ParseBlock("S a b c\n" + s)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	noop := edit("A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0")
	one := edit("A 0 1|||R:NOUN|||x|||REQUIRED|||-NONE-|||0")
	other := edit("A 0 1|||R:NOUN|||y|||REQUIRED|||-NONE-|||0")
	for name, c := range map[string]struct {
		hyp, ref []Edit
		mode     Mode
		want     [3]int
	}{
		"noop against an edit":      {noop, one, SpanCorrection, [3]int{0, 0, 1}},
		"an edit against noop":      {one, noop, SpanCorrection, [3]int{0, 1, 0}},
		"both noop":                 {noop, noop, SpanCorrection, [3]int{0, 0, 0}},
		"the same span, other word": {one, other, SpanCorrection, [3]int{0, 1, 1}},
		"detection of it":           {one, other, SpanDetection, [3]int{1, 0, 0}},
	} {
		ch := Chooser{Options: Options{Mode: c.mode, Beta: 0.5}}
		n := ch.Add(c.hyp, c.ref)
		if got := [3]int{n.TP, n.FP, n.FN}; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if _, err := ParseBlock("S a\nA 0|||x"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a bad line: %v", err)
	}
}

// ChERRANT compares edits of characters by the same rules.
func TestEqualToCherrantCompare(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "cherrant")
	b, err := os.ReadFile(filepath.Join(dir, "compare.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]map[string]string
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	hyps, refs := blocks(t, filepath.Join(dir, "nlpcc_a_hyp.char.m2")), blocks(t, filepath.Join(dir, "nlpcc_a_ref.char.m2"))
	for name, o := range map[string]Options{
		"default": {Beta: 0.5}, "-ds": {Mode: SpanDetection, Beta: 0.5}, "-dt": {Mode: TokenDetection, Beta: 0.5}, "-b 1": {Beta: 1},
	} {
		c := Chooser{Options: o}
		for i := range hyps {
			c.Add(hyps[i], refs[i])
		}
		p, r, f := F(c.Total.TP, c.Total.FP, c.Total.FN, o.Beta)
		got := fmt.Sprintf("\n%d\t%d\t%d\t%v\t%v\t%v\n", c.Total.TP, c.Total.FP, c.Total.FN, p, r, f)
		if want := golden["nlpcc_a_hyp vs nlpcc_a_ref"][name]; !strings.Contains(want, got) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Every file that ChERRANT's extraction made reads, and equals itself.
func TestCherrantFilesRead(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "cherrant")
	for name, want := range map[string]int{"hand.char.m2": 36, "hand.char_bpe.m2": 36, "multi.char.m2": 6, "nlpcc_a_hyp.char.m2": -1, "nlpcc_a_ref.char.m2": -1} {
		c := Chooser{Options: Options{Beta: 0.5}}
		for _, b := range blocks(t, filepath.Join(dir, name)) {
			c.Add(b, b)
		}
		if c.Total.FP != 0 || c.Total.FN != 0 || c.Total.TP == 0 || want >= 0 && c.Total.TP != want {
			t.Errorf("%s against itself: %d, %d, %d, want %d", name, c.Total.TP, c.Total.FP, c.Total.FN, want)
		}
	}
}

// What the goldens do not show: blocks without edits, types that stand for
// themselves, and where ChERRANT differs.
func TestRulesOfTheTools(t *testing.T) {
	edit := func(lines ...string) []Edit {
		t.Helper()
		e, err := ParseBlock("S a b c\n" + strings.Join(lines, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	a := func(span, typ, cor string) string {
		return "A " + span + "|||" + typ + "|||" + cor + "|||REQUIRED|||-NONE-|||0"
	}
	for _, c := range []struct {
		name     string
		o        Options
		hyp, ref []Edit
		want     [3]int
	}{
		{"no lines A are no edits", Options{}, edit(), edit(a("0 1", "R", "x")), [3]int{0, 0, 1}},
		{"on the other side too", Options{}, edit(a("0 1", "R", "x")), edit(), [3]int{0, 1, 0}},
		{"blanks count", Options{}, edit(a("0 1", "S", "x y")), edit(a("0 1", "S", "xy")), [3]int{0, 1, 1}},
		{"blanks do not count in ChERRANT", Options{Chinese: true}, edit(a("0 1", "S", "x y")), edit(a("0 1", "S", "xy")), [3]int{1, 0, 0}},
		{"so no correction has two words there", Options{Chinese: true, Single: true}, edit(a("0 1", "S", "x y")), edit(), [3]int{0, 1, 0}},
		{"two words are not single", Options{Single: true}, edit(a("0 1", "S", "x y")), edit(), [3]int{0, 0, 0}},
		{"what cannot be corrected is left out", Options{Chinese: true}, edit(a("0 1", "S", "x")), edit(a("-1 -1", "NA", "-NONE-")), [3]int{0, 0, 0}},
		{"but not in ERRANT", Options{}, edit(a("0 1", "S", "x")), edit(a("-1 -1", "NA", "-NONE-")), [3]int{0, 1, 1}},
	} {
		c.o.Beta = 0.5
		ch := Chooser{Options: c.o}
		if n := ch.Add(c.hyp, c.ref); [3]int{n.TP, n.FP, n.FN} != c.want {
			t.Errorf("%s: %d %d %d, want %v", c.name, n.TP, n.FP, n.FN, c.want)
		}
	}
	for level, want := range map[int]string{1: "UNK", 2: "UNK", 3: "UNK"} {
		if got := Category("UNK", level); got != want {
			t.Errorf("UNK at level %d: %q", level, got)
		}
	}
}
