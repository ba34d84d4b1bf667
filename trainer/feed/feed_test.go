package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"espalier/features/vectors"
	"espalier/pipeline/shard"
	"espalier/tokenize/tokens"
)

// captions makes token shards of n examples with 3 to 7 rows, whose row
// groups end in the middle of examples, and their features.
func captions(t *testing.T, n, shards, groupRows int) Source {
	t.Helper()
	src := Source{Name: "coco"}
	var index []*vectors.File
	for k := range shards {
		var rows []tokens.Row
		var features bytes.Buffer
		fw, err := vectors.NewWriter(&features, vectors.Options{Height: 1, Width: 2, Dim: 3, Half: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := k * n / shards; i < (k+1)*n/shards; i++ {
			id := fmt.Sprintf("coco/caption/train/%d", i)
			image := fmt.Sprintf("%d.jpg", i)
			for j := range 3 + i%5 {
				rows = append(rows, tokens.Row{ID: id, Task: "caption", Split: "train", N: int32(j), Image: image, Target: append([]int32{1, int32(i), int32(j)}, make([]int32, i%4)...)})
			}
			f := float32(i % 1000)
			if err := fw.Write(&vectors.Row{ID: image, Height: 1, Width: 2, Count: 2, Dim: 3, Values: []float32{f, 1, 2, 3, 4, f}}); err != nil {
				t.Fatal(err)
			}
		}
		src.Tokens = append(src.Tokens, tokenShard(t, rows, groupRows))
		fw.Close()
		f, err := vectors.Open(bytes.NewReader(features.Bytes()), int64(features.Len()))
		if err != nil {
			t.Fatal(err)
		}
		index = append(index, f)
	}
	var err error
	if src.Vectors, err = vectors.NewIndex(index...); err != nil {
		t.Fatal(err)
	}
	return src
}

func tokenShard(t *testing.T, rows []tokens.Row, groupRows int) *shard.Reader[tokens.Row] {
	t.Helper()
	var buf bytes.Buffer
	w, err := shard.NewWriter[tokens.Row](&buf, shard.Options{RowGroupRows: groupRows})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rows), w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := shard.Open[tokens.Row](bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t *testing.T, o Options, src ...Source) *Set {
	t.Helper()
	s, err := Open(o, src...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take returns n batches from a step on as text.
func take(t *testing.T, s *Set, first, n int64) []string {
	t.Helper()
	st := s.Stream(t.Context(), first)
	defer st.Close()
	var out []string
	for range n {
		b, err := st.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := b.Features
		out = append(out, fmt.Sprint(b.Step, b.Epoch, b.Source, b.IDs, b.Images, b.Inputs, b.Targets, f.N, f.Cells, f.Dim, f.Values, f.Counts, f.Boxes, f.Height, f.Width))
		b.Release()
	}
	return out
}

func TestEveryExampleOnceAnEpoch(t *testing.T) {
	for _, c := range []struct {
		n, shards, group, size, captions, window int
		buckets                                  []int
	}{
		{100, 1, 7, 4, 5, 2, nil},
		{103, 3, 11, 8, 2, 3, nil},
		{103, 3, 11, 8, 2, 3, []int{3, 4, 5}},
		{60, 2, 1000, 60, 1, 8, nil},
		{97, 2, 4, 10, 7, 1, []int{4}}, // windows smaller than a batch
		{50, 1, 2, 7, 3, 1, nil},       // examples longer than a block
	} {
		src := captions(t, c.n, c.shards, c.group)
		s := open(t, Options{Size: c.size, Captions: c.captions, Seed: 8888, Window: c.window, Buckets: c.buckets}, src)
		steps := s.Steps()
		if want := int64(c.n / c.size); steps != want {
			t.Fatalf("%+v: %d steps an epoch, want %d", c, steps, want)
		}
		st := s.Stream(t.Context(), 0)
		orders := map[string]bool{}
		for epoch := range int64(3) {
			seen := map[string]int{}
			var order []string
			for range steps {
				b, err := st.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if b.Epoch != epoch || len(b.IDs) != c.size || len(b.Targets) != c.size*c.captions {
					t.Fatalf("%+v: epoch %d, %d examples, %d rows", c, b.Epoch, len(b.IDs), len(b.Targets))
				}
				for i, id := range b.IDs {
					seen[id]++
					order = append(order, id)
					checkRows(t, b, i, c.captions)
				}
				b.Release()
			}
			for id, n := range seen {
				if n != 1 {
					t.Fatalf("%+v: %s comes %d times in epoch %d", c, id, n, epoch)
				}
			}
			if len(seen) != int(steps)*c.size {
				t.Fatalf("%+v: %d examples in epoch %d, want %d", c, len(seen), epoch, int(steps)*c.size)
			}
			orders[strings.Join(order, " ")] = true
		}
		if len(orders) != 3 {
			t.Errorf("%+v: two epochs have the same order", c)
		}
		st.Close()
	}
}

// checkRows holds the rows and features of example i of a batch against what
// captions made.
func checkRows(t *testing.T, b *Batch, i, p int) {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(b.IDs[i], "coco/caption/train/%d", &n); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d.jpg", n); b.Images[i] != want {
		t.Fatalf("image %s, want %s", b.Images[i], want)
	}
	times := map[int32]int{}
	for _, row := range b.Targets[i*p:][:p] {
		if row[1] != int32(n) || len(row) != 3+n%4 {
			t.Fatalf("row %v in example %d", row, n)
		}
		times[row[2]]++
	}
	have := 3 + n%5
	for j, k := range times {
		if low, high := p/have, (p+have-1)/have; k < low || k > high || int(j) >= have {
			t.Fatalf("row %d of example %d drawn %d times of %d; it has %d", j, n, k, p, have)
		}
	}
	if len(times) != min(p, have) {
		t.Fatalf("%d rows of example %d, want %d", len(times), n, min(p, have))
	}
	f := float32(n % 1000)
	if got := b.Features.Values[6*i:][:6]; !slices.Equal(got, []float32{f, 1, 2, 3, 4, f}) {
		t.Fatalf("features %v of example %d", got, n)
	}
}

func TestRowsAreDrawnAnewEachEpoch(t *testing.T) {
	s := open(t, Options{Size: 10, Captions: 2, Seed: 1}, captions(t, 10, 1, 100))
	first := map[string]string{}
	changed := 0
	st := s.Stream(t.Context(), 0)
	defer st.Close()
	for epoch := range 2 {
		b, err := st.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range b.IDs {
			drawn := fmt.Sprint(b.Targets[2*i:][:2])
			if epoch == 1 && drawn != first[id] {
				changed++
			}
			first[id] = drawn
		}
	}
	if changed < 5 {
		t.Errorf("%d of 10 examples have other rows in the next epoch", changed)
	}
}

func TestResumeAtAnyStep(t *testing.T) {
	src := captions(t, 61, 2, 9)
	other := captions(t, 30, 1, 8)
	other.Name = "other"
	for _, o := range []Options{
		{Size: 4, Captions: 3, Seed: 7, Window: 2},
		{Size: 4, Captions: 3, Seed: 7, Window: 2, Buckets: []int{4, 5}},
	} {
		for _, sources := range [][]Source{{src}, {src, other}} {
			s := open(t, o, sources...)
			whole := take(t, s, 0, 40)
			for first := range int64(36) {
				if got := take(t, s, first, 4); !slices.Equal(got, whole[first:first+4]) {
					t.Fatalf("%d sources, buckets %v: from step %d on:\n%s\nwant\n%s", len(sources), o.Buckets, first, got[0], whole[first])
				}
			}
		}
	}
}

func TestLoadersDecideNothing(t *testing.T) {
	src := captions(t, 200, 2, 13)
	o := Options{Size: 6, Captions: 5, Seed: 3, Window: 3}
	want := take(t, open(t, o, src), 0, 80)
	for _, n := range []int{2, 7} {
		o.Loaders, o.Ahead = n, 2*n
		if got := take(t, open(t, o, src), 0, 80); !slices.Equal(got, want) {
			t.Errorf("%d loaders give other batches", n)
		}
	}
	o.Seed = 4
	if got := take(t, open(t, o, src), 0, 80); slices.Equal(got, want) {
		t.Error("another seed gives the same batches")
	}
}

func TestBucketsHoldSimilarLengths(t *testing.T) {
	src := captions(t, 400, 1, 5000)
	mixed := 0
	s := open(t, Options{Size: 8, Captions: 1, Seed: 1, Buckets: []int{3, 4, 5}}, src)
	st := s.Stream(t.Context(), 0)
	defer st.Close()
	var means []float64
	for range s.Steps() {
		b, err := st.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		low, high, sum := math.MaxInt, 0, 0
		for _, r := range b.Targets {
			low, high, sum = min(low, len(r)), max(high, len(r)), sum+len(r)
		}
		if low != high {
			mixed++
		}
		means = append(means, float64(sum)/8)
	}
	if mixed > 4 {
		t.Errorf("%d of %d batches are mixed, want at most one a bucket", mixed, s.Steps())
	}
	if sort.Float64sAreSorted(means) {
		t.Error("batches come by length")
	}
}

func TestExamplesWithoutFeaturesAreLeftOut(t *testing.T) {
	src := captions(t, 40, 1, 10)
	index := src.Vectors
	var rows []tokens.Row
	for row, err := range src.Tokens[0].All() {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(row.ID, "7") {
			row.Image = "gone.jpg"
		}
		rows = append(rows, row)
	}
	src = Source{Name: "x", Tokens: []*shard.Reader[tokens.Row]{tokenShard(t, rows, 10)}, Vectors: index}
	s := open(t, Options{Size: 4, Captions: 2, Seed: 1, Window: 2}, src)
	st := s.Stats()[0]
	if st.Examples != 36 || st.Missing != 4 || st.Example != `coco/caption/train/7 (image "gone.jpg")` || st.Steps != 9 {
		t.Errorf("%+v", st)
	}
	for _, b := range take(t, s, 0, 18) {
		if strings.Contains(b, "gone") {
			t.Fatalf("batch %s", b)
		}
	}
	if _, err := Open(Options{Size: 37, Captions: 1}, src); err == nil || !strings.Contains(err.Error(), "36 examples") {
		t.Errorf("a batch larger than the split: %v", err)
	}
}

func TestRowsWithoutImages(t *testing.T) {
	var rows []tokens.Row
	for i := range 50 {
		rows = append(rows, tokens.Row{ID: "same", Input: []int32{int32(i), 1}, Target: []int32{int32(i)}})
	}
	s := open(t, Options{Size: 5, Seed: 1}, Source{Name: "text", Tokens: []*shard.Reader[tokens.Row]{tokenShard(t, rows, 7)}})
	st := s.Stream(t.Context(), 0)
	defer st.Close()
	var seen []int
	for range s.Steps() {
		b, err := st.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Inputs {
			if b.Inputs[i][0] != b.Targets[i][0] || b.Features.N != 0 {
				t.Fatalf("row %v, %v", b.Inputs[i], b.Targets[i])
			}
			seen = append(seen, int(b.Targets[i][0]))
		}
	}
	slices.Sort(seen)
	for i, v := range seen {
		if i != v {
			t.Fatalf("rows %v, want 0 to 49", seen)
		}
	}
}

func TestMixtureRates(t *testing.T) {
	a, b := captions(t, 400, 1, 1000), captions(t, 100, 1, 1000)
	a.Name, b.Name = "a", "b"
	for _, c := range []struct {
		mix  Mix
		want float64 // share of a
	}{
		{Mix{}, 0.8},
		{Mix{Temperature: 2}, 20.0 / 30},
		{Mix{Cap: 100}, 0.5},
		{Mix{Temperature: 2, Cap: 225}, 15.0 / 25},
	} {
		s := open(t, Options{Size: 10, Captions: 1, Seed: 5, Mix: c.mix}, a, b)
		if got := s.Stats()[0].Rate; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: rate %g, want %g", c.mix, got, c.want)
		}
		n := 0
		for step := range int64(20000) {
			if s.task(step) == 0 {
				n++
			}
		}
		if got := float64(n) / 20000; math.Abs(got-c.want) > 0.015 {
			t.Errorf("%+v: drawn %g of the time, want %g", c.mix, got, c.want)
		}
		cursors := s.cursors(20000)
		if cursors[0] != int64(n) || cursors[1] != int64(20000-n) {
			t.Errorf("cursors %v, want %d and %d", cursors, n, 20000-n)
		}
	}
}

func TestStreamStops(t *testing.T) {
	s := open(t, Options{Size: 4, Captions: 2, Seed: 1, Loaders: 3}, captions(t, 50, 1, 10))
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	st := s.Stream(ctx, 0)
	if _, err := st.Next(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := st.Next(ctx); !errors.Is(err, context.Canceled) {
		// A batch may have been ready; the next call must not be.
		for err == nil {
			_, err = st.Next(ctx)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
	}
	st.Close()
	n := runtime.NumGoroutine()
	for range 100 { // a goroutine that is waited for still has to leave
		if n <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
		n = runtime.NumGoroutine()
	}
	t.Errorf("%d goroutines, %d before", n, before)
}

func TestReadErrorsArrive(t *testing.T) {
	src := captions(t, 50, 1, 10)
	s := open(t, Options{Size: 4, Captions: 2, Seed: 1, Window: 1}, src)
	s.sources[0].blocks[3].units++
	st := s.Stream(t.Context(), 0)
	defer st.Close()
	var err error
	for range s.Steps() + 1 {
		if _, err = st.Next(t.Context()); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "coco: window") {
		t.Errorf("error %v, want one of the window", err)
	}
}

func TestRegionsArePadded(t *testing.T) {
	var buf bytes.Buffer
	w, _ := vectors.NewWriter(&buf, vectors.Options{Dim: 2})
	for i, n := range []int{1, 3, 2} {
		r := &vectors.Row{ID: fmt.Sprint(i), Count: n, Dim: 2}
		for j := range n {
			r.Values = append(r.Values, float32(i+1), float32(j))
			r.Boxes = append(r.Boxes, 0, 0, float32(i+1)/10, 1)
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	file, err := vectors.Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	x, _ := vectors.NewIndex(file)
	f := Features{Values: []float32{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, Boxes: slices.Repeat([]float32{9}, 24)}
	if err := f.Load(x, []string{"2", "1"}); err != nil {
		t.Fatal(err)
	}
	if want := []float32{3, 0, 3, 1, 0, 0, 2, 0, 2, 1, 2, 2}; !slices.Equal(f.Values, want) || f.Cells != 3 {
		t.Errorf("values %v, want %v", f.Values, want)
	}
	if want := []float32{0, 0, 0.3, 1, 0, 0, 0.3, 1, 0, 0, 0, 0, 0, 0, 0.2, 1, 0, 0, 0.2, 1, 0, 0, 0.2, 1}; !slices.Equal(f.Boxes, want) {
		t.Errorf("boxes %v, want %v", f.Boxes, want)
	}
	if !slices.Equal(f.Counts, []int{2, 3}) {
		t.Errorf("counts %v", f.Counts)
	}
	if err := f.Load(x, []string{"none"}); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("an unknown image: %v", err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	src := captions(t, 20000, 1, 2000) // about 100,000 rows in 50 blocks
	o := Options{Size: 10, Captions: 5, Seed: 1, Window: 2}
	s := open(t, o, src)
	st := s.Stream(t.Context(), 0)
	defer st.Close()
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	for i := range s.Steps() {
		b, err := st.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		if i%200 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&during)
			peak = max(peak, during.HeapAlloc)
		}
	}
	// All rows decoded take more than 10 MB.
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("heap grew by %d bytes with a window of 2 of %d blocks", grown, len(s.sources[0].blocks))
	}
	if n := s.MemoryBytes(); n < 1<<18 || n > 8<<20 {
		t.Errorf("MemoryBytes %d", n)
	}
}
