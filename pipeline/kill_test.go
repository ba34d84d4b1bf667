package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"espalier/pipeline/store"
)

// A childJob is what a re-executed test binary runs.
type childJob struct {
	Raw, Store, Diary, Scratch string
	Job                        string
	Jobs                       int
	Pause                      time.Duration
	Part                       *int
	MaxFile                    int64 // RLIMIT_FSIZE, 0 for none
	NoWait                     bool
}

const childEnv = "ESPALIER_TEST_CHILD"

// TestMain runs a job instead of the tests when the binary is a child.
func TestMain(m *testing.M) {
	text := os.Getenv(childEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	var c childJob
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	os.Exit(c.run())
}

func (c *childJob) graph() Graph {
	d := &diary{c.Diary}
	return Graph{Nodes: []Node{
		{Name: "raw", Stage: &Files{Path: c.Raw}},
		{Name: "split", Stage: &split{diary: d, pause: c.Pause}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "join", Stage: &join{diary: d}, Inputs: map[string]string{"text": "split"}},
		{Name: "train", Stage: &train{Steps: 12, every: 3, diary: d, pause: 2 * c.Pause}, Inputs: map[string]string{"text": "join"}},
		{Name: "again", Stage: &join{Upper: true, diary: d}, Inputs: map[string]string{"text": "split", "after": "train"}},
	}}
}

func (c *childJob) options() (Options, error) {
	s, err := store.Open(c.Store)
	o := Options{
		Store: s, Jobs: c.Jobs, Threads: 2, Numerics: "amd64", Scratch: c.Scratch, Job: c.Job, NoWait: c.NoWait,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if c.Part != nil {
		o.Stage, o.Part = "split", c.Part
	}
	return o, err
}

// run runs the job, prints its digests and returns the exit code.
func (c *childJob) run() int {
	if c.MaxFile > 0 {
		limit := syscall.Rlimit{Cur: uint64(c.MaxFile), Max: uint64(c.MaxFile)}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
	}
	o, err := c.options()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return ExitCode(err)
	}
	res, err := Run(context.Background(), c.graph(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	for _, line := range digests(res) {
		fmt.Println(line)
	}
	return ExitCode(err)
}

// command returns the child as a process.
func (c *childJob) command(t testing.TB) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	return cmd
}

// output runs the child to its end.
func (c *childJob) output(t testing.TB) (code int, stdout []string, stderr string) {
	t.Helper()
	cmd := c.command(t)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.Split(strings.TrimSpace(out.String()), "\n"), errs.String()
}

func newChildJob(t testing.TB, f *fixture) *childJob {
	t.Helper()
	dir := t.TempDir()
	job := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(job, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return &childJob{
		Raw: f.raw, Store: filepath.Join(dir, "store"), Diary: filepath.Join(dir, "diary"), Scratch: dir,
		Job: job, Jobs: 2, Pause: time.Millisecond,
	}
}

// committed returns what the diary would say of the parts and outputs that are
// committed.
func (c *childJob) committed(t testing.TB) map[string]bool {
	t.Helper()
	have := make(map[string]bool)
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	o.Log = nil
	list, err := Status(t.Context(), c.graph(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.State == Cached {
			have[map[string]string{"split": "finish", "join": "join false", "again": "join true", "train": "train"}[p.Stage]] = true
		}
		if plan, err := o.Store.ReadPlan(p.Key); err == nil {
			have["plan"] = true
			for _, q := range plan.Parts {
				if o.Store.HasPart(q.Key) {
					have["part "+q.ID] = true
				}
			}
		}
	}
	return have
}

func TestKilledAnywhereGivesTheSameBytesAndRedoesNoCommittedPart(t *testing.T) {
	kills := 64
	if testing.Short() {
		kills = 12
	}
	f := newFixture(t)
	f.file("a.tsv", 30)
	f.file("b.tsv", 14)
	still := newChildJob(t, f)
	code, want, stderr := still.output(t)
	if code != 0 {
		t.Fatalf("undisturbed run: code %d\n%s", code, stderr)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	whole := 150 * time.Millisecond // of a run; learnt below
	done, rounds := 0, 0
	for done < kills {
		rounds++
		c := newChildJob(t, f)
		c.Jobs = 1 + rounds%3
		for done < kills {
			had := c.committed(t)
			before := len((&diary{c.Diary}).lines(t))
			cmd := c.command(t)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			began := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(rng.Float64()*float64(whole)), func() { cmd.Process.Kill() })
			err := cmd.Wait()
			timer.Stop()
			for _, did := range (&diary{c.Diary}).lines(t)[before:] {
				if had[did] || had["train"] && strings.HasPrefix(did, "train") {
					t.Fatalf("done again though committed: %s", did)
				}
			}
			if err == nil {
				whole = (whole + time.Since(began)) / 2
				equal(t, "digests after kills", strings.Split(strings.TrimSpace(out.String()), "\n"), want)
				break
			}
			if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child failed by itself: %v\n%s", err, &errs)
			}
			done++
		}
		if code, got, stderr := c.output(t); code != 0 {
			t.Fatalf("last run: code %d\n%s", code, stderr)
		} else {
			equal(t, "digests of the last run", got, want)
		}
		nothingTemporary(t, c)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills in %d jobs", done, rounds)
}

// nothingTemporary checks that gc leaves outputs, their objects, plans and
// parts, and nothing else.
func nothingTemporary(t *testing.T, c *childJob) {
	t.Helper()
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	rep, err := o.Store.GC(t.Context(), store.GCOptions{})
	if err != nil {
		t.Fatal(err)
	}
	top, err := os.ReadDir(c.Store)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range top {
		names = append(names, e.Name())
	}
	equal(t, "store after gc", names, []string{"FORMAT", "objects", "outputs", "parts", "plans", "roots", "runs"})
	if len(rep.Busy) > 0 || rep.Kept != 5 {
		t.Errorf("gc: %+v", rep)
	}
	for _, it := range rep.Swept {
		if strings.HasPrefix(it.Path, "outputs/") && strings.Count(it.Path, "/") == 1 || strings.HasPrefix(it.Path, "plans/") {
			t.Errorf("gc swept %s: %s", it.Path, it.Reason)
		}
	}
	if d, err := o.Store.Verify(t.Context()); err != nil || len(d) > 0 {
		t.Errorf("after gc: %v, %v", d, err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Scratch, "espalier-scratch-*", "*")); len(left) > 0 {
		t.Errorf("scratch folders are left: %v", left)
	}
	var files []string
	filepath.WalkDir(c.Store, func(path string, d os.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".tmp") {
			files = append(files, path)
		}
		return err
	})
	if len(files) > 0 {
		t.Errorf("temporary files are left: %v", files)
	}
}

func TestTwoRunnersAtOnceShareTheWork(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 30)
	c := newChildJob(t, f)
	type end struct {
		code   int
		out    []string
		stderr string
	}
	ends := make(chan end)
	for range 3 {
		go func() {
			code, out, stderr := c.output(t)
			ends <- end{code, out, stderr}
		}()
	}
	var first []string
	for range 3 {
		e := <-ends
		if e.code != 0 {
			t.Fatalf("code %d\n%s", e.code, e.stderr)
		}
		if first == nil {
			first = e.out
		}
		equal(t, "digests", e.out, first)
	}
	did := (&diary{c.Diary}).take(t)
	if len(slices.Compact(slices.Clone(did))) != len(did) {
		t.Errorf("done twice: %q", did)
	}
	nothingTemporary(t, c)
}

func TestArrayTasksMayRunTwiceAtOnce(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 11)
	c := newChildJob(t, f)
	codes := make(chan string)
	for i := range 6 {
		go func() {
			task := *c
			part := i % 3
			task.Part = &part
			code, _, stderr := task.output(t)
			if code == 0 {
				stderr = ""
			}
			codes <- stderr
		}()
	}
	for range 6 {
		if stderr := <-codes; stderr != "" {
			t.Errorf("task failed: %s", stderr)
		}
	}
	did := trim((&diary{c.Diary}).take(t))
	equal(t, "work", did, []string{"part a.tsv 1", "part a.tsv 5", "part a.tsv 9", "plan"})
	if code, _, stderr := c.output(t); code != 0 {
		t.Fatal(stderr)
	}
	if did := (&diary{c.Diary}).take(t); did[0] != "finish" || slices.ContainsFunc(did, func(s string) bool { return strings.HasPrefix(s, "part") }) {
		t.Errorf("the job after the array did %q", did)
	}
}

func TestRunnersAreRightWithoutLocks(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 20)
	want := digests(f.run(f.graph()))
	f.open(filepath.Join(t.TempDir(), "other"))
	f.o.ignoreLocks = true
	results := make(chan []string)
	for range 4 {
		go func() {
			res, err := Run(t.Context(), f.graph(), f.o)
			if err != nil {
				results <- []string{err.Error()}
				return
			}
			results <- digests(res)
		}()
	}
	for range 4 {
		equal(t, "digests", <-results, want)
	}
	if d, err := f.store.Verify(t.Context()); err != nil || len(d) > 0 {
		t.Errorf("damage %v, %v", d, err)
	}
}
