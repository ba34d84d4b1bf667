package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"espalier/evaluate/classify"
	"espalier/evaluate/pytext"
	"espalier/evaluate/squad"
	"espalier/evaluate/stats"
)

// A board is a benchmark of several tasks in one file: an id is TASK/ID.
type board struct {
	name  string
	what  string
	tasks []boardTask
}

// A boardTask is a task's metrics. Tasks that share a line count as one.
type boardTask struct {
	names  []string // in ids, the first in values
	line   string   // of the board
	values []string
	score  func(b *boardRun, places []int, values []float64)
}

var glueBoard = board{"glue", "GLUE", []boardTask{
	{[]string{"cola"}, "cola", []string{"matthews"}, (*boardRun).matthews},
	{[]string{"sst2"}, "sst2", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"mrpc"}, "mrpc", []string{"accuracy", "f1"}, (*boardRun).accuracyF1},
	{[]string{"stsb"}, "stsb", []string{"pearson", "spearman"}, (*boardRun).correlations},
	{[]string{"qqp"}, "qqp", []string{"accuracy", "f1"}, (*boardRun).accuracyF1},
	{[]string{"mnli", "mnlim", "mnlimatched"}, "mnli", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"mnlimm", "mnlimismatched"}, "mnli", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"qnli"}, "qnli", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"rte"}, "rte", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"wnli"}, "wnli", []string{"accuracy"}, (*boardRun).accuracy},
}}

var superGLUEBoard = board{"superglue", "SuperGLUE", []boardTask{
	{[]string{"boolq"}, "boolq", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"cb"}, "cb", []string{"accuracy", "f1"}, (*boardRun).accuracyMacro},
	{[]string{"copa"}, "copa", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"multirc"}, "multirc", []string{"f1a", "em"}, (*boardRun).multiRC},
	{[]string{"record"}, "record", []string{"f1", "em"}, (*boardRun).record},
	{[]string{"rte"}, "rte", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"wic"}, "wic", []string{"accuracy"}, (*boardRun).accuracy},
	{[]string{"wsc"}, "wsc", []string{"accuracy"}, (*boardRun).accuracy},
}}

// newBoard gives each task's metrics and their average: over tasks, each the
// mean of its metrics (the leaderboards), or over all values (HyperFormer,
// HyperPELT).
func newBoard(b board) func(*spec, *Request) (family, error) {
	return func(s *spec, _ *Request) (family, error) {
		average := s.choice("average", "tasks", "values")
		form := "labels"
		if b.name == "glue" {
			form = s.choice("form", "labels", "t5")
		}
		f := &setFamily{cut: stripped, what: fmt.Sprintf("%s leaderboard|average:%s|no number counts 0", b.what, average)}
		cb := ""
		if b.name == "superglue" {
			if cb = s.choice("cb", "present", "fixed"); cb == "fixed" {
				f.what += "|cb: three classes"
			}
		}
		if form == "t5" {
			f.what += "|T5's words: no number is -1, no label the wrong one"
		}
		f.open = func(_ context.Context, c *corpus) (func() stats.Places, error) {
			run := &boardRun{corpus: c, fixed: cb == "fixed", words: form == "t5"}
			if err := run.sort(b); err != nil {
				return nil, err
			}
			f.values = []string{b.name}
			for _, t := range run.present {
				for _, v := range b.tasks[t].values {
					f.values = append(f.values, strings.Join([]string{b.name, b.tasks[t].names[0], v}, "-"))
				}
			}
			return func() stats.Places {
				return func(places []int, values []float64) { run.scores(b, average == "values", places, values) }
			}, nil
		}
		return f, nil
	}
}

// A boardRun is a corpus by task.
type boardRun struct {
	corpus  *corpus
	fixed   bool
	words   bool  // labels are words and texts may be no label, as T5 writes them
	task    []int // of every example
	present []int // tasks that have examples, in the board's order
}

