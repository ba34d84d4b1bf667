package evaluate

import "espalier/evaluate/input"

// A corpus is what a set of metrics scores, with what several of them need of
// it: texts as numbers of words, made once for each way to tokenise.
type corpus struct {
	*input.Joined
	attributes []string // their names
	predFile   string
	pred       input.Source // where predictions were read, for messages; no path if nowhere
	alone      bool         // predictions without references
	workers    int
	cut        map[string]*cutTexts
	digest     bool // digests of the PTB tokens are wanted
	kept       map[family]*keptRows
}

// n is the number of examples.
func (c *corpus) n() int { return len(c.Predictions) }
