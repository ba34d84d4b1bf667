package jobs

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"espalier/evaluate/classify"
	"espalier/tokenize/family"
	"espalier/tokenize/tokens"
	"espalier/trainer"
)

// textDetokenizer decodes the ids of a public vocabulary up to EOS, special ones
// left out.
func textDetokenizer(files trainer.Listing, v tokens.Vocab) (trainer.Detokenizer, error) {
	open := func(name string) (io.ReadCloser, error) {
		f, err := files.Open(name)
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(f, 0, f.Size()), f}, nil
	}
	src, err := family.ReadFiles(files.Names(), open, "")
	if err != nil {
		return nil, err
	}
	variants := strings.FieldsFunc(v.Variants, func(r rune) bool { return r == ',' })
	var decode func(ids []int32) ([]byte, error)
	if slices.Contains(family.Names(), v.Kind) {
		c, err := src.As(v.Kind, variants)
		if err != nil {
			return nil, err
		}
		decode = func(ids []int32) ([]byte, error) { return c.DecodeWith(nil, ids, true, false) }
	} else {
		m, err := src.Model(variants)
		if err != nil {
			return nil, err
		}
		decode = func(ids []int32) ([]byte, error) { return m.Decode(nil, ids) }
	}
	return func(ids []int32) string {
		if i := slices.Index(ids, v.EOS); i >= 0 {
			ids = ids[:i]
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return id == v.Pad || int(id) >= v.Size })
		text, err := decode(ids)
		if err != nil { // an id that the vocabulary has not: the text counts as wrong
			return ""
		}
		return strings.TrimSpace(string(text))
	}, nil
}

// taskMetrics are the metrics of a task as T5 has them: Matthews' correlation
// for CoLA, accuracy and F1 for MRPC and QQP, Pearson's and Spearman's
// correlation for STS-B, CIDEr for captions, accuracy for all others. A text
// that is no label counts as wrong; a correlation that is not defined as 0.
func taskMetrics(task string, texts []string, references [][]string) ([]trainer.Measured, error) {
	switch strings.TrimPrefix(strings.ReplaceAll(task, "-", ""), "glue/") {
	case "cola":
		return []trainer.Measured{{Name: "matthews", Value: labels(texts, references, "unacceptable", "acceptable").Matthews()}}, nil
	case "mrpc":
		return accuracyAndF1(texts, references, "not_equivalent", "equivalent"), nil
	case "qqp":
		return accuracyAndF1(texts, references, "not_duplicate", "duplicate"), nil
	case "stsb":
		return correlations(texts, references)
	case "caption":
		v, err := ciderOf(texts, references)
		return []trainer.Measured{{Name: "cider", Value: v}}, err
	}
	return []trainer.Measured{{Name: "accuracy", Value: exact(texts, references)}}, nil
}

// exact is the share of texts that equal one of their references.
func exact(texts []string, references [][]string) float64 {
	right := 0
	for i, t := range texts {
		if slices.Contains(references[i], t) {
			right++
		}
	}
	return float64(right) / float64(max(len(texts), 1))
}

// labels counts the pairs of two labels; any other text is a third one.
func labels(texts []string, references [][]string, names ...string) *classify.Confusion {
	c := classify.NewConfusion(len(names) + 1)
	number := func(s string) int {
		if i := slices.Index(names, s); i >= 0 {
			return i
		}
		return len(names)
	}
	for i, t := range texts {
		c.Add(number(references[i][0]), number(t))
	}
	return c
}

// accuracyAndF1 takes a text that is no label for the opposite of its
// reference.
func accuracyAndF1(texts []string, references [][]string, negative, positive string) []trainer.Measured {
	valid := slices.Clone(texts)
	for i, t := range valid {
		if t != negative && t != positive {
			if valid[i] = negative; references[i][0] == negative {
				valid[i] = positive
			}
		}
	}
	return []trainer.Measured{
		{Name: "accuracy", Value: exact(texts, references)},
		{Name: "f1", Value: labels(valid, references, negative, positive).Label(1).F},
	}
}

// correlations compares numbers; a text that is none is -1.
func correlations(texts []string, references [][]string) ([]trainer.Measured, error) {
	var x, y []float64
	for i, t := range texts {
		want, err := strconv.ParseFloat(references[i][0], 64)
		if err != nil {
			return nil, fmt.Errorf("reference %q is no number", references[i][0])
		}
		got, err := strconv.ParseFloat(t, 64)
		if err != nil || math.IsNaN(got) || math.IsInf(got, 0) {
			got = -1
		}
		x, y = append(x, got), append(y, want)
	}
	pearson, err := classify.Pearson(x, y)
	if err != nil {
		return nil, err
	}
	defined := func(v float64) float64 {
		if math.IsNaN(v) {
			return 0
		}
		return v
	}
	return []trainer.Measured{{Name: "pearson", Value: defined(pearson)}, {Name: "spearman", Value: defined(classify.Spearman(x, y))}}, nil
}
