package trainer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/trainer/feed"
)

// Mixture says how much of the updates each task gets, and how often its examples
// are gone through, for plan to print. A split belongs to the task of the same
// place in a matrix, or to the only one; if that cannot be told, nothing is known.
func (s *Tune) Mixture(inputs map[string]*store.Manifest) []pipeline.Share {
	var out []pipeline.Share
	var splits []string
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		m := inputs[name]
		switch {
		case slices.Contains(notTasks, name):
			continue
		case m.Kind == "preprocess/split":
			splits = append(splits, name)
			continue
		}
		n := int64(0)
		for _, e := range m.Shards(s.Split) {
			n += e.Rows
		}
		out = append(out, pipeline.Share{Input: name, Examples: n})
	}
	for _, name := range splits {
		at := 0
		if len(out) != 1 {
			at = slices.IndexFunc(out, func(x pipeline.Share) bool { return placeIn(x.Input) != "" && placeIn(x.Input) == placeIn(name) })
		}
		if at < 0 || at >= len(out) {
			return nil
		}
		// A split that says nothing of the rows to train on leaves them all.
		if n, err := strconv.ParseInt(inputs[name].Notes["rows_"+s.Split], 10, 64); err == nil {
			out[at].Examples = n
		}
	}
	examples := make([]int64, len(out))
	for i, x := range out {
		examples[i] = x.Examples
	}
	mix := feed.Mix{Temperature: s.Mix.Temperature, Cap: s.Mix.Cap}
	shares, epochs := mix.Shares(examples), mix.Epochs(examples, s.Steps, int64(s.Batch.Examples))
	for i := range out {
		out[i].Share, out[i].Epochs = shares[i], epochs[i]
	}
	return out
}

// placeIn is the place of an input in a matrix, such as "[task=cola]".
func placeIn(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 {
		return name[i:]
	}
	return ""
}
