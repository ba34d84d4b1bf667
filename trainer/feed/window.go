package feed

import (
	"context"
	"fmt"
	"sort"

	"espalier/tokenize/tokens"
)

// A unit is one example with the rows that were drawn of it.
type unit struct {
	id, image, task string
	rows            []row
}

func (u *unit) length() int {
	n := 0
	for _, r := range u.rows {
		n = max(n, len(r.input), len(r.target))
	}
	return n
}

// A walk goes through the batches of one source in order. It holds one window.
type walk struct {
	s     *Set
	x     *source
	epoch int64
	order []int // blocks of the epoch
	first []int // first example of each window; one more at the end
	at    int   // the window that is loaded, -1 for none

	filler []unit
	full   [][]unit
	rest   []unit
}

func (s *Set) walk(x *source) *walk { return &walk{s: s, x: x, epoch: -1, at: -1} }

// begin lays out an epoch.
func (w *walk) begin(epoch int64) {
	w.epoch, w.at = epoch, -1
	w.order = make([]int, len(w.x.blocks))
	for i := range w.order {
		w.order[i] = i
	}
	shuffle(w.order, key(w.s.o.Seed, drawBlocks, uint64(epoch), hash(w.x.Name)))
	w.first = append(w.first[:0], 0)
	n := 0
	for i, b := range w.order {
		n += w.x.blocks[b].units
		if (i+1)%w.s.o.Window == 0 || i+1 == len(w.order) {
			w.first = append(w.first, n)
		}
	}
}

// batch returns the examples of batch n of the source.
func (w *walk) batch(ctx context.Context, n int64) ([]unit, error) {
	steps := w.s.steps(w.x)
	if epoch := n / steps; epoch != w.epoch {
		w.begin(epoch)
	}
	size := w.s.o.Size
	pos := int(n%steps) * size
	// The last window that starts at or before pos; empty windows do not count.
	k := sort.SearchInts(w.first, pos+1) - 1
	if err := w.load(ctx, k); err != nil {
		return nil, err
	}
	if i := (pos - w.first[k] - len(w.filler)) / size; i < len(w.full) {
		return w.full[i], nil
	}
	units := append(make([]unit, 0, size), w.rest...)
	for len(units) < size {
		k++
		if err := w.load(ctx, k); err != nil {
			return nil, err
		}
		units = append(units, w.filler...)
	}
	return units, nil
}

// load reads window k and cuts it into batches: first what fills up the batch
// that the window before began, then whole batches, then the rest.
func (w *walk) load(ctx context.Context, k int) error {
	if w.at == k {
		return nil
	}
	var units []unit
	for _, b := range w.order[k*w.s.o.Window : min((k+1)*w.s.o.Window, len(w.order))] {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if units, err = w.x.read(&w.x.blocks[b], units, w.s.o.Captions > 0); err != nil {
			return fmt.Errorf("%s: %w", w.x.Name, err)
		}
	}
	if len(units) != w.first[k+1]-w.first[k] {
		return fmt.Errorf("%s: window %d has %d examples, had %d when it was indexed", w.x.Name, k, len(units), w.first[k+1]-w.first[k])
	}
	seed, epoch, name := w.s.o.Seed, uint64(w.epoch), hash(w.x.Name)
	if p := w.s.o.Captions; p > 0 {
		for i := range units {
			u := &units[i]
			u.rows = draw(u.rows, p, key(seed, drawRows, epoch, hash(u.id)))
		}
	}
	shuffle(units, key(seed, drawWindow, epoch, name, uint64(k)))
	size := w.s.o.Size
	filler := min((size-w.first[k]%size)%size, len(units))
	w.filler = units[:filler]
	w.full, w.rest = bucket(units[filler:], size, w.s.o.Buckets)
	shuffle(w.full, key(seed, drawBatches, epoch, name, uint64(k)))
	w.at = k
	return nil
}

// draw takes p of an example's rows without repetition; if it has fewer, all
// of them as often as need be, each round in an order of its own.
func draw(rows []row, p int, k uint64) []row {
	out := make([]row, 0, p)
	for round := uint64(0); len(out) < p; round++ {
		all := append([]row(nil), rows...)
		shuffle(all, mix(k+round))
		out = append(out, all[:min(p-len(out), len(all))]...)
	}
	return out
}

// bucket cuts units into batches of one bucket each as far as they reach, then
// into mixed ones; less than a batch is left.
func bucket(units []unit, size int, edges []int) (full [][]unit, rest []unit) {
	if len(edges) > 0 {
		lists := make([][]unit, len(edges)+1)
		for _, u := range units {
			b := sort.SearchInts(edges, u.length())
			lists[b] = append(lists[b], u)
			if len(lists[b]) == size {
				full = append(full, lists[b])
				lists[b] = nil
			}
		}
		units = nil
		for _, l := range lists {
			units = append(units, l...)
		}
	}
	for len(units) >= size {
		full = append(full, units[:size:size])
		units = units[size:]
	}
	return full, units
}

// read appends the examples of a block.
func (x *source) read(b *block, units []unit, grouped bool) ([]unit, error) {
	rows, err := x.Tokens[b.shard].ReadGroup(b.group)
	if err != nil {
		return nil, fmt.Errorf("token shard %d: %w", b.shard, err)
	}
	rows = rows[min(b.lead, len(rows)):]
	kept := false
	for i := range rows {
		t := &rows[i]
		if grouped && i > 0 && t.ID == rows[i-1].ID {
			if kept {
				u := &units[len(units)-1]
				u.rows = append(u.rows, row{t.Input, t.Target})
			}
			continue
		}
		if kept = x.keeps(t) && x.has(t); kept {
			units = append(units, newUnit(t))
		}
	}
	if kept {
		u := &units[len(units)-1]
		u.rows = append(u.rows, b.tail...)
	}
	return units, nil
}

func newUnit(t *tokens.Row) unit {
	return unit{id: t.ID, image: t.Image, task: t.Task, rows: []row{{t.Input, t.Target}}}
}
