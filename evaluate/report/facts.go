package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/tokenize"
)

// endings are words that leave a caption dangling when they are its last
// (the list of self-critical.pytorch).
var endings = map[string]bool{
	"with": true, "in": true, "on": true, "of": true, "a": true, "at": true, "to": true, "for": true,
	"an": true, "this": true, "his": true, "her": true, "that": true, "the": true,
}

// anatomy counts what captions look like, words split at blanks.
func anatomy(texts []string) []fact {
	if len(texts) == 0 {
		return nil
	}
	distinct, vocab := make(map[string]bool), make(map[string]bool)
	var words, longest, dangling, repeats, trigrams, unknown, empty int
	for _, t := range texts {
		distinct[t] = true
		w := strings.Fields(t)
		words += len(w)
		longest = max(longest, len(w))
		if len(w) == 0 {
			empty++
			continue
		}
		if endings[w[len(w)-1]] {
			dangling++
		}
		seen := make(map[[3]string]bool)
		again, twice := false, false
		for i, x := range w {
			vocab[x] = true
			if x == "<unk>" {
				unknown++
			}
			if i > 0 && w[i-1] == x {
				again = true
			}
			if i > 1 {
				g := [3]string{w[i-2], w[i-1], x}
				twice = twice || seen[g]
				seen[g] = true
			}
		}
		if again {
			repeats++
		}
		if twice {
			trigrams++
		}
	}
	n := len(texts)
	share := func(k int) string { return fmt.Sprintf("%d (%s)", k, percent(float64(k)/float64(n))) }
	out := []fact{
		{"captions", strconv.Itoa(n), ""},
		{"words a caption", fmt.Sprintf("%.2f", float64(words)/float64(n)), fmt.Sprintf("at most %d", longest)},
		{"distinct captions", share(len(distinct)), ""},
		{"distinct words", strconv.Itoa(len(vocab)), ""},
		{"dangling last word", share(dangling), "such as “a”, “with”, “the”"},
		{"a word twice in a row", share(repeats), ""},
		{"three words repeated", share(trigrams), ""},
		{"unknown words", strconv.Itoa(unknown), ""},
	}
	if empty > 0 {
		out = append(out, fact{"empty captions", share(empty), ""})
	}
	return out
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// grouped writes a whole number with blanks between groups of three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return sign + s
}

// A code is a word with its digits.
type code struct {
	Word   string
	Index  int
	Digits string
}

// vocabFacts describes a vocabulary and shows some words as digits.
func vocabFacts(in *pipeline.Input) ([]fact, []code, error) {
	c, err := tokenize.Open(in)
	if err != nil {
		return nil, nil, fmt.Errorf("input %s: %w", vocabInput, err)
	}
	v := c.Vocab()
	words := c.Words().Words()
	notes := in.Manifest.Notes
	out := []fact{{"kind", v.Kind, ""}, {"words", grouped(int64(len(words))), "of " + noted(notes, "distinct_words") + " distinct ones in " + noted(notes, "captions") + " captions"}}
	if x, err := strconv.ParseFloat(notes["coverage"], 64); err == nil {
		out = append(out, fact{"coverage", percent(x), "of all words of those captions"})
	}
	out = append(out, fact{"longest sequence", strconv.Itoa(v.MaxLen) + " ids", "with begin and end"})
	if v.Kind != "radix" {
		return append(out, fact{"rows of the embedding", grouped(int64(v.Size)), ""}), nil, nil
	}
	rows := int64(v.Size)
	full := int64(len(words)) + 4
	out = append(out,
		fact{"base and digits", fmt.Sprintf("v = %d, d = %d", v.Base, v.Digits), fmt.Sprintf("%s codes for %s words", grouped(power(v.Base, v.Digits)), grouped(int64(len(words))))},
		fact{"rows of the embedding", grouped(rows), fmt.Sprintf("instead of %s, one a word: %.1f times fewer", grouped(full), float64(full)/float64(rows))},
	)
	var codes []code
	for _, i := range spread(len(words), 8) {
		ids, _ := c.Append(nil, words[i])
		if len(ids) < 2 {
			continue
		}
		digits := make([]string, 0, v.Digits)
		for _, id := range ids[1:min(1+v.Digits, len(ids))] {
			digits = append(digits, strconv.Itoa(int(id)-1))
		}
		codes = append(codes, code{words[i], i, strings.Join(digits, " ")})
	}
	return out, codes, nil
}

