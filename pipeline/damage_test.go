package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/pipeline/store"
)

// truncate cuts a file in half.
func truncate(t *testing.T, path string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, st.Size()/2); err != nil {
		t.Fatal(err)
	}
}

func TestDamageIsReportedAndMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, f *fixture, res *Result)
		work   []string // done to mend it
		says   string   // in the log
	}{
		{"flipped byte of a shard", func(t *testing.T, f *fixture, res *Result) {
			flip(t, filepath.Join(res.Node("split").Dir, "train-00001-of-00003.txt"))
		}, []string{"finish", "part a.tsv 5"}, "sha256"},
		{"flipped byte of a final output", func(t *testing.T, f *fixture, res *Result) {
			flip(t, filepath.Join(res.Node("join").Dir, "all.txt"))
		}, []string{"join false"}, "sha256"},
		{"truncated shard", func(t *testing.T, f *fixture, res *Result) {
			truncate(t, filepath.Join(res.Node("split").Dir, "train-00000-of-00003.txt"))
		}, []string{"finish", "part a.tsv 1"}, "bytes, want"},
		{"truncated manifest", func(t *testing.T, f *fixture, res *Result) {
			truncate(t, filepath.Join(res.Node("split").Dir, "manifest.json"))
		}, []string{"finish"}, "damaged"},
		{"flipped byte of a manifest", func(t *testing.T, f *fixture, res *Result) {
			flip(t, filepath.Join(res.Node("join").Dir, "manifest.json"))
		}, []string{"join false"}, "damaged"},
		{"truncated manifest of raw files", func(t *testing.T, f *fixture, res *Result) {
			truncate(t, filepath.Join(f.store.OutputDir(res.Node("raw").Key), "manifest.json"))
		}, nil, ""},
		{"lost file", func(t *testing.T, f *fixture, res *Result) {
			// The name alone: its object is whole.
			if err := os.Remove(filepath.Join(res.Node("join").Dir, "all.txt")); err != nil {
				t.Fatal(err)
			}
		}, nil, ""},
		{"lost objects", func(t *testing.T, f *fixture, res *Result) {
			// The objects alone: the output's names still hold their content,
			// but the parts' side files are gone.
			if err := os.RemoveAll(filepath.Join(f.store.Dir(), "objects")); err != nil {
				t.Fatal(err)
			}
		}, nil, ""},
		{"edited file", func(t *testing.T, f *fixture, res *Result) {
			// An editor writes a new file: the object is whole.
			p := filepath.Join(res.Node("join").Dir, "all.txt")
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte("edited"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, nil, ""},
		{"lost output", func(t *testing.T, f *fixture, res *Result) {
			if err := os.RemoveAll(res.Node("split").Dir); err != nil {
				t.Fatal(err)
			}
		}, []string{"finish"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.file("a.tsv", 9)
			res := f.run(f.graph())
			f.diary.take(t)
			c.damage(t, f, res)
			f.open(f.store.Dir()) // another process
			again := f.run(f.graph())
			equal(t, "digests", digests(again), digests(res))
			equal(t, "work", trim(f.diary.take(t)), c.work)
			if !strings.Contains(f.log.String(), c.says) {
				t.Errorf("log %q does not say %q", f.log, c.says)
			}
			for _, name := range []string{"split", "join"} {
				n := again.Node(name)
				for _, e := range n.Manifest.Files {
					f.read(n, e.Name)
					if _, err := os.Stat(filepath.Join(n.Dir, e.Name)); err != nil {
						t.Error(err)
					}
				}
			}
			if c.name != "lost objects" {
				if d, err := f.store.Verify(t.Context()); err != nil || len(d) > 0 {
					t.Errorf("damage left: %v, %v", d, err)
				}
			}
		})
	}
}

func TestAFlippedByteIsNeverRead(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	f.o.Stage = "split"
	res := f.run(f.graph())
	sp := res.Node("split")
	flip(t, filepath.Join(sp.Dir, "train-00001-of-00003.txt"))
	if _, err := f.store.OpenFile(t.Context(), sp.Manifest, "train-00001-of-00003.txt"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("opened: %v", err)
	}
	// A task of an array does not look at all its inputs first: it meets the
	// damage when it opens the file, and the next run mends it.
	f.o.Stage, f.o.Part = "join", new(int)
	f.diary.take(t)
	_, err := Run(t.Context(), f.graph(), f.o)
	if ExitCode(err) != ExitTemporary || !strings.Contains(err.Error(), "split was damaged and is set aside") {
		t.Errorf("code %d, %v", ExitCode(err), err)
	}
	again := f.run(f.graph())
	equal(t, "work", trim(f.diary.take(t)), []string{"finish", "join false", "join false", "part a.tsv 5"})
	if got := f.read(again.Node("join"), "all.txt"); strings.Count(got, "\n") != 9 {
		t.Errorf("joined %q", got)
	}
}

func TestDamageThatCannotBeMadeAnewIsAFailure(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	res := f.run(f.graph())
	flip(t, filepath.Join(res.Node("join").Dir, "all.txt"))
	g := f.graph()
	g.Nodes[0].Stage = &join{err: errors.New("the reader is gone")}
	_, err := Run(t.Context(), g, f.o)
	if ExitCode(err) != ExitFailed || !strings.Contains(err.Error(), "join: the reader is gone") || !strings.Contains(f.log.String(), "damaged output set aside") {
		t.Errorf("code %d, %v\n%s", ExitCode(err), err, f.log)
	}
}

func TestAStageThatIsNotAsItShouldBeIsNamed(t *testing.T) {
	f := newFixture(t)
	n := 0
	g := probes(1, func(ctx context.Context, t *Task, i int) error {
		n++
		out, err := t.Out.Create("x", "")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "made %d times", n)
		return out.Close(0)
	})
	res := f.run(g)
	flip(t, filepath.Join(res.Nodes[0].Dir, "x"))
	f.run(g)
	if !strings.Contains(f.log.String(), "does not give equal bytes for equal keys") {
		t.Errorf("log %q", f.log)
	}
}

