package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"espalier/evaluate"
	"espalier/pipeline"
)

// A size says how much of a model was trained.
type size struct {
	Name, Trained, WithoutNorms, Percent, ATask, Total string
}

// sizes reads them from the inputs model[...], outputs of trainer/tune.
func sizes(ctx context.Context, t *pipeline.Task) ([]size, error) {
	var names []string
	for name := range t.In {
		if strings.HasPrefix(name, modelInput+"[") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []size
	for _, name := range names {
		rows, err := evaluate.ReadScores(ctx, t.In[name], true)
		if err != nil {
			return nil, err
		}
		values := map[string]float64{}
		for _, r := range rows {
			if r.Tags["phase"] == "model" {
				values[r.Metric] = r.Value
			}
		}
		if len(values) == 0 {
			return nil, fmt.Errorf("evaluate/report: input %s says no sizes: want an output of trainer/tune", name)
		}
		percent := func(metric string) string { return fmt.Sprintf("%.3g %%", values[metric]) }
		out = append(out, size{
			Name:         axesOf(name),
			Trained:      grouped(int64(values["trained-parameters"])),
			WithoutNorms: grouped(int64(values["trained-parameters-without-norms"])),
			Percent:      percent("trained-percent"),
			ATask:        percent("trained-percent-per-task"),
			Total:        fmt.Sprintf("%.4gx", values["total-ratio"]),
		})
	}
	return out, nil
}
