package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A seer is a Splitter that plans early. Its parts are the lines of its file.
type seer struct {
	Sees  bool `yaml:"sees" json:"sees"`
	mu    sync.Mutex
	plans int
	hook  func(plan int) error // after the file was read
}

func (*seer) Kind() string     { return "test/seer" }
func (*seer) Version() int     { return 1 }
func (s *seer) Foresees() bool { return s.Sees }

func (s *seer) Plan(ctx context.Context, t *Task) (parts []Part, err error) {
	s.mu.Lock()
	s.plans++
	plan := s.plans
	s.mu.Unlock()
	f, err := t.In["raw"].Open(t.In["raw"].Manifest.Files[0].Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return nil, err
	}
	if s.hook != nil {
		if err := s.hook(plan); err != nil {
			return nil, err
		}
	}
	head, _, _ := strings.Cut(string(text), "\n")
	return []Part{{ID: head}}, nil
}

func (s *seer) Run(ctx context.Context, t *Task, p Part) error {
	f, err := t.Out.Create("train.txt", "text")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, p.ID); err != nil {
		return err
	}
	return f.Close(1)
}

func (*seer) Finish(context.Context, *Task, []Part) error { return nil }

func TestPlansWhileFilesAreDigested(t *testing.T) {
	big := strings.Repeat("line\n", leastForeseen/5+1)
	for name, c := range map[string]struct {
		text  string
		sees  bool
		jobs  int
		hook  func(f *fixture, plan int) error
		plans int
		want  string
	}{
		"early":       {"one\n" + big, true, 2, nil, 1, "one"},
		"small":       {"one\n", true, 2, nil, 1, "one"},
		"never":       {"one\n" + big, false, 2, nil, 1, "one"},
		"one by one":  {"one\n" + big, true, 1, nil, 1, "one"},
		"early fails": {"one\n" + big, true, 2, func(_ *fixture, plan int) error { return map[int]error{1: io.ErrNoProgress}[plan] }, 2, "one"},
		"early panics": {"one\n" + big, true, 2, func(_ *fixture, plan int) error {
			if plan == 1 {
				panic("early")
			}
			return nil
		}, 2, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.o.Jobs = c.jobs
			f.write("a.txt", c.text)
			s := &seer{Sees: c.sees}
			if c.hook != nil {
				s.hook = func(plan int) error { return c.hook(f, plan) }
			}
			g := Graph{Nodes: []Node{{Name: "raw", Stage: &Files{Path: f.raw}}, {Name: "seer", Stage: s, Inputs: map[string]string{"raw": "raw"}}}}
			res := f.run(g)
			n := res.Node("seer")
			if got := f.read(n, n.Manifest.Files[0].Name); got != c.want+"\n" {
				t.Errorf("made of %q", got)
			}
			if s.plans != c.plans {
				t.Errorf("%d plans, want %d", s.plans, c.plans)
			}
			f.run(g)
			if s.plans != c.plans {
				t.Error("planned again")
			}
		})
	}
}

// TestEarlyPlansOfChangedFilesDoNotCount changes the file between its being read
// for the plan and its digest.
func TestEarlyPlansOfChangedFilesDoNotCount(t *testing.T) {
	f := newFixture(t)
	big := strings.Repeat("line\n", leastForeseen/5+1)
	f.write("a.txt", "one\n"+big)
	s := &seer{Sees: true}
	e, err := newEngine(&Graph{Nodes: []Node{{Name: "raw", Stage: &Files{Path: f.raw}}, {Name: "seer", Stage: s, Inputs: map[string]string{"raw": "raw"}}}}, f.o)
	if err != nil {
		t.Fatal(err)
	}
	e.rec = &recorder{}
	raw, n := e.byName["raw"], e.byName["seer"]
	for _, change := range []struct {
		name string
		do   func(path string) error
		want bool
	}{
		{"nothing", func(string) error { return nil }, true},
		{"replaced", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("two\n"+big), 0o666), os.Rename(path+".new", path))
		}, false},
		{"written to", func(path string) error { return os.WriteFile(path, []byte("six\n"+big), 0o666) }, false},
	} {
		time.Sleep(60 * time.Millisecond) // a change shows in the file's times
		e.foresee(t.Context(), raw, f.raw, []string{"a.txt"})
		if n.foresight == nil {
			t.Fatal("not planned early")
		}
		<-n.foresight.done
		if err := change.do(filepath.Join(f.raw, "a.txt")); err != nil {
			t.Fatal(err)
		}
		if raw.listing, err = raw.files.list(t.Context(), e.s.Digests(), 1, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		if parts, ok := e.foreseen(t.Context(), n); ok != change.want || ok && parts[0].ID != "one" {
			t.Errorf("%s: the plan counts: %v, %v", change.name, ok, parts)
		}
		n.foresight = nil
		if err := os.Chtimes(filepath.Join(f.raw, "a.txt"), time.Now(), time.Now()); err != nil { // its digest is not known any more
			t.Fatal(err)
		}
	}
}
