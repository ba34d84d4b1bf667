package pipeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// probe is a stage that runs a function.
type probe struct {
	ID  string `yaml:"id" json:"id"`
	run func(ctx context.Context, t *Task) error
}

func (*probe) Kind() string { return "test/probe" }
func (*probe) Version() int { return 1 }

func (p *probe) Run(ctx context.Context, t *Task, _ Part) error { return p.run(ctx, t) }

func probes(n int, run func(ctx context.Context, t *Task, i int) error) Graph {
	var g Graph
	for i := range n {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("p%d", i), Stage: &probe{
			ID: fmt.Sprint(i), run: func(ctx context.Context, t *Task) error { return run(ctx, t, i) },
		}})
	}
	return g
}

func TestStagesWithoutAPathBetweenThemRunSideBySide(t *testing.T) {
	f := newFixture(t)
	f.o.Jobs, f.o.Threads = 2, 8
	var both sync.WaitGroup
	both.Add(2)
	f.run(probes(2, func(ctx context.Context, t *Task, i int) error {
		both.Done()
		both.Wait() // ends only if the other runs too
		return nil
	}))
}

func TestJobsBoundTheWorkInFlightAndThreadsAreShared(t *testing.T) {
	f := newFixture(t)
	for _, jobs := range []int{1, 3} {
		f.open(filepath.Join(t.TempDir(), "s"))
		f.o.Jobs, f.o.Threads = jobs, 8
		var now, peak, threads atomic.Int64
		f.run(probes(9, func(ctx context.Context, t *Task, i int) error {
			if n := now.Add(1); n > peak.Load() {
				peak.Store(n)
			}
			threads.Store(max(threads.Load(), int64(t.Env.Threads)))
			time.Sleep(2 * time.Millisecond)
			now.Add(-1)
			return nil
		}))
		if got := peak.Load(); got > int64(jobs) {
			t.Errorf("%d jobs: %d at once", jobs, got)
		}
	}
	// One stage alone has all threads; scratch is there and goes away.
	var env Env
	f.o.Memory = 1 << 30
	f.run(Graph{Nodes: []Node{{Name: "alone", Stage: &probe{ID: "x", run: func(ctx context.Context, t *Task) error {
		env = t.Env
		return os.WriteFile(filepath.Join(t.Env.Scratch, "big"), nil, 0o666)
	}}}}})
	if env.Threads != 8 || env.MemoryBytes != 1<<30 || env.Numerics != "amd64" {
		t.Errorf("env %+v", env)
	}
	if _, err := os.Stat(env.Scratch); err == nil {
		t.Error("the scratch folder is left")
	}
}

func TestNoWaitIsTemporary(t *testing.T) {
	f := newFixture(t)
	began, wait := make(chan struct{}), make(chan struct{})
	g := probes(1, func(ctx context.Context, t *Task, i int) error {
		close(began)
		<-wait
		return nil
	})
	done := make(chan error)
	go func() {
		_, err := Run(t.Context(), g, f.o)
		done <- err
	}()
	<-began
	o := f.o
	o.NoWait = true
	_, err := Run(t.Context(), g, o)
	if ExitCode(err) != ExitTemporary || !strings.Contains(err.Error(), fmt.Sprintf("p0: %s:%d is making it", hostname(), os.Getpid())) {
		t.Errorf("code %d, %v", ExitCode(err), err)
	}
	// One that waits adopts.
	o.NoWait = false
	var mu sync.Mutex
	var seen []State
	o.Events = func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Node == "p0" {
			seen = append(seen, e.State)
		}
		if e.State == Waiting {
			if !strings.HasSuffix(e.Message, fmt.Sprintf(":%d", os.Getpid())) {
				t.Errorf("waits %q", e.Message)
			}
			close(wait)
		}
	}
	res, err := Run(t.Context(), g, o)
	if err != nil || res.Node("p0").State != Cached {
		t.Errorf("%v, %v", states(res), err)
	}
	equal(t, "states", seen, []State{Waiting, Cached})
	if err := <-done; err != nil {
		t.Error(err)
	}
	// A waiter can be cancelled.
	lock, _, err := f.store.TryLock(mustKey(t, f, "p1"), "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, probes(2, func(context.Context, *Task, int) error { return nil }), f.o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled while waiting: %v", err)
	}
}

func hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return h
}

func TestEventsTellEveryChange(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	var got []string
	busy := false
	f.o.Events = func(e Event) {
		if busy {
			t.Error("two events at once")
		}
		busy = true
		defer func() { busy = false }()
		if e.Node == "split" {
			got = append(got, fmt.Sprintf("%s %d/%d %d", e.State, e.PartsDone, e.Parts, e.Rows))
			if (e.State == Running) != (e.Meter != nil) {
				t.Errorf("%s: meter %v", e.State, e.Meter)
			}
		}
	}
	f.o.Jobs = 1
	f.run(f.graph())
	equal(t, "events", got, []string{"running 0/0 0", "running 1/3 0", "running 2/3 0", "running 3/3 0", "done 3/3 9"})
}

