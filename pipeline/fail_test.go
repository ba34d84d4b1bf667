package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

func TestAFailureStopsOnlyWhatNeedsIt(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 4)
	g := f.graph()
	g.Nodes = append(g.Nodes,
		Node{Name: "bad", Stage: &join{err: errors.New("no luck")}, Inputs: map[string]string{"text": "split", "after": "train"}}, // not join's key
		Node{Name: "after", Stage: &join{Upper: true}, Inputs: map[string]string{"text": "bad"}},
		Node{Name: "crash", Stage: &join{panic: true, Upper: true}, Inputs: map[string]string{"text": "split"}})
	res, err := Run(t.Context(), g, f.o)
	equal(t, "states", states(res), []string{
		"after blocked", "bad failed", "crash failed", "join done", "raw done", "split done", "train done",
	})
	if ExitCode(err) != ExitFailed {
		t.Errorf("exit code %d of %v", ExitCode(err), err)
	}
	if got, want := err.Error(), "bad: no luck\ncrash: panic: on purpose"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestGraphFaultsAreReportedAtOnce(t *testing.T) {
	f := newFixture(t)
	_, err := Run(t.Context(), Graph{Nodes: []Node{
		{Name: "a", Stage: &split{Rows: -1}, Inputs: map[string]string{"raw": "nowhere"}, Pos: "job.yaml:3"},
		{Name: "a", Stage: &join{}, Pos: "job.yaml:9"},
		{Name: "b"},
	}}, f.o)
	want := "job.yaml:9: stage a: the name is taken by stage 0\nstage b has no kind\njob.yaml:3: stage a: input raw: no stage named \"nowhere\""
	if ExitCode(err) != ExitUsage || err.Error() != want {
		t.Errorf("error %q (code %d), want %q", err, ExitCode(err), want)
	}
	_, err = Run(t.Context(), Graph{Nodes: []Node{
		{Name: "a", Stage: &split{Rows: -1}, Pos: "job.yaml:3"},
		{Name: "b", Stage: &train{}, Pos: "job.yaml:5"},
	}}, f.o)
	if got, want := err.Error(), "job.yaml:3: stage a: rows: -1, want at least 1\njob.yaml:5: stage b: steps: required"; got != want || ExitCode(err) != ExitUsage {
		t.Errorf("error %q, want %q", got, want)
	}
	_, err = Run(t.Context(), Graph{Nodes: []Node{
		{Name: "a", Stage: &join{}, Inputs: map[string]string{"text": "b"}},
		{Name: "b", Stage: &join{}, Inputs: map[string]string{"text": "a"}},
	}}, f.o)
	if err == nil || err.Error() != "stage a depends on itself: a <- b <- a" {
		t.Errorf("cycle: %v", err)
	}
	for _, o := range []Options{{Store: f.store, Stage: "nope"}, {Store: f.store, Part: new(int)}, {}} {
		if _, err := Run(t.Context(), f.graph(), o); ExitCode(err) != ExitUsage {
			t.Errorf("options %+v: %v", o, err)
		}
	}
}

