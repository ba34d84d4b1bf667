package trainer

import (
	"encoding/json"
	"fmt"
	"maps"

	"espalier/pipeline/score"
	"espalier/pipeline/store"
	"espalier/trainer/ckpt"
)

// sizes are the points that say how large the model is: trained values, their
// share of the backbone in percent, for all tasks and for one, the whole beside
// the backbone, and the bytes of the trained tensors in a file.
func (r *tuning) sizes(step int64) []textPoint {
	trained, size, tasks := float64(r.info.Trained), float64(r.info.Size), float64(len(r.info.Tasks))
	norms := 0
	for _, n := range r.model.Layout().Norms {
		if p := r.model.Params().Get(n.Path + ".weight"); p != nil && !p.Frozen {
			norms += p.Len()
		}
	}
	point := func(metric string, v float64) textPoint {
		return textPoint{Step: step, Phase: phaseModel, Metric: metric, Value: v, N: 1}
	}
	return []textPoint{
		point("trained-parameters", trained),
		point("trained-parameters-without-norms", trained-float64(norms)),
		point("trained-percent", 100*trained/size),
		point("trained-percent-per-task", 100*trained/size/tasks),
		point("total-ratio", r.total()),
		point("adapter-bytes", 4*trained),
	}
}

// total is the size of the model for all tasks, the backbone counted once where
// it is not itself trained, over that of the backbone.
func (r *tuning) total() float64 {
	added := 0
	for _, p := range r.model.Params().All() {
		if !p.Frozen {
			added += p.Len()
		}
	}
	if added >= r.info.Size { // all of the backbone is trained: it is not kept beside
		return float64(added) / float64(r.info.Size)
	}
	return 1 + float64(added)/float64(r.info.Size)
}

// publish writes the checkpoint and the curve.
func (r *tuning) publish() error {
	result := Result{Step: r.st.Step, Steps: r.st.Step, Missing: r.missing}
	best := map[string]ckpt.Tensor{}
	if r.st.Best != nil {
		result.Step, result.Metric, result.Validation = r.st.Best.Step, r.stage.Validate.Metric, &r.st.Best.Value
		for _, b := range r.best {
			best[b.Name] = b
		}
	}
	var weights []ckpt.Tensor
	for _, p := range r.model.Params().All() {
		if p.Bound() {
			continue
		}
		if b, ok := best[p.Path]; ok {
			weights = append(weights, b)
		} else {
			weights = append(weights, ckpt.Of(r.dev, p.Path, p.Value))
		}
	}
	last, n := 0.0, 0
	for _, p := range r.st.Curve {
		if p.Metric == lossMetric && p.Step == r.st.Curve[len(r.st.Curve)-1].Step {
			last, n = last+p.Value, n+1
		}
	}
	result.Loss = last / float64(max(n, 1))
	if err := writeCheckpoint(r.t.Out, TextKind, r.info, result, weights); err != nil {
		return err
	}
	if err := r.copyVocab(); err != nil {
		return err
	}
	r.t.Out.Note("trained", fmt.Sprint(r.info.Trained))
	r.t.Out.Note("step", fmt.Sprint(result.Step))
	r.t.Out.Note("steps", fmt.Sprint(result.Steps))
	if r.missing > 0 {
		r.t.Out.Note("missing_features", fmt.Sprint(r.missing))
	}
	return writeRows(r.t.Out, "curve.parquet", score.Schema, r.rows(result.Step))
}

// writeCheckpoint writes the two files of a checkpoint.
func writeCheckpoint(w *store.Writer, kind string, info, result any, weights []ckpt.Tensor) error {
	out, err := w.Create(ckpt.WeightsFile, "safetensors")
	if err != nil {
		return err
	}
	c := ckpt.Checkpoint{Model: kind}
	if c.Weights, err = ckpt.WriteWeights(out, weights); err != nil {
		return err
	}
	if err := out.Close(0); err != nil {
		return err
	}
	if c.Config, err = json.Marshal(info); err != nil {
		return err
	}
	if c.State, err = json.Marshal(result); err != nil {
		return err
	}
	text, err := c.Encode()
	if err != nil {
		return err
	}
	return writeFile(w, ckpt.ConfigFile, text)
}

// copyVocab copies the vocabulary's files, so that a checkpoint and its backbone
// are enough to answer a text.
func (r *tuning) copyVocab() error {
	in := r.t.In["vocab"]
	if in == nil || r.stage.Validate.Metric == NoMetric {
		return nil
	}
	files := listed{in, ""}
	for _, name := range files.Names() {
		text, err := readFile(files, name)
		if err != nil {
			return err
		}
		if err := writeFile(r.t.Out, vocabFolder+"/"+name, text); err != nil {
			return err
		}
	}
	return nil
}

// rows gives the curve and the sizes as score rows.
func (r *tuning) rows(best int64) []score.Row {
	corpora := map[string]string{}
	for _, t := range r.tasks {
		corpora[t.name] = t.corpus
	}
	var out []score.Row
	for _, p := range append(r.sizes(best), r.st.Curve...) {
		row := score.Row{
			Metric: p.Metric, Corpus: corpora[p.Task], Task: p.Task, Split: r.stage.Split, Value: p.Value, N: p.N, Step: &p.Step,
			Tags: maps.Clone(r.stage.Tags),
		}
		if row.Tags == nil {
			row.Tags = map[string]string{}
		}
		row.Tags["phase"] = p.Phase
		if p.Phase == phaseValidation {
			row.Variant, row.Split = r.stage.Validate.Metric, r.stage.Validate.Split
		}
		out = append(out, row)
	}
	return out
}
