// Package errant compares edits of a system with gold edits as ERRANT 3.0.2's
// errant_compare does (Bryant et al. 2017). Edits come from M2 files; finding
// and typing them is not done here.
//
// All functions are safe for concurrent use; a Chooser is not.
package errant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"espalier/evaluate/pytext"
)

// Mode says what makes two edits equal.
type Mode uint8

// Modes.
const (
	SpanCorrection  Mode = iota // span and correction, the default
	SpanDetection               // span
	TokenDetection              // every source token of the span; an insertion is the token to its right
	TypedCorrection             // span, correction and type
)

// Options are the variants.
type Options struct {
	Mode   Mode
	Beta   float64  // the tool's default is 0.5
	Single bool     // only edits of at most one token on either side
	Multi  bool     // only the others
	Skip   []string // types left out
	// Chinese compares as ChERRANT does: blanks within a correction do not
	// count, and a sentence whose one annotator could not correct it is left out.
	Chinese bool
}

// An Edit is a line A of an M2 file.
type Edit struct {
	Start, End       int
	Type, Correction string
	Annotator        int
}

// ParseBlock reads the edits of one block of an M2 file.
func ParseBlock(block string) ([]Edit, error) {
	var out []Edit
	for n, line := range strings.Split(strings.Trim(block, "\n"), "\n") {
		if n == 0 {
			continue // the source
		}
		if line = strings.TrimSuffix(line, "\r"); line == "" || line[0] == 'T' {
			continue // ChERRANT's line with the target
		}
		if len(line) < 2 || line[0] != 'A' {
			return nil, &LineError{n + 1, fmt.Sprintf("%.40q is no edit", line)}
		}
		fields := strings.Split(line[2:], "|||")
		span := pytext.Fields(fields[0])
		if len(fields) < 6 || len(span) != 2 {
			return nil, &LineError{n + 1, "want A START END|||TYPE|||CORRECTION|||...|||ANNOTATOR"}
		}
		e := Edit{Type: fields[1], Correction: fields[2]}
		for _, x := range []struct {
			text string
			to   *int
		}{{span[0], &e.Start}, {span[1], &e.End}, {strings.TrimSpace(fields[len(fields)-1]), &e.Annotator}} {
			var err error
			if *x.to, err = strconv.Atoi(x.text); err != nil {
				return nil, &LineError{n + 1, fmt.Sprintf("%q is no number", x.text)}
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// A LineError says which line of a block cannot be read.
type LineError struct {
	Line   int
	Reason string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// A key is what is compared of an edit.
type key struct {
	start, end      int
	typ, correction string
}

// An edits is one annotator's: types by key, in the order of the keys' first
// occurrence.
type edits struct {
	keys  []key
	types map[key][]string
}

func (e *edits) add(k key, typ string) {
	if _, ok := e.types[k]; !ok {
		e.keys = append(e.keys, k)
	}
	e.types[k] = append(e.types[k], typ)
}

// Types that say more than how an edit changes the text.
const (
	noop       = "noop" // there is none
	impossible = "NA"   // the sentence cannot be corrected (ChERRANT)
	unknown    = "UNK"  // the correction is not known
)

// annotators sorts edits by annotator, in the order of their first edit.
func (o *Options) annotators(list []Edit) []*edits {
	var out []*edits
	by := make(map[int]*edits)
	if len(list) == 0 {
		list = []Edit{{Start: -1, End: -1, Type: noop, Correction: "-NONE-"}}
	}
	for _, e := range list {
		if o.Chinese {
			e.Correction = strings.ReplaceAll(e.Correction, " ", "")
		}
		a := by[e.Annotator]
		if a == nil {
			a = &edits{types: make(map[key][]string)}
			by[e.Annotator] = a
			out = append(out, a)
		}
		detection := o.Mode == SpanDetection || o.Mode == TokenDetection
		words := len(pytext.Fields(e.Correction))
		switch {
		case e.Type == unknown && !detection,
			o.Single && (e.End-e.Start >= 2 || words >= 2),
			o.Multi && e.End-e.Start < 2 && words < 2,
			slices.Contains(o.Skip, e.Type):
			continue
		}
		switch o.Mode {
		case TokenDetection:
			switch {
			case e.Start == -1:
				a.add(key{start: -1, end: -1}, e.Type)
			case e.Start == e.End:
				a.add(key{start: e.Start, end: e.Start + 1}, e.Type)
			default:
				for t := e.Start; t < e.End; t++ {
					a.add(key{start: t, end: t + 1}, e.Type)
				}
			}
		case SpanDetection:
			a.add(key{start: e.Start, end: e.End}, e.Type)
		case TypedCorrection:
			a.add(key{e.Start, e.End, e.Type, e.Correction}, e.Type)
		default:
			a.add(key{start: e.Start, end: e.End, correction: e.Correction}, e.Type)
		}
	}
	return out
}

// A Count is what one pair of annotators gives. Types has the same by type.
type Count struct {
	TP, FP, FN int
	Types      map[string][3]int
}

func (c *Count) add(typ string, what int) {
	switch what {
	case 0:
		c.TP++
	case 1:
		c.FP++
	default:
		c.FN++
	}
	t := c.Types[typ]
	t[what]++
	c.Types[typ] = t
}

func compare(hyp, ref *edits) Count {
	c := Count{Types: make(map[string][3]int)}
	for _, k := range hyp.keys {
		if hyp.types[k][0] == noop {
			continue
		}
		if gold, ok := ref.types[k]; ok {
			for _, t := range gold {
				c.add(t, 0)
			}
			continue
		}
		for _, t := range hyp.types[k] {
			c.add(t, 1)
		}
	}
	for _, k := range ref.keys {
		if ref.types[k][0] == noop {
			continue
		}
		if _, ok := hyp.types[k]; !ok {
			for _, t := range ref.types[k] {
				c.add(t, 2)
			}
		}
	}
	return c
}

// Category returns what the tool's tables by category call a type: its
// operation at level 1 (M, R, U), what follows at level 2 (nothing, of S), all at
// level 3 and of UNK.
func Category(typ string, level int) string {
	switch {
	case typ == unknown:
	case level == 1 && typ != "":
		return typ[:1]
	case level == 2:
		return typ[min(2, len(typ)):]
	}
	return typ
}

// F returns precision, recall and F of summed counts, each rounded to four
// decimals as the tool does: precision is 1 without false positives, recall
// without false negatives.
func F(tp, fp, fn int, beta float64) (p, r, f float64) {
	p, r = 1, 1
	if fp > 0 {
		p = float64(tp) / float64(tp+fp)
	}
	if fn > 0 {
		r = float64(tp) / float64(tp+fn)
	}
	if p+r > 0 {
		b := float64(beta * beta)
		f = float64(float64((1+b)*p)*r) / (float64(b*p) + r)
	}
	return round(p), round(r), round(f)
}

// round rounds to four decimals as Python's round does.
func round(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 4, 64), 64)
	return v
}

// A Chooser compares sentence by sentence, and of all pairs of a system's and
// a gold annotator takes the one with the best rounded F of all sentences so
// far and this one; then more true positives, then fewer false positives, then
// fewer false negatives, then the first.
type Chooser struct {
	Options Options
	Total   Count
}

// Add compares the edits of a sentence and returns the counts that were taken.
func (c *Chooser) Add(hyp, ref []Edit) Count {
	var best Count
	bestF := -1.0
	golds := c.Options.annotators(ref)
	if c.Options.Chinese && len(golds) == 1 && len(golds[0].keys) == 1 && golds[0].types[golds[0].keys[0]][0] == impossible {
		return best
	}
	for _, h := range c.Options.annotators(hyp) {
		for _, r := range golds {
			n := compare(h, r)
			_, _, f := F(n.TP+c.Total.TP, n.FP+c.Total.FP, n.FN+c.Total.FN, c.Options.Beta)
			if f > bestF || f == bestF && (n.TP > best.TP || n.TP == best.TP && (n.FP < best.FP || n.FP == best.FP && n.FN < best.FN)) {
				best, bestF = n, f
			}
		}
	}
	c.Total.TP += best.TP
	c.Total.FP += best.FP
	c.Total.FN += best.FN
	if c.Total.Types == nil {
		c.Total.Types = make(map[string][3]int)
	}
	for t, n := range best.Types {
		s := c.Total.Types[t]
		for k := range s {
			s[k] += n[k]
		}
		c.Total.Types[t] = s
	}
	return best
}