// sort finds the task of every example.
func (r *boardRun) sort(b board) error {
	number := make(map[string]int)
	var known []string
	for k, t := range b.tasks {
		for _, n := range t.names {
			number[n] = k
		}
		known = append(known, t.names[0])
	}
	seen := make([]bool, len(b.tasks))
	r.task = make([]int, r.corpus.n())
	for i, id := range r.corpus.IDs {
		name, _, ok := strings.Cut(strings.TrimPrefix(id, b.name+"/"), "/") // ids of examples begin with the corpus
		k, is := number[strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))]
		if !ok || !is {
			return r.corpus.refuseReference(i, "want ids TASK/ID, where TASK is one of %s", strings.Join(known, ", "))
		}
		if len(r.corpus.References[i]) != 1 && known[k] != "record" {
			return r.corpus.oneLabel(i)
		}
		r.task[i], seen[k] = k, true
	}
	for k, ok := range seen {
		if ok {
			r.present = append(r.present, k)
		}
	}
	for _, k := range r.present {
		if known[k] != "stsb" {
			continue
		}
		for i, t := range r.task {
			if _, _, err := r.numbers(i); t == k && err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers returns an example's prediction and reference as numbers.
func (r *boardRun) numbers(i int) (x, y float64, err error) {
	c := r.corpus
	x, err = finite(c.Predictions[i])
	if r.words && err != nil {
		x, err = -1, nil
	}
	if err != nil {
		return 0, 0, c.refusePrediction(i, "%q is no number", c.Predictions[i])
	}
	if y, err = finite(c.References[i][0]); err != nil {
		return 0, 0, c.refuseReference(i, "%q is no number", c.References[i][0])
	}
	return x, y, nil
}

func (r *boardRun) scores(b board, byValue bool, places []int, values []float64) {
	of := make([][]int, len(b.tasks))
	for _, i := range places {
		of[r.task[i]] = append(of[r.task[i]], i)
	}
	at := 1
	var all []float64
	lines := make(map[string][]float64)
	var order []string
	for _, k := range r.present {
		t := b.tasks[k]
		v := values[at : at+len(t.values)]
		at += len(t.values)
		fillNaN(v)
		if len(of[k]) > 0 { // a resample may have left the task out
			t.score(r, of[k], v)
		}
		sum := 0.0
		for _, x := range v {
			if math.IsNaN(x) {
				x = 0
			}
			all = append(all, x)
			sum += x
		}
		if lines[t.line] == nil {
			order = append(order, t.line)
		}
		lines[t.line] = append(lines[t.line], sum/float64(len(v)))
	}
	if !byValue {
		all = all[:0]
		for _, l := range order {
			all = append(all, mean(lines[l]))
		}
	}
	values[0] = mean(all)
}

func fillNaN(v []float64) {
	for k := range v {
		v[k] = math.NaN()
	}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// confusion counts pairs of labels.
func (r *boardRun) confusion(places []int) (c *classify.Confusion, labels []string) {
	gold, pred := make([]string, len(places)), make([]string, len(places))
	for k, i := range places {
		gold[k], pred[k] = pytext.Strip(r.corpus.References[i][0]), pytext.Strip(r.corpus.Predictions[i])
	}
	labels = slices.Compact(slices.Sorted(slices.Values(slices.Concat(gold, pred))))
	c = classify.NewConfusion(len(labels))
	for k := range gold {
		g, _ := slices.BinarySearch(labels, gold[k])
		p, _ := slices.BinarySearch(labels, pred[k])
		c.Add(g, p)
	}
	return c, labels
}

func (r *boardRun) accuracy(places []int, values []float64) {
	c, _ := r.confusion(places)
	values[0] = c.Accuracy()
}

func (r *boardRun) matthews(places []int, values []float64) {
	c, _ := r.confusion(places)
	values[0] = c.Matthews()
}

func (r *boardRun) accuracyF1(places []int, values []float64) {
	c, labels := r.confusion(places)
	values[0], values[1] = c.Accuracy(), 0
	if r.words {
		values[1] = r.wordsF1(places)
	} else if i := slices.Index(labels, "1"); i >= 0 {
		values[1] = c.Label(i).F
	}
}

// wordsF1 is the F1 of "equivalent" or "duplicate"; a text that is neither that
// nor its opposite counts as the opposite of the reference.
func (r *boardRun) wordsF1(places []int) float64 {
	c := classify.NewConfusion(2)
	class := map[string]int{"not_equivalent": 0, "not_duplicate": 0, "equivalent": 1, "duplicate": 1}
	for _, i := range places {
		gold := class[pytext.Strip(r.corpus.References[i][0])]
		text := pytext.Strip(r.corpus.Predictions[i])
		predicted, ok := class[text]
		if !ok {
			predicted = 1 - gold
		}
		c.Add(gold, predicted)
	}
	return c.Label(1).F
}

func (r *boardRun) accuracyMacro(places []int, values []float64) {
	c, labels := r.confusion(places)
	values[0], values[1] = c.Accuracy(), c.Macro(false)
	if r.fixed {
		sum := 0.0
		for i := range labels {
			sum += c.Label(i).F
		}
		values[1] = sum / 3
	}
}

func (r *boardRun) correlations(places []int, values []float64) {
	x, y := make([]float64, len(places)), make([]float64, len(places))
	for k, i := range places {
		x[k], y[k], _ = r.numbers(i) // sort has seen that they are
	}
	if v, err := classify.Pearson(x, y); err == nil {
		values[0] = v
	}
	values[1] = classify.Spearman(x, y)
}

func (r *boardRun) multiRC(places []int, values []float64) {
	var m squad.MultiRC
	for _, i := range places {
		question, err := r.corpus.question(i)
		if err != nil {
			question = r.corpus.IDs[i]
		}
		m.Add(question, isTrue(r.corpus.References[i][0]), isTrue(r.corpus.Predictions[i]))
	}
	em, _, f1a := m.Scores()
	values[0], values[1] = f1a, em
}

func (r *boardRun) record(places []int, values []float64) {
	values[0], values[1] = 0, 0
	for _, i := range places {
		em, f := squad.V1(r.corpus.Predictions[i], r.corpus.References[i])
		values[0] += f
		values[1] += em
	}
	values[0] /= float64(len(places))
	values[1] /= float64(len(places))
}