func noted(notes map[string]string, key string) string {
	if n, err := strconv.ParseInt(notes[key], 10, 64); err == nil {
		return grouped(n)
	}
	return "an unknown number"
}

func power(base, n int) int64 {
	p := int64(1)
	for range n {
		if p > math.MaxInt64/int64(base) {
			return math.MaxInt64
		}
		p *= int64(base)
	}
	return p
}

// spread picks up to k places of n, closer together at the start.
func spread(n, k int) []int {
	var out []int
	for i := range k {
		x := float64(i) / float64(k-1)
		p := int(x * x * float64(n-1))
		if p < n && (len(out) == 0 || p > out[len(out)-1]) {
			out = append(out, p)
		}
	}
	return out
}

// modelFacts describes a checkpoint.
func modelFacts(in *pipeline.Input) ([]fact, error) {
	f, err := in.Open("model.json")
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", modelInput, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return nil, err
	}
	var c struct {
		Model  string
		Config struct {
			Model      map[string]any
			Parameters int64
			Trained    int64 // of a backbone of so many values
			Size       int64
			Features   struct {
				Height, Width, Dim int
			}
		}
		State struct {
			Step, Steps int64
			Metric      string
			Validation  *float64
			Loss        float64
		}
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("input %s: model.json: %w", modelInput, err)
	}
	n := c.Config.Parameters
	out := []fact{{"parameters", grouped(n), fmt.Sprintf("%.2f MB as float32; shared ones counted once", float64(n)*4/1e6)}}
	if size := c.Config.Size; size > 0 {
		n = c.Config.Trained
		out = []fact{{"trained", grouped(n), fmt.Sprintf("%.2f MB as float32; %.4g %% of the %s values of the backbone", float64(n)*4/1e6, 100*float64(n)/float64(size), grouped(size))}}
	}
	if f := c.Config.Features; f.Dim > 0 {
		seen := fact{"features", fmt.Sprintf("%d numbers a region", f.Dim), ""}
		if f.Height > 0 {
			seen = fact{"features", fmt.Sprintf("%d numbers a cell", f.Dim), fmt.Sprintf("a grid of %d by %d", f.Height, f.Width)}
		}
		out = append(out, seen)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Config.Model)) {
		if v := plain(c.Config.Model[key]); v != "" {
			out = append(out, fact{strings.ReplaceAll(key, "_", " "), v, ""})
		}
	}
	out = append(out, fact{"weights", fmt.Sprintf("of step %s", grouped(c.State.Step)), fmt.Sprintf("of %s", grouped(c.State.Steps))})
	if c.State.Validation != nil {
		out[len(out)-1].Note += fmt.Sprintf("; %s %.3f on the validation split", label(c.State.Metric), *c.State.Validation)
	}
	return out, nil
}

// plain writes a value of a configuration, "" for what says nothing.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		if !v {
			return ""
		}
		return "yes"
	case string:
		return v
	case []any:
		if len(v) == 0 {
			return ""
		}
		parts := make([]string, len(v))
		for i, x := range v {
			if parts[i] = plain(x); parts[i] == "" {
				parts[i] = "0"
			}
		}
		if _, ok := v[0].(string); ok {
			return strings.Join(parts, ", ")
		}
		return strings.Join(parts, " ")
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if s := plain(v[k]); s != "" {
				parts = append(parts, strings.ReplaceAll(k, "_", " ")+" "+s)
			}
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v)
}
