package trainer

import (
	"context"
	"errors"
	"fmt"

	"espalier/preprocess/split"
	"espalier/tokenize/tokens"
	"espalier/trainer/ckpt"
	"espalier/trainer/decode"
)

// A textValidation is what is generated and scored.
type textValidation struct {
	generator *Generator
	measure   Metrics
	tasks     []validationTask
}

type validationTask struct {
	sources    []source
	references [][]string
}

// openValidation reads the validation splits of all tasks.
func (r *tuning) openValidation() (*textValidation, error) {
	s := r.stage.Validate
	v := &textValidation{measure: r.stage.tools.Metrics[s.Metric]}
	open := r.stage.tools.Texts[s.Text]
	if v.measure == nil || open == nil {
		return nil, fmt.Errorf("validate: no metric %q or no detokenizer %q", s.Metric, s.Text)
	}
	in, err := input(r.t, "vocab")
	if err != nil {
		return nil, err
	}
	text, err := open(listed{in, ""}, r.info.Vocab)
	if err != nil {
		return nil, fmt.Errorf("input vocab: %w", err)
	}
	longest := r.info.MaxTarget
	for _, task := range r.tasks {
		x, n, err := r.readValidation(task, text)
		if err != nil {
			return nil, err
		}
		longest = max(longest, n)
		v.tasks = append(v.tasks, x)
	}
	g := decode.Generation{MaxNew: s.MaxNew}
	if g.MaxNew == 0 {
		g.MaxNew = longest
	}
	if v.generator, err = NewGenerator(r.model, g, text, r.index); err != nil {
		return nil, err
	}
	v.generator.Pool, v.generator.Cells = r.info.Pool, r.info.Cells
	return v, nil
}

// readValidation reads a task's validation split: an example a source, the
// texts of its targets as references. With a limit those examples are taken
// whose ids have the smallest hashes under the stage's seed.
func (r *tuning) readValidation(task textTask, text Detokenizer) (v validationTask, longest int, err error) {
	name, limit, x := r.stage.Validate.Split, r.stage.Validate.Limit, r.index
	var files closer
	defer func() { err = errors.Join(err, files.Close()) }()
	chosen, err := r.members.choose(task.in, name)
	if err != nil {
		return v, 0, fmt.Errorf("task %s: %w", task.name, err)
	}
	shards, err := openShards[tokens.Row](task.in, chosen.files, &files)
	if err != nil {
		return v, 0, err
	}
	usable := func(row *tokens.Row) bool {
		if len(row.Input) == 0 || len(row.Target) == 0 || chosen.keep != nil && !chosen.keep(row.ID) {
			return false
		}
		if x == nil {
			return true
		}
		_, _, ok := x.Find(row.Image)
		return ok
	}
	each := func(f func(row *tokens.Row)) error {
		for _, s := range shards {
			for row, err := range s.All() {
				if err != nil {
					return fmt.Errorf("input %s: %w", task.in.Name, err)
				}
				if usable(&row) {
					f(&row)
				}
			}
		}
		return nil
	}
	drawn := map[string]bool{}
	if limit > 0 {
		draw, last := split.NewDraw(limit), ""
		err := each(func(row *tokens.Row) {
			if row.ID != last {
				draw.Add(split.Row{ID: row.ID, Key: split.Key(*r.stage.Seed, row.ID)})
			}
			last = row.ID
		})
		if err != nil {
			return v, 0, err
		}
		for _, row := range draw.Rows() {
			drawn[row.ID] = true
		}
	}
	err = each(func(row *tokens.Row) {
		if limit > 0 && !drawn[row.ID] {
			return
		}
		longest = max(longest, len(row.Target))
		if n := len(v.sources); n > 0 && row.ID == v.sources[n-1].id {
			v.references[n-1] = append(v.references[n-1], text(row.Target))
			return
		}
		v.sources = append(v.sources, source{id: row.ID, image: row.Image, input: row.Input})
		v.references = append(v.references, []string{text(row.Target)})
	})
	if err == nil && len(v.sources) == 0 {
		err = fmt.Errorf("task %s: split %s has no rows to validate on", task.name, name)
	}
	return v, longest, err
}

// due reports whether the present weights are to be validated.
func (r *tuning) due() bool {
	return r.val != nil && r.st.Step > r.st.Validated && (r.st.Step%r.stage.Validate.Every == 0 || r.st.Step == r.stage.Steps)
}

// validate scores the present weights and keeps them if they are the best.
func (r *tuning) validate(ctx context.Context) error {
	sum, count, examples := 0.0, 0, int64(0)
	for i := range r.val.tasks {
		x, name := &r.val.tasks[i], r.info.Tasks[i]
		r.t.Meter.Note("validating " + name)
		texts := make([]string, len(x.sources))
		err := r.val.generator.Run(ctx, i, x.sources, func(i int, g []Generated) error {
			texts[i] = g[0].Text
			return nil
		})
		if err != nil {
			return fmt.Errorf("validate at step %d: task %s: %w", r.st.Step, name, err)
		}
		values, err := r.val.measure(name, texts, x.references)
		if err != nil {
			return fmt.Errorf("validate at step %d: task %s: %w", r.st.Step, name, err)
		}
		for _, m := range values {
			r.st.Curve = append(r.st.Curve, textPoint{Step: r.st.Step, Task: name, Phase: phaseValidation, Metric: m.Name, Value: m.Value, N: int64(len(texts))})
			sum += m.Value
			count++
		}
		examples += int64(len(texts))
	}
	p := textPoint{Step: r.st.Step, Phase: phaseValidation, Metric: meanMetric, Value: sum / float64(max(count, 1)), N: examples}
	r.st.Curve = append(r.st.Curve, p)
	r.st.Validated = r.st.Step
	r.st.Stale++
	r.t.Log.Info("validated", "step", p.Step, "mean", p.Value)
	if r.st.Best == nil || p.Value > r.st.Best.Value {
		r.st.Best, r.st.Stale = &p, 0
		r.best = r.best[:0]
		for _, param := range r.trainedParams() {
			x := make([]float32, param.Len())
			r.dev.Read(x, param.Value)
			r.best = append(r.best, ckpt.Slice(param.Path, x, param.Shape...))
		}
	}
	return r.dev.Err()
}