func TestSharedValuesAreBuiltOnce(t *testing.T) {
	f := newFixture(t)
	f.o.Jobs = 3
	var built, closed, users atomic.Int64
	g := probes(12, func(ctx context.Context, t *Task, i int) error {
		v, release, err := t.Share(ctx, "backbone", func(context.Context) (any, func(), error) {
			built.Add(1)
			return "weights", func() {
				if users.Load() != 0 {
					panic("closed in use")
				}
				closed.Add(1)
			}, nil
		})
		if err != nil || v != "weights" {
			return fmt.Errorf("%v, %v", v, err)
		}
		users.Add(1)
		time.Sleep(time.Millisecond)
		users.Add(-1)
		release()
		release()
		return nil
	})
	f.run(g)
	if built.Load() != 1 || closed.Load() != 1 {
		t.Errorf("built %d times, closed %d", built.Load(), closed.Load())
	}

	// Two backbones by turns: no more than one idle one is kept.
	f.open(filepath.Join(t.TempDir(), "s"))
	f.o.Jobs = 1
	open := make(map[string]int)
	most := 0
	f.run(probes(6, func(ctx context.Context, t *Task, i int) error {
		key := fmt.Sprint(i % 3)
		_, release, err := t.Share(ctx, key, func(context.Context) (any, func(), error) {
			open[key]++
			if len(open) > most {
				most = len(open)
			}
			return nil, func() { delete(open, key) }, nil
		})
		if err == nil {
			release()
		}
		return err
	}))
	if most > 2 || len(open) > 0 {
		t.Errorf("%d at once, %d left", most, len(open))
	}

	// A failure is not kept.
	f.open(filepath.Join(t.TempDir(), "s"))
	tries := 0
	f.run(probes(1, func(ctx context.Context, t *Task, i int) error {
		for range 2 {
			_, _, err := t.Share(ctx, "x", func(context.Context) (any, func(), error) {
				tries++
				return nil, nil, errors.New("no memory")
			})
			if err == nil {
				return errors.New("no error")
			}
		}
		return nil
	}))
	if tries != 2 {
		t.Errorf("%d tries", tries)
	}
}

func TestTheRunLogTellsWhatRan(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	f.o.Job, f.o.Tool = "/jobs/x.yaml", "espalier 9"
	var looks atomic.Int64
	f.o.Now = func() time.Time { // goes back at every look
		return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC).Add(-time.Second * time.Duration(looks.Add(1)))
	}
	res := f.run(f.graph())
	f.file("a.tsv", 8)
	g := f.graph()
	g.Nodes[0].Stage = &join{err: errors.New("no luck \xff")}
	f.o.Now = nil
	if _, err := Run(t.Context(), g, f.o); err == nil {
		t.Fatal("no failure")
	}
	rows, err := ReadLog(f.store, "/jobs/x.yaml")
	if err != nil || len(rows) != 8 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s %s rows=%d parts=%d/%d", r.Stage, r.State, r.Rows, r.PartsRun, r.Parts))
		if r.Seconds < 0 || r.PID != int64(os.Getpid()) || r.Host == "" || r.Tool != "espalier 9" || len(r.Key) != 64 || r.Part != -1 {
			t.Errorf("row %+v", r)
		}
		if (r.State == "done") != (r.Digest != "") || r.Stage != "raw" && r.State == "done" && r.PeakMemory < 1<<20 {
			t.Errorf("row %+v", r)
		}
		if (r.State == "failed") != strings.Contains(r.Error, "no luck \uFFFD") {
			t.Errorf("error %q", r.Error)
		}
	}
	slices.Sort(got)
	equal(t, "rows", got, []string{
		"join done rows=9 parts=0/0", "join failed rows=0 parts=0/0", "raw done rows=0 parts=0/0", "raw done rows=0 parts=0/0",
		"split done rows=8 parts=0/2", "split done rows=9 parts=3/3", "train blocked rows=0 parts=0/0", "train done rows=0 parts=0/0",
	})
	if other, err := ReadLog(f.store, "/jobs/y.yaml"); err != nil || len(other) > 0 {
		t.Errorf("of another job: %v, %v", other, err)
	}

	// The table holds the same rows.
	path := filepath.Join(f.store.RunsDir(), res.Run+".parquet")
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := shard.Open[LogRow](file, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	var table []LogRow
	for row, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		table = append(table, row)
	}
	lines, err := readLogFile(strings.TrimSuffix(path, ".parquet") + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "table", table, lines)

	// A line that a kill cut short is left out.
	log, err := os.OpenFile(strings.TrimSuffix(path, ".parquet")+".jsonl", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	log.WriteString(`{"run":"cut`)
	log.Close()
	if again, err := ReadLog(f.store, ""); err != nil || len(again) != 8 {
		t.Errorf("%d rows, %v", len(again), err)
	}
}

