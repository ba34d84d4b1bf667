package input

import (
	"fmt"
	"slices"
	"strings"

	"espalier/pipeline"
)

// Missing says what to do with references that have no prediction.
type Missing string

// Values of Missing. Ignore scores what was predicted, and warns.
const (
	Ignore        Missing = "ignore"
	Empty         Missing = "empty" // the prediction is an empty text
	RefuseMissing Missing = "refuse"
)

// A Joined is what is scored, in the order of the references.
type Joined struct {
	IDs         []string
	Predictions []string
	References  [][]string
	Places      []Place    // of the references
	Attributes  [][]string // of the references, nil if the files have none
	Notes       [][]string // attributes of the predictions, nil if the file has none
	Unpredicted []string
}

// shown is how many ids a message names.
const shown = 5

// Join pairs predictions with references. Predictions without a reference are
// an error.
func Join(pred, refs *Set, missing Missing) (*Joined, error) {
	if pred.ByLine != refs.ByLine {
		lines, what := pred, "predictions"
		if refs.ByLine {
			lines, what = refs, "references"
		}
		return nil, &pipeline.RefusedError{File: lines.file(), Offset: -1, Reason: fmt.Sprintf("predictions are read as %s and references as %s: line numbers and ids do not join%s", pred.layout, refs.layout, lines.guess(what))}
	}
	var stray []string
	for i, id := range pred.IDs {
		if j, ok := refs.Find(id); !ok || refs.Texts[j] == nil {
			stray = append(stray, id)
			if len(stray) == 1 {
				stray[0] = id + " (" + pred.Places[i].String() + ")"
			}
		}
	}
	if len(stray) > 0 {
		p := pred.Places[0]
		reason := fmt.Sprintf("%d of %d predictions have no reference: %s", len(stray), len(pred.IDs), some(stray))
		if len(stray) == len(pred.IDs) && len(refs.IDs) > 0 {
			reason += fmt.Sprintf("; ids of the references look like %s", refs.IDs[0])
		}
		return nil, &pipeline.RefusedError{File: p.File, Offset: -1, Reason: reason}
	}
	if out := aligned(pred, refs); out != nil {
		return out, nil
	}
	out := &Joined{}
	for i, id := range refs.IDs {
		if refs.Texts[i] == nil {
			continue
		}
		text := ""
		j, ok := pred.Find(id)
		if ok {
			text = pred.Texts[j][0]
		} else {
			out.Unpredicted = append(out.Unpredicted, id)
			if missing != Empty {
				continue
			}
		}
		out.IDs = append(out.IDs, id)
		out.Predictions = append(out.Predictions, text)
		out.References = append(out.References, refs.Texts[i])
		out.Places = append(out.Places, refs.Places[i])
		if refs.Attributes != nil {
			out.Attributes = append(out.Attributes, refs.attributes(i))
		}
		if pred.Attributes != nil {
			var notes []string
			if ok {
				notes = pred.attributes(j)
			}
			out.Notes = append(out.Notes, notes)
		}
	}
	if missing == RefuseMissing && len(out.Unpredicted) > 0 {
		return nil, &pipeline.RefusedError{
			File: refs.Places[0].File, Offset: -1,
			Reason: fmt.Sprintf("%d of %d references have no prediction: %s", len(out.Unpredicted), len(refs.IDs), some(out.Unpredicted)),
		}
	}
	if len(out.IDs) == 0 {
		return nil, fmt.Errorf("nothing to score: %d predictions, %d references", len(pred.IDs), len(refs.IDs))
	}
	return out, nil
}

// file names the set's first file.
func (s *Set) file() string {
	if len(s.Places) == 0 {
		return "-"
	}
	return s.Places[0].File
}

// guess says what lines of text could be instead.
func (s *Set) guess(what string) string {
	if len(s.Texts) == 0 || len(s.Texts[0]) == 0 {
		return ""
	}
	switch text := s.Texts[0][0]; {
	case strings.Contains(text, "\t"):
		return fmt.Sprintf("; the %s have tabs: as columns id and text they need a first line that names them, or a name that ends in .tsv", what)
	case strings.HasPrefix(text, "{"):
		return fmt.Sprintf("; the first of the %s looks like JSON that is cut or has more than one object a line", what)
	}
	return fmt.Sprintf("; give the %s ids, as JSON lines {\"id\": .., \"text\": ..} or columns", what)
}

// aligned joins sets of the same ids in the same order, whose memory it takes
// over; nil for others.
func aligned(pred, refs *Set) *Joined {
	if !slices.Equal(pred.IDs, refs.IDs) || len(refs.IDs) == 0 || slices.ContainsFunc(refs.Texts, func(t []string) bool { return t == nil }) {
		return nil
	}
	out := &Joined{IDs: refs.IDs, Predictions: make([]string, len(pred.IDs)), References: refs.Texts, Places: refs.Places}
	for i, t := range pred.Texts {
		out.Predictions[i] = t[0]
	}
	if refs.Attributes != nil {
		out.Attributes = append(refs.Attributes, make([][]string, len(refs.IDs)-len(refs.Attributes))...)
	}
	if pred.Attributes != nil {
		out.Notes = append(pred.Attributes, make([][]string, len(pred.IDs)-len(pred.Attributes))...)
	}
	return out
}

// Alone is what is scored without references.
func Alone(pred *Set) *Joined {
	out := &Joined{IDs: pred.IDs, Places: pred.Places, References: make([][]string, len(pred.IDs))}
	for _, t := range pred.Texts {
		out.Predictions = append(out.Predictions, t[0])
	}
	return out
}

// Unscored words what Unpredicted holds, "" if nothing.
func (j *Joined) Unscored() string {
	if len(j.Unpredicted) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the references' ids have no prediction: %s", len(j.Unpredicted), some(j.Unpredicted))
}

func some(ids []string) string {
	s := strings.Join(ids[:min(shown, len(ids))], ", ")
	if len(ids) > shown {
		s += ", ..."
	}
	return s
}
