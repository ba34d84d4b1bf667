package gauge

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestRows runs every line once and looks at the table's shape, not at times.
func TestRows(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every kernel")
	}
	families := map[string]int{}
	err := Rows(t.Context(), 2, time.Nanosecond, func(r Row) bool {
		families[r.Kernel]++
		if !(r.Rate > 0) || r.Threads != 2 || r.Size == "" || (r.Unit != "FLOP/s" && r.Unit != "B/s") {
			t.Errorf("row %+v", r)
		}
		if peak := r.Kernel == "read" || r.Kernel == "fused multiply-add"; peak != (r.Fraction == 0) {
			t.Errorf("fraction of row %+v", r)
		}
		t.Logf("%-24s %-28s %8.1f G%s  %.2f", r.Kernel, r.Size, r.Rate, r.Unit, r.Fraction)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"product", "product, frozen", "attention", "attention, gradient", "convolution", "softmax", "layer norm", "Adam"} {
		if families[want] == 0 {
			t.Errorf("no row of %s", want)
		}
	}
}

func TestRowsStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Rows(ctx, 1, time.Nanosecond, func(Row) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was cancelled", err)
	}
	n := 0
	if err := Rows(t.Context(), 1, time.Nanosecond, func(Row) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("%d rows, error %v; want 2 and none", n, err)
	}
}