func TestRawFilesThatChangeUnderTheStageAreTemporary(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	change := true
	g := f.graph()
	g.Nodes[2].Stage = &split{diary: f.diary, hook: func(ctx context.Context, p Part) error {
		if p.Index == 1 && change {
			change = false
			f.file("a.tsv", 9)
			text, err := os.ReadFile(filepath.Join(f.raw, "a.tsv"))
			if err != nil {
				return err
			}
			f.write("a.tsv", strings.Replace(string(text), "text 5", "TEXT 5", 1))
		}
		return nil
	}}
	f.o.Jobs = 1
	_, err := Run(t.Context(), g, f.o)
	if ExitCode(err) != ExitTemporary || !strings.Contains(err.Error(), "changed while they were read; run again: a.tsv") {
		t.Errorf("code %d, %v", ExitCode(err), err)
	}
	if got := f.read(f.run(g).Node("join"), "all.txt"); !strings.Contains(got, "TEXT 5") {
		t.Errorf("joined %q", got)
	}
}

func (f *fixture) longLines(name string, rows int) {
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "k%d\t%s\n", i, strings.Repeat("long ", 200))
	}
	f.write(name, b.String())
}

func TestAFullDiskIsTemporaryAndLeavesNothingHalfDone(t *testing.T) {
	f := newFixture(t)
	f.longLines("a.tsv", 40)
	c := newChildJob(t, f)
	c.Pause, c.MaxFile = 0, 16384 // the joined text is larger, and nothing before it is
	code, _, stderr := c.output(t)
	if code != ExitTemporary || !strings.Contains(stderr, "file too large") || !strings.Contains(stderr, "join: ") {
		t.Errorf("code %d\n%s", code, stderr)
	}
	have := c.committed(t)
	if !have["finish"] || have["join false"] {
		t.Errorf("committed %v", have)
	}
	c.MaxFile = 0
	mended(t, f, c)
}

// mended checks that the next run gives what an undisturbed one does.
func mended(t *testing.T, f *fixture, c *childJob) {
	t.Helper()
	other := newChildJob(t, f)
	other.Pause = 0
	code, want, stderr := other.output(t)
	if code != 0 {
		t.Fatalf("undisturbed run: %s", stderr)
	}
	code, got, stderr := c.output(t)
	if code != 0 {
		t.Fatalf("code %d\n%s", code, stderr)
	}
	equal(t, "digests", got, want)
	nothingTemporary(t, c)
}

func TestDamagedCheckpointFallsBackToTheOneBefore(t *testing.T) {
	f := newFixture(t)
	g := Graph{Nodes: []Node{{Name: "train", Stage: &train{Steps: 50, every: 5, diary: f.diary}}}}
	want := digests(f.run(g))
	f.diary.take(t)
	f.open(filepath.Join(t.TempDir(), "other"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := &stopper{train: train{Steps: 50, every: 5, diary: f.diary}, at: 23, stop: cancel}
	if _, err := Run(ctx, Graph{Nodes: []Node{{Name: "train", Stage: stop}}}, f.o); err == nil {
		t.Fatal("not stopped")
	}
	key := ""
	dirs, err := filepath.Glob(filepath.Join(f.store.Dir(), "work", "checkpoints", "*", "step-*"))
	if err != nil || len(dirs) != 2 {
		t.Fatalf("checkpoints %v, %v", dirs, err)
	}
	key = filepath.Base(filepath.Dir(dirs[0]))
	equal(t, "checkpoints", []string{filepath.Base(dirs[0]), filepath.Base(dirs[1])}, []string{
		fmt.Sprintf("step-%019d", 15), fmt.Sprintf("step-%019d", 20),
	})
	flip(t, filepath.Join(dirs[1], "state", "sum"))
	f.diary.take(t)
	res := f.run(g)
	if string(res.Nodes[0].Key) != key {
		t.Fatalf("key %s, checkpoints of %s", res.Nodes[0].Key, key)
	}
	equal(t, "digests", digests(res), want)
	equal(t, "work", f.diary.take(t), []string{"train from 15"})
	if !strings.Contains(f.log.String(), "damaged checkpoint set aside") {
		t.Errorf("log %q", f.log)
	}
}

// stopper is train, killed at a step without a chance to save.
type stopper struct {
	train
	at   int64
	stop func()
}

func (s *stopper) Run(ctx context.Context, t *Task, p Part) error {
	for step := int64(5); step < s.at; step += 5 {
		partial := s.train
		err := t.SaveCheckpoint(ctx, step, func(dir string) error {
			return partial.saveAt(dir, step)
		})
		if err != nil {
			return err
		}
	}
	s.stop()
	return ctx.Err()
}
