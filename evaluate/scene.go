package evaluate

import (
	"math"
	"strings"

	"espalier/evaluate/meteor"
	"espalier/evaluate/spice"
)

// newSPICE compares the tuples of scene graphs that the files give. With
// METEOR's tables words match by their synsets too, as in SPICE.
func newSPICE(_ *spec, r *Request) (family, error) {
	d, err := meteor.Load(r.MeteorData)
	if err != nil {
		return nil, err
	}
	m, what := &spice.Matcher{}, "spice-1.0|tuples given|synsets:no"
	if d.HasSynsets() {
		m.Senses, what = d.Senses, "spice-1.0|tuples given|synsets:meteor"
	}
	return &groupFamily{
		parts: []string{"", "-p", "-r"}, what: what, scale: 1, empty: math.NaN(), cut: func(text string) []string {
			list, err := spice.Parse(text)
			if err != nil {
				return []string{text}
			}
			var out []string
			for _, t := range list {
				out = append(out, strings.Join(t, " "))
			}
			return out
		},
		open: func(c *corpus) ([]string, func(int, []float64, []bool), error) {
			preds, refs := make([][]spice.Tuple, c.n()), make([][]spice.Tuple, c.n())
			for i, text := range c.Predictions {
				var err error
				if preds[i], err = spice.Parse(text); err != nil {
					return nil, nil, c.refusePrediction(i, "%v", err)
				}
				for _, text := range c.References[i] {
					list, err := spice.Parse(text)
					if err != nil {
						return nil, nil, c.refuseReference(i, "%v", err)
					}
					refs[i] = append(refs[i], list...)
				}
				if len(c.References[i]) > 1 {
					refs[i] = spice.Distinct(refs[i])
				}
			}
			labels := []string{"spice"}
			for _, name := range spice.Names[1:] {
				labels = append(labels, "spice-"+name)
			}
			return labels, func(i int, scores []float64, in []bool) {
				for k, s := range m.Compare(preds[i], refs[i]) {
					if in[k] = !math.IsNaN(s.F); in[k] {
						scores[3*k], scores[3*k+1], scores[3*k+2] = s.F, s.P, s.R
					}
				}
			}, nil
		},
	}, nil
}