func TestRefusedFilesAreNamedAtOnceAndCanBeSkipped(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 5)
	f.write("b.tsv", "b1\tone\nBAD\n")
	f.write("c.tsv", "c1\tone\nc2\ttwo\nc3\tthree\nc4\tfour\nBAD\n")
	g := f.graph()
	for i := range g.Nodes {
		if g.Nodes[i].Name == "split" {
			g.Nodes[i].Stage = &split{diary: f.diary, Refuse: "BAD"}
		}
	}
	g.Nodes = append(g.Nodes, Node{Name: "missing", Stage: &Files{Path: filepath.Join(f.raw, "nowhere")}})
	res, err := Run(t.Context(), g, f.o)
	equal(t, "states", states(res), []string{"join blocked", "missing refused", "raw done", "split refused", "train blocked"})
	if ExitCode(err) != ExitBadInput {
		t.Errorf("exit code %d of %v", ExitCode(err), err)
	}
	for _, want := range []string{"b.tsv:2: cannot be read", "c.tsv:5: cannot be read", "nowhere: no such file or directory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}
	if _, err := f.store.Manifest(res.Node("split").Key); !errors.Is(err, store.ErrMissing) {
		t.Errorf("a refused stage has an output: %v", err)
	}

	g.Nodes = g.Nodes[:4]
	f.o.SkipRefused = true
	f.diary.take(t)
	skipped := f.run(g)
	equal(t, "states", states(skipped), []string{"join done", "raw done", "split done", "train done"})
	// It is what a folder without these files gives.
	f.o.SkipRefused = false
	for _, name := range []string{"b.tsv", "c.tsv"} {
		if err := os.Remove(filepath.Join(f.raw, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.diary.take(t)
	equal(t, "digests", digests(f.run(g)), digests(skipped))
	equal(t, "work", f.diary.take(t), nil)

	f.write("a.tsv", "BAD\n")
	f.o.SkipRefused = true
	if _, err := Run(t.Context(), g, f.o); ExitCode(err) != ExitBadInput || !strings.Contains(err.Error(), "every file in it was refused") {
		t.Errorf("all refused: %v", err)
	}
}

// deadRows reads an output's dead letters.
func (f *fixture) deadRows(n *NodeResult) []DeadLetter {
	f.t.Helper()
	file, err := f.store.OpenFile(f.t.Context(), n.Manifest, store.DeadLetters)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	r, err := shard.Open[DeadLetter](file, file.Size())
	if err != nil {
		f.t.Fatal(err)
	}
	var rows []DeadLetter
	for row, err := range r.All() {
		if err != nil {
			f.t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestDeadLettersAreKeptInOrderAndJudgedOutsideTheKey(t *testing.T) {
	f := newFixture(t)
	f.write("a.tsv", "k1\tone\nk2\t\nk3\tthree\nk4\tfour\nk5\t\nk6\tsix\nk7\tseven\nk8\teight\nk10\tten\nk9\t\xff\n")
	res, err := Run(t.Context(), f.graph(), f.o)
	equal(t, "states", states(res), []string{"join blocked", "raw done", "split rejected", "train blocked"})
	if ExitCode(err) != ExitBadInput || !strings.Contains(err.Error(), "2 of 10 rows are dead letters, more than 1%") {
		t.Errorf("code %d, error %v", ExitCode(err), err)
	}
	sp := res.Node("split")
	var got []string
	for _, d := range f.deadRows(sp) {
		got = append(got, fmt.Sprintf("%s:%d n=%d off=%d %s %s %q", d.File, *d.Line, *d.N, *d.Offset, d.Field, d.Reason, d.Raw))
	}
	equal(t, "dead letters", got, []string{
		`a.tsv:2 n=1 off=7 text empty "k2\t"`, `a.tsv:5 n=4 off=28 text empty "k5\t"`,
	})
	if m := sp.Manifest; m.Dead != 2 || m.RowsSeen != 10 || m.Rows != 8 || len(m.ByFile) != 1 || m.ByFile[0] != (store.FileCount{File: "a.tsv", Rows: 10, Dead: 2}) {
		t.Errorf("manifest %+v", m)
	}
	f.diary.take(t)

	// The output stands: a laxer limit accepts it without work, a stricter
	// one rejects it again.
	for _, c := range []struct {
		job, flag string
		want      State
	}{{"2", "", Cached}, {"1", "", Rejected}, {"1", "20%", Cached}, {"5", "19.9%", Rejected}, {"", "", Rejected}, {"0", "100%", Cached}} {
		g := f.graph()
		f.o.MaxDead = nil
		if c.flag != "" {
			l, err := ParseLimit(c.flag)
			if err != nil {
				t.Fatal(err)
			}
			f.o.MaxDead = &l
		}
		for i := range g.Nodes {
			if c.job != "" && g.Nodes[i].Name == "split" {
				l, err := ParseLimit(c.job)
				if err != nil {
					t.Fatal(err)
				}
				g.Nodes[i].MaxDead = &l
			}
		}
		res, err := Run(t.Context(), g, f.o)
		if got := res.Node("split").State; got != c.want || (err == nil) != (c.want == Cached) {
			t.Errorf("limits %q and %q: %s, %v; want %s", c.job, c.flag, got, err, c.want)
		}
		planned, err := Plan(t.Context(), g, f.o)
		if err != nil || find(planned, "split").State != c.want {
			t.Errorf("plan with limits %q and %q: %v, %v", c.job, c.flag, find(planned, "split").State, err)
		}
	}
	for _, did := range f.diary.take(t) {
		if did != "join false" && !strings.HasPrefix(did, "train") {
			t.Errorf("judging did %q", did)
		}
	}
}

func TestAFileOfDeadRowsOnlyIsRejected(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 50)
	f.write("b.tsv", "k1\t\nk2\t\n")
	f.write("empty.tsv", "")
	loose := NoLimit
	f.o.MaxDead = &loose
	res, err := Run(t.Context(), f.graph(), f.o)
	if ExitCode(err) != ExitBadInput || !strings.Contains(err.Error(), "b.tsv: all 2 rows are dead letters") || res.Node("split").State != Rejected {
		t.Errorf("%v, %v", states(res), err)
	}
}

func TestParseLimit(t *testing.T) {
	for _, c := range []struct {
		in         string
		dead, seen int64
		want       bool
	}{
		{"0", 0, 10, false},
		{"0", 1, 10, true},
		{"3", 3, 3, false},
		{"3", 4, 1000, true},
		{"1%", 1, 100, false},
		{"1%", 2, 100, true},
		{"0%", 1, 1 << 40, true},
		{"100%", 9, 9, false},
		{"2.5%", 26, 1000, true},
		{"50%", 1, 0, true},
	} {
		l, err := ParseLimit(c.in)
		if err != nil || l.String() != c.in {
			t.Errorf("ParseLimit(%q) = %v, %v", c.in, l, err)
		}
		if got := l.exceeded(c.dead, c.seen); got != c.want {
			t.Errorf("%s: %d of %d exceeded: %v, want %v", c.in, c.dead, c.seen, got, c.want)
		}
	}
	for _, bad := range []string{"", "-1", "x", "101%", "-1%", "NaN%", "1.5", "%"} {
		if l, err := ParseLimit(bad); err == nil {
			t.Errorf("ParseLimit(%q) = %v", bad, l)
		}
	}
}

func TestExitCodes(t *testing.T) {
	stage := func(err error) error { return &StageError{Node: "x", Part: -1, Err: err} }
	full := &fs.PathError{Op: "write", Path: "p", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{usagef("", "x"), 2},
		{stage(&RefusedError{File: "f"}), 20},
		{stage(errors.Join(&RefusedError{File: "f"}, &RefusedError{File: "g"})), 20},
		{stage(&RejectedError{Node: "x"}), 20},
		{stage(fmt.Errorf("read: %w", full)), 75},
		{stage(&TemporaryError{errors.New("held")}), 75},
		{stage(&store.WriteError{Op: "create", Path: "p", Err: syscall.EACCES}), 75},
		{stage(&store.WriteError{Op: "create", Path: "p", Err: syscall.ENOTDIR}), 1},
		{stage(&fs.PathError{Op: "open", Path: "p", Err: syscall.EACCES}), 1},
		{stage(syscall.EROFS), 75},
		{stage(syscall.EDQUOT), 75},
		{stage(syscall.EFBIG), 75},
		{context.Canceled, 130},
		{errors.Join(stage(errors.New("x")), stage(&RefusedError{File: "f"})), 1},
		{errors.Join(stage(&RefusedError{File: "f"}), stage(full)), 75},
		{errors.Join(stage(full), stage(errors.New("x"))), 75},
		{errors.Join(stage(errors.New("x")), context.Canceled), 130},
	} {
		if got := ExitCode(c.err); got != c.want {
			t.Errorf("ExitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestCancellationPublishesNothingHalfDone(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 40)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	g := f.graph()
	for i := range g.Nodes {
		if g.Nodes[i].Name == "split" {
			g.Nodes[i].Stage = &split{diary: f.diary, hook: func(c context.Context, p Part) error {
				if p.Index == 4 {
					cancel()
					<-c.Done()
					return c.Err()
				}
				n++
				return nil
			}}
		}
	}
	f.o.Jobs = 1
	began := time.Now()
	res, err := Run(ctx, g, f.o)
	if !errors.Is(err, context.Canceled) || ExitCode(err) != ExitInterrupted || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	equal(t, "states", states(res), []string{"join interrupted", "raw done", "split interrupted", "train interrupted"})
	if tmp, _ := os.ReadDir(filepath.Join(f.store.Dir(), "work", "tmp")); len(tmp) > 0 {
		t.Errorf("temporary files are left: %v", tmp)
	}
	if locks, _ := os.ReadDir(filepath.Join(f.store.Dir(), "locks")); len(locks) > 0 {
		t.Errorf("locks are left: %v", locks)
	}
	f.diary.take(t)
	again := f.run(f.graph())
	if sp := again.Node("split"); sp.PartsRun != 10-n || n != 4 {
		t.Errorf("%d parts before, %d after", n, sp.PartsRun)
	}
}

func TestCancelledTrainingResumes(t *testing.T) {
	f := newFixture(t)
	g := func(pause time.Duration) Graph {
		return Graph{Nodes: []Node{{Name: "train", Stage: &train{Steps: 60, every: 1000, pause: pause, diary: f.diary}}}}
	}
	want := digests(f.run(g(0)))
	f.diary.take(t)
	f.open(filepath.Join(t.TempDir(), "other"))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, g(3*time.Millisecond), f.o); ctx.Err() == nil || err == nil {
		t.Fatal("the run was too fast to be cancelled")
	}
	equal(t, "digests", digests(f.run(g(0))), want)
	did := f.diary.take(t)
	if len(did) != 2 || did[0] != "train from 0" || did[1] == "train from 0" {
		t.Errorf("training %q", did)
	}
	if left, _ := os.ReadDir(filepath.Join(f.store.Dir(), "work", "checkpoints")); len(left) > 0 {
		t.Errorf("checkpoints are left: %v", left)
	}
}

func find(planned []Planned, name string) *Planned {
	for i := range planned {
		if planned[i].Stage == name {
			return &planned[i]
		}
	}
	return &Planned{}
}
