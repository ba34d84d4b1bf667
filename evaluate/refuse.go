package evaluate

import (
	"context"
	"fmt"

	"espalier/evaluate/input"
	"espalier/pipeline"
)

// refuseReference refuses the reference of example i.
func (c *corpus) refuseReference(i int, format string, args ...any) error {
	p := c.Places[i]
	return &pipeline.RefusedError{File: p.File, Line: p.Line, Offset: p.Offset, Reason: "id " + c.IDs[i] + ": " + fmt.Sprintf(format, args...)}
}

// refuseReferenceAt refuses line n of a reference that is a block of lines.
func (c *corpus) refuseReferenceAt(i, n int, reason string) error {
	return inBlock(c.Places[i], c.IDs[i], n, reason)
}

// refusePrediction refuses the prediction of example i.
func (c *corpus) refusePrediction(i int, format string, args ...any) error {
	p := c.placeOf(i)
	return &pipeline.RefusedError{File: p.File, Line: p.Line, Offset: p.Offset, Reason: "id " + c.IDs[i] + ": " + fmt.Sprintf(format, args...)}
}

// refusePredictionAt is as refuseReferenceAt.
func (c *corpus) refusePredictionAt(i, n int, reason string) error {
	return inBlock(c.placeOf(i), c.IDs[i], n, reason)
}

func inBlock(p input.Place, id string, n int, reason string) error {
	if p.Line == 0 || p.Offset < 0 {
		reason = fmt.Sprintf("line %d of the block: %s", n, reason)
		return &pipeline.RefusedError{File: p.File, Line: p.Line, Offset: p.Offset, Reason: "id " + id + ": " + reason}
	}
	return &pipeline.RefusedError{File: p.File, Line: p.Line + int64(n) - 1, Offset: -1, Reason: reason}
}

// placeOf finds where a prediction stands. Places of predictions are not kept,
// as only messages want them: the file is read again.
func (c *corpus) placeOf(i int) input.Place {
	nowhere := input.Place{File: c.predFile, Offset: -1}
	if c.pred.Path == "" || c.pred.Path == "-" || i >= len(c.IDs) {
		return nowhere
	}
	var set *input.Set
	var err error
	if isPairs(c.pred.Path) {
		set, err = readPairs(context.Background(), &c.pred, input.Predictions)
	} else {
		set, _, err = input.ReadPredictions(context.Background(), c.pred, input.First)
	}
	if err != nil {
		return nowhere
	}
	if k, ok := set.Find(c.IDs[i]); ok {
		return set.Places[k]
	}
	return nowhere
}
