package split

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"espalier/internal/shared"
)

func draw(rows []Row, k int) []string {
	d := NewDraw(k)
	for _, r := range rows {
		d.Add(r)
	}
	return ids(d.Rows())
}

func ids(rows []Row) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

func TestKey(t *testing.T) {
	// Published splits rest on it: it must never change. SHA-256 of
	// "espalier-split/1" 0000000000000003 "glue/cola/train/7".
	if got, want := Key(3, "glue/cola/train/7"), uint64(0x2c1e63d459ff3e21); got != want {
		t.Errorf("Key = %#x, want %#x", got, want)
	}
	if Key(3, "a") == Key(4, "a") || Key(3, "a") == Key(3, "b") {
		t.Error("keys do not depend on seed and id")
	}
}

func TestIn(t *testing.T) {
	for _, c := range []struct {
		key, num, den uint64
		want          bool
	}{
		{0, 0, 10, false}, {0, 1, 10, true}, {1 << 63, 1, 2, false}, {1<<63 - 1, 1, 2, true}, {^uint64(0), 9, 10, false}, {^uint64(0), 10, 10, true},
	} {
		if got := In(c.key, c.num, c.den); got != c.want {
			t.Errorf("In(%#x, %d, %d) = %t", c.key, c.num, c.den, got)
		}
	}
	n := 0
	for i := range 10000 {
		if In(Key(1, fmt.Sprint(i)), 3, 10) {
			n++
		}
	}
	if n < 2850 || n > 3150 {
		t.Errorf("%d of 10000 rows in a share of 3/10", n)
	}
}

func TestOneRowMovesNoOther(t *testing.T) {
	var rows []Row
	for i := range 500 {
		id := fmt.Sprint("x/", i)
		rows = append(rows, Row{ID: id, Key: Key(5, id)})
	}
	all := draw(rows, 50)
	for _, gone := range []int{0, 17, 250, 499} {
		left := slices.Delete(slices.Clone(rows), gone, gone+1)
		now := draw(left, 50)
		moved := 0
		for _, id := range now {
			if !slices.Contains(all, id) {
				moved++
			}
		}
		want := 0
		if slices.Contains(all, rows[gone].ID) {
			want = 1 // the next one takes its place
		}
		if moved != want {
			t.Errorf("without row %d: %d rows moved, want %d", gone, moved, want)
		}
	}
	if !slices.Equal(draw(rows, 20), all[:20]) {
		t.Error("a smaller draw is no part of a larger one")
	}
	slices.Reverse(rows)
	if !slices.Equal(draw(rows, 50), all) {
		t.Error("a draw depends on the order of rows")
	}
}

func TestTies(t *testing.T) {
	rows := []Row{{ID: "b", Key: 1}, {ID: "a", Key: 1}, {ID: "Z", Key: 1}, {ID: "c", Key: 0}}
	if got := draw(rows, 3); !slices.Equal(got, []string{"c", "Z", "a"}) {
		t.Errorf("got %v", got)
	}
	if got := draw(rows, 0); len(got) != 0 {
		t.Errorf("a draw of none: %v", got)
	}
	if got := draw(rows, -1); len(got) != 4 {
		t.Errorf("a draw of all: %v", got)
	}
}

func TestGoldens(t *testing.T) {
	var g struct {
		Toy []struct {
			ID, Label string
			Keys      []uint64
		}
		Worked []struct {
			Rule, Without    string
			Seed, K, N       int
			Rows             json.RawMessage
			Validation, Test []string
			Train            []string `json:"train_in_file_order"`
		}
	}
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "fewshot.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	rules := map[string]int{}
	for _, w := range g.Worked {
		rules[w.Rule]++
		var rows []Row
		for _, r := range g.Toy {
			if r.ID != w.Without {
				rows = append(rows, Row{ID: r.ID, Class: r.Label, Key: r.Keys[w.Seed]})
			}
		}
		plain := slices.Clone(rows)
		for i := range plain {
			plain[i].Class = ""
		}
		switch w.Rule {
		case "overall":
			var want []string
			if err := json.Unmarshal(w.Rows, &want); err != nil {
				t.Fatal(err)
			}
			if got := draw(plain, w.K); !slices.Equal(got, want) {
				t.Errorf("overall, seed %d, k %d: %v, want %v", w.Seed, w.K, got, want)
			}
		case "per-class":
			var by map[string][]string
			if err := json.Unmarshal(w.Rows, &by); err != nil {
				t.Fatal(err)
			}
			want := slices.Concat(by["contradiction"], by["entailment"], by["neutral"])
			if got := draw(rows, w.K); !slices.Equal(got, want) {
				t.Errorf("per class, seed %d, k %d: %v, want %v", w.Seed, w.K, got, want)
			}
		case "halves":
			first, second := Halves(plain[:w.N])
			if !slices.Equal(ids(first), w.Validation) || !slices.Equal(ids(second), w.Test) {
				t.Errorf("halves of %d: %v, %v", w.N, ids(first), ids(second))
			}
		default:
			out, rest := HoldOut(plain, 10)
			if !slices.Equal(ids(out), w.Validation) || !slices.Equal(ids(rest), w.Train) {
				t.Errorf("%s: %v, %v", w.Rule, ids(out), ids(rest))
			}
		}
	}
	if len(rules) != 4 {
		t.Errorf("rules %v", rules)
	}
}