func TestALogOrLineageFailureFailsNothing(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	f.o.Lineage = filepath.Join(f.raw, "no folder", "x")
	if err := f.store.Prepare(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runs", "leases", "roots"} { // files where folders belong
		if err := os.WriteFile(filepath.Join(f.store.Dir(), name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f.o.Job = "/jobs/x.yaml"
	f.run(f.graph())
	if !strings.Contains(f.log.String(), "lineage not written") {
		t.Errorf("log %q", f.log)
	}
}

func TestLineageEvents(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	f.o.Lineage = filepath.Join(t.TempDir(), "lineage.jsonl")
	g := f.graph()
	g.Nodes = append(g.Nodes, Node{Name: "bad", Stage: &join{err: errors.New("no luck"), Upper: true}, Inputs: map[string]string{"text": "split"}})
	res, err := Run(t.Context(), g, f.o)
	if err == nil {
		t.Fatal("no failure")
	}
	f.run(f.graph()) // cached: no events
	file, err := os.Open(f.o.Lineage)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	runs := make(map[string][]string)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e lineageEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if len(e.Run.ID) != 36 || e.Run.ID[14] != '8' || e.Producer == "" || e.SchemaURL == "" || len(e.EventTime) != 24 {
			t.Errorf("event %+v", e)
		}
		what := e.EventType
		for _, in := range e.Inputs {
			what += " " + strings.TrimPrefix(in.Name, "outputs/")[:8]
		}
		for _, out := range e.Outputs {
			what += " -> " + strings.TrimPrefix(out.Name, "outputs/")[:8]
		}
		runs[e.Job.Name] = append(runs[e.Job.Name], what)
	}
	path := func(from, to string) string { return res.Node(from).Key.Short() + " -> " + res.Node(to).Key.Short() }
	equal(t, "split", runs["split"], []string{"START " + path("raw", "split"), "COMPLETE " + path("raw", "split")})
	equal(t, "bad", runs["bad"], []string{"START " + path("split", "bad"), "FAIL " + path("split", "bad")})
	if len(runs) != 4 {
		t.Errorf("jobs %v", sortedKeys(runs))
	}
}

func mustKey(t *testing.T, f *fixture, name string) store.Key {
	t.Helper()
	list, err := Plan(t.Context(), probes(2, nil), f.o)
	if err != nil {
		t.Fatal(err)
	}
	return find(list, name).Key
}

func TestAncestorsTellHowAnInputCameToBe(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	g := f.graph()
	var got []string
	g.Nodes = append(g.Nodes, Node{Name: "report", Inputs: map[string]string{"a": "train", "b": "join"}, Stage: &probe{
		run: func(ctx context.Context, t *Task) error {
			all, err := t.Ancestors()
			for _, m := range all {
				got = append(got, m.Kind)
			}
			return err
		},
	}})
	f.run(g)
	equal(t, "kinds", got, []string{"pipeline/files", "test/split", "test/join", "test/train"})
}

func TestALockTellsTheProgress(t *testing.T) {
	f := newFixture(t)
	var text string
	f.run(Graph{Nodes: []Node{{Name: "p", Stage: &probe{run: func(ctx context.Context, task *Task) error {
		task.Meter.Expect(8, "steps")
		task.Meter.Add(3)
		task.Meter.Note("loss 2.5")
		text = progressText(task.engine.node)
		return nil
	}}}}})
	if text != "3/8 steps  loss 2.5" {
		t.Errorf("progress %q", text)
	}
}

func TestRowsWithoutAFileCountToo(t *testing.T) {
	f := newFixture(t)
	g := probes(1, func(ctx context.Context, t *Task, i int) error {
		t.Rows(3)
		for n := range 3 {
			if err := t.Dead(DeadLetter{File: fmt.Sprintf("%d.jpg", n), Reason: "truncated"}); err != nil {
				return err
			}
		}
		return nil
	})
	loose := NoLimit
	f.o.MaxDead = &loose
	res, err := Run(t.Context(), g, f.o)
	if res.Nodes[0].State != Rejected || ExitCode(err) != ExitBadInput || len(res.Nodes[0].Manifest.ByFile) != 0 {
		t.Errorf("every image dead: %v, %v", states(res), err)
	}
}
