package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// planned returns "name state parts_done/parts why; why".
func (f *fixture) planned(g Graph, o Options) []string {
	f.t.Helper()
	list, err := Plan(f.t.Context(), g, o)
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, p := range list {
		line := p.Stage + " " + string(p.State)
		if len(p.Why) > 0 {
			line += ": " + strings.Join(p.Why, "; ")
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func TestPlanSaysWhatWouldRunAndWhy(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	f.o.Job = filepath.Join(t.TempDir(), "job.yaml")
	equal(t, "first plan", f.planned(f.graph(), f.o), []string{
		"join pending: never made", "raw cached", "split pending: never made", "train pending: never made",
	})
	if _, err := os.Stat(f.store.Dir()); err == nil {
		t.Error("planning created the store")
	}
	res := f.run(f.graph())
	equal(t, "plan after the run", f.planned(f.graph(), f.o), []string{"join cached", "raw cached", "split cached", "train cached"})

	g := f.graph()
	for i, n := range g.Nodes {
		switch n.Name {
		case "join":
			g.Nodes[i].Stage = &join{Upper: true}
		case "train":
			g.Nodes[i].Stage = &train{Steps: 12}
		}
	}
	join, train := res.Node("join").Key, "train"
	_ = train
	list, err := Plan(t.Context(), g, f.o)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "changed parameters", f.planned(g, f.o), []string{
		"join pending: upper false -> true", "raw cached", "split cached",
		"train pending: steps 10 -> 12; input text: join " + join.Short() + " -> " + find(list, "join").Key.Short(),
	})

	f.file("b.tsv", 3)
	f.file("a.tsv", 8)
	split := res.Node("split").Key
	list, err = Plan(t.Context(), f.graph(), f.o)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "changed files", f.planned(f.graph(), f.o), []string{
		"join pending: input text: split " + split.Short() + " -> " + find(list, "split").Key.Short(), "raw cached",
		"split pending: input raw: a.tsv changed; b.tsv added",
		"train pending: input text: join " + join.Short() + " -> " + find(list, "join").Key.Short(),
	})
	if p := find(list, "split"); p.Parts != -1 {
		t.Errorf("%d parts planned without being asked", p.Parts)
	}

	// The parts are counted on request, and the plan they make is kept.
	o := f.o
	o.PlanParts = true
	f.diary.take(t)
	for range 2 {
		if list, err = Plan(t.Context(), f.graph(), o); err != nil {
			t.Fatal(err)
		}
		if p := find(list, "split"); p.State != Partial || p.Parts != 3 || p.PartsDone != 2 {
			t.Errorf("split %s, %d of %d parts", p.State, p.PartsDone, p.Parts)
		}
	}
	equal(t, "work of planning", f.diary.take(t), []string{"plan"})

	// Without the job's root, the run log knows.
	if err := os.RemoveAll(filepath.Join(f.store.Dir(), "roots")); err != nil {
		t.Fatal(err)
	}
	got := f.planned(f.graph(), f.o)
	if i := slices.Index(got, "split partial: input raw: a.tsv changed; b.tsv added"); i < 0 {
		t.Errorf("by the run log: %q", got)
	}
}

func TestPlanOfMissingFiles(t *testing.T) {
	f := newFixture(t)
	f.raw += "-nowhere"
	got := f.planned(f.graph(), f.o)
	equal(t, "plan", got, []string{
		"join blocked", "raw refused: " + f.raw + ": no such file or directory", "split blocked", "train blocked",
	})
}

func TestStatusShowsWhoWorks(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	g := f.graph()
	j := &join{began: make(chan struct{}), wait: make(chan struct{})}
	g.Nodes[0].Stage = j
	done := make(chan error)
	go func() {
		_, err := Run(t.Context(), g, f.o)
		done <- err
	}()
	<-j.began
	list, err := Status(t.Context(), f.graph(), f.o)
	if err != nil {
		t.Fatal(err)
	}
	if p := find(list, "join"); p.State != Running || !strings.HasSuffix(p.Owner, fmt.Sprintf(":%d", os.Getpid())) {
		t.Errorf("join is %s by %s", p.State, p.Owner)
	}
	if p := find(list, "split"); p.State != Cached || p.Rows != 9 || p.Digest == "" || p.Bytes == 0 || p.Path != f.store.OutputDir(p.Key) {
		t.Errorf("split is %+v", p)
	}
	if p := find(list, "raw"); p.State != Cached || p.Path != f.raw {
		t.Errorf("raw is %+v", p)
	}
	if p := find(list, "train"); p.State != Pending || len(p.Why) > 0 {
		t.Errorf("train is %+v", p)
	}
	close(j.wait)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestStageAndPartRunOnlyWhatIsAskedFor(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	f.o.Stage = "split"
	for _, i := range []int{2, 0, 2} {
		f.o.Part = &i
		res := f.run(f.graph())
		n := res.Node("split")
		if n.Manifest != nil || n.Parts != 3 {
			t.Errorf("part %d: %+v", i, n)
		}
	}
	equal(t, "work", trim(f.diary.take(t)), []string{"part a.tsv 1", "part a.tsv 9", "plan"})
	bad := 3
	f.o.Part = &bad
	if _, err := Run(t.Context(), f.graph(), f.o); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "has parts 0 to 2, not 3") {
		t.Errorf("part 3: %v", err)
	}
	list, err := Plan(t.Context(), f.graph(), Options{Store: f.store, Numerics: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	if p := find(list, "split"); p.State != Partial || p.Parts != 3 || p.PartsDone != 2 {
		t.Errorf("plan says %+v", p)
	}
	// The job after the array makes what is missing and finishes.
	f.o.Part = nil
	res := f.run(f.graph())
	equal(t, "work", trim(f.diary.take(t)), []string{"finish", "part a.tsv 5"})
	equal(t, "states", states(res), []string{"raw cached", "split done"})

	// A stage whose output is there needs nothing of what it was made of.
	f.o.Stage = "join"
	f.run(f.graph())
	if err := os.RemoveAll(f.store.OutputDir(res.Node("split").Key)); err != nil {
		t.Fatal(err)
	}
	f.diary.take(t)
	f.run(f.graph())
	equal(t, "work", f.diary.take(t), nil)

	// A part of a stage without parts is the stage.
	f.o.Stage, f.o.Part = "train", new(int)
	if n := f.run(f.graph()).Node("train"); n.Manifest == nil || n.State != Done {
		t.Errorf("train is %+v", n)
	}
}

// trim cuts the digest off "part FILE LINE DIGEST".
func trim(did []string) []string {
	for i, s := range did {
		if f := strings.Fields(s); len(f) == 4 {
			did[i] = strings.Join(f[:3], " ")
		}
	}
	return did
}

func TestVerifyReadsEverything(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	res := f.run(f.graph())
	if d, err := Verify(t.Context(), f.graph(), f.o); err != nil || len(d) > 0 {
		t.Errorf("whole store: %v, %v", d, err)
	}
	flipKeepingTimes(t, filepath.Join(res.Node("split").Dir, "train-00001-of-00003.txt"))
	d, err := Verify(t.Context(), f.graph(), f.o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range d {
		got = append(got, x.Kind+" "+x.File+" "+x.Problem)
	}
	slices.Sort(got)
	equal(t, "damage", slices.Compact(got), []string{"test/split train-00001-of-00003.txt digest", "test/split train.txt digest"})
	// What verify found is known to the next run.
	f.diary.take(t)
	equal(t, "digests", digests(f.run(f.graph())), digests(res))
	equal(t, "work", trim(f.diary.take(t)), []string{"finish", "part a.tsv 5"})
	if d, err := Verify(t.Context(), f.graph(), f.o); err != nil || len(d) > 0 {
		t.Errorf("mended store: %v, %v", d, err)
	}
	if d, err := f.store.Verify(t.Context()); err != nil || len(d) > 0 {
		t.Errorf("mended store, all of it: %v, %v", d, err)
	}
}

// flipKeepingTimes changes one byte as a failing disk does.
func flipKeepingTimes(t *testing.T, path string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, path)
	if err := os.Chtimes(path, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{text[len(text)/2] ^ 4}, int64(len(text)/2)); err != nil {
		t.Fatal(err)
	}
}
