package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier/pipeline/store"
)

func TestRunMakesWhatIsMissingAndNothingElse(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 10)
	f.file("b.tsv", 3)
	res := f.run(f.graph())
	equal(t, "states", states(res), []string{"join done", "raw done", "split done", "train done"})
	sp := res.Node("split")
	var names []string
	for _, e := range sp.Manifest.Files {
		names = append(names, fmt.Sprintf("%s %d", e.Name, e.Rows))
	}
	equal(t, "files", names, []string{
		"test-00000-of-00001.txt 1",
		"train-00000-of-00004.txt 4", "train-00001-of-00004.txt 4", "train-00002-of-00004.txt 1", "train-00003-of-00004.txt 3",
		"count.txt 0",
	})
	if got := f.read(sp, "train-00002-of-00004.txt"); got != "a.tsv-k8\ttext 8\n" {
		t.Errorf("third shard is %q", got)
	}
	if sp.Manifest.Rows != 13 || sp.Manifest.RowsSeen != 13 || sp.Manifest.Notes["keys"] != "13" || sp.Manifest.Notes["planned_parts"] != "4" {
		t.Errorf("manifest %+v", sp.Manifest)
	}
	// The folder reads as it stands.
	text, err := os.ReadFile(filepath.Join(sp.Dir, "train-00003-of-00004.txt"))
	if err != nil || !strings.HasPrefix(string(text), "b.tsv-k0\t") {
		t.Errorf("shard in the folder: %q, %v", text, err)
	}
	first := f.diary.take(t)
	if len(first) != 8 { // plan, 4 parts, finish, join, train
		t.Errorf("first run did %q", first)
	}

	again := f.run(f.graph())
	equal(t, "states of the second run", states(again), []string{"join cached", "raw cached", "split cached", "train cached"})
	equal(t, "digests of the second run", digests(again), digests(res))
	equal(t, "work of the second run", f.diary.take(t), nil)
}

func TestOutputsDoNotDependOnWorkersPlaceOrTime(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 40)
	f.file("sub/b.tsv", 17)
	f.write("dup.tsv", "a.tsv-k3\tagain\na.tsv-k9\tagain\nfresh\tonly once\n")
	loose := NoLimit
	f.o.MaxDead = &loose
	want := digests(f.run(f.graph()))
	keys := func(res *Result) (out []string) {
		for _, n := range res.Nodes {
			out = append(out, string(n.Key))
		}
		return out
	}
	wantKeys := keys(f.run(f.graph()))
	manifests := func(res *Result) (out []string) {
		for _, n := range res.Nodes {
			text, err := os.ReadFile(filepath.Join(f.store.OutputDir(n.Key), "manifest.json"))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
		return out
	}
	wantManifests := manifests(f.run(f.graph()))
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(f.raw, moved); err != nil {
		t.Fatal(err)
	}
	f.raw = moved
	for _, jobs := range []int{1, 2, 7} {
		t.Setenv("TZ", []string{"Asia/Tokyo", "America/Lima", "UTC"}[jobs%3])
		t.Setenv("LANG", "tr_TR.UTF-8")
		f.open(filepath.Join(t.TempDir(), "other"))
		f.o.Jobs, f.o.Threads, f.o.MaxDead = jobs, jobs, &loose
		res := f.run(f.graph())
		equal(t, fmt.Sprintf("digests with %d workers", jobs), digests(res), want)
		equal(t, fmt.Sprintf("keys with %d workers", jobs), keys(res), wantKeys)
		equal(t, fmt.Sprintf("manifests with %d workers", jobs), manifests(res), wantManifests)
	}
	if got := slices.IndexFunc(want, func(s string) bool { return strings.HasSuffix(s, " none") }); got >= 0 {
		t.Errorf("an output is missing: %v", want)
	}
}

func TestTouchAndMoveReRunNothing(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 10)
	want := digests(f.run(f.graph()))
	f.diary.take(t)
	p := filepath.Join(f.raw, "a.tsv")
	future := time.Now().AddDate(1, 0, 0)
	if err := os.Chtimes(p, future, future); err != nil {
		t.Fatal(err)
	}
	equal(t, "after touch", digests(f.run(f.graph())), want)
	if err := os.Rename(f.raw, f.raw+"-moved"); err != nil {
		t.Fatal(err)
	}
	f.raw += "-moved"
	res := f.run(f.graph())
	equal(t, "after move", digests(res), want)
	equal(t, "work", f.diary.take(t), nil)
}

func TestOneChangedRowRedoesOnePart(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 20)
	f.run(f.graph())
	f.diary.take(t)
	text, err := os.ReadFile(filepath.Join(f.raw, "a.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	f.write("a.tsv", strings.Replace(string(text), "text 5\n", "TEXT 5\n", 1))
	res := f.run(f.graph())
	did := f.diary.take(t)
	parts := slices.DeleteFunc(slices.Clone(did), func(s string) bool { return !strings.HasPrefix(s, "part ") })
	if len(parts) != 1 || !strings.HasPrefix(parts[0], "part a.tsv 5 ") {
		t.Errorf("parts made again: %q", parts)
	}
	if n := res.Node("split"); n.PartsRun != 1 || n.Parts != 5 {
		t.Errorf("split ran %d of %d parts", n.PartsRun, n.Parts)
	}
	if got := f.read(res.Node("join"), "all.txt"); !strings.Contains(got, "TEXT 5\n") || strings.Count(got, "\n") != 18 {
		t.Errorf("joined text is %q", got)
	}
	// And back: everything is still there.
	f.write("a.tsv", string(text))
	equal(t, "states after undoing", states(f.run(f.graph())), []string{"join cached", "raw cached", "split cached", "train cached"})
}

func TestPartsOfAnotherKeyAreFound(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 8)
	f.run(f.graph())
	f.diary.take(t)
	f.file("z.tsv", 4)
	res := f.run(f.graph())
	if n := res.Node("split"); n.PartsRun != 1 || n.Parts != 3 {
		t.Errorf("split ran %d of %d parts", n.PartsRun, n.Parts)
	}
}

func TestDuplicatesAcrossPartsAreReplacedAndDropped(t *testing.T) {
	f := newFixture(t)
	loose := NoLimit
	f.o.MaxDead = &loose
	f.write("a.tsv", "x1\tone\nx2\ttwo\nx3\tthree\nx4\tfour\nx2\tagain\nx5\tfive\nx3\tagain\nx6\tsix\nx1\tagain\nx2\tonce more\n")
	res := f.run(f.graph())
	if got, want := f.read(res.Node("join"), "all.txt"), "x1\tone\nx2\ttwo\nx3\tthree\nx4\tfour\nx5\tfive\nx6\tsix\n"; got != want {
		t.Errorf("joined %q, want %q", got, want)
	}
	m := res.Node("split").Manifest
	if m.Dead != 4 || m.Rows != 6 {
		t.Errorf("%d dead, %d rows", m.Dead, m.Rows)
	}
	if shards := m.Shards("train"); len(shards) != 2 || shards[1].Rows != 2 || shards[1].Name != "train-00001-of-00002.txt" {
		t.Errorf("shards %+v", shards)
	}
	// The part itself is untouched: without the first four rows nothing is a
	// duplicate in it.
	f.diary.take(t)
	f.write("a.tsv", "x1\tone\nx2\ttwo\nx3\tthree\nx4\tfour\nx2\tagain\nx5\tfive\nx3\tagain\nx6\tsix\n")
	f.run(f.graph())
	for _, did := range f.diary.take(t) {
		if strings.HasPrefix(did, "part ") {
			t.Errorf("made again: %s", did)
		}
	}
}

func TestNodesWithEqualKeysWorkOnce(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 12)
	g := f.graph()
	for i := range 3 {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprint("twin", i), Stage: &split{diary: f.diary}, Inputs: map[string]string{"raw": "raw"}})
	}
	f.o.Jobs = 1
	res := f.run(g)
	if got := f.diary.take(t); len(got) != 7 {
		t.Errorf("did %q", got)
	}
	for i := range 3 {
		if res.Node(fmt.Sprint("twin", i)).Key != res.Node("split").Key {
			t.Errorf("twin %d has another key", i)
		}
	}
}

func TestEqualPartsWorkOnce(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 4)
	g := f.graph()
	twin := &twins{diary: f.diary}
	g.Nodes = append(g.Nodes, Node{Name: "twins", Stage: twin})
	f.o.Jobs = 3
	res := f.run(g)
	made := 0
	for _, did := range f.diary.take(t) {
		if did == "twin" {
			made++
		}
	}
	if n := res.Node("twins"); made != 1 || len(n.Manifest.Shards("train")) != 5 || n.Parts != 5 {
		t.Errorf("made %d times, %d shards", made, len(n.Manifest.Shards("train")))
	}
}

func TestGCWhileRunsWork(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 12)
	f.o.Job = filepath.Join(f.raw, "..", "job.yaml")
	if err := os.WriteFile(f.o.Job, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		var errs []error
		for {
			select {
			case <-stop:
				done <- errors.Join(errs...)
				return
			default:
			}
			if _, err := f.store.GC(t.Context(), store.GCOptions{}); err != nil {
				errs = append(errs, err)
			}
		}
	}()
	for i := range 8 { // each run makes the outputs of the one before garbage
		g := f.graph()
		g.Nodes[2].Stage = &split{Rows: 3 + i%3, Suffix: fmt.Sprint(i % 4)}
		res := f.run(g)
		if got := f.read(res.Node("join"), "all.txt"); strings.Count(got, fmt.Sprintf("%d\n", i%4)) < 11 {
			t.Errorf("run %d: %q", i, got)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	res := f.run(f.graph())
	if _, err := f.store.GC(t.Context(), store.GCOptions{}); err != nil {
		t.Error(err)
	}
	equal(t, "states", states(f.run(f.graph())), []string{"join cached", "raw cached", "split cached", "train cached"})
	if d, err := f.store.Verify(t.Context()); err != nil || len(d) > 0 {
		t.Errorf("damage %v, %v", d, err)
	}
	if left, err := os.ReadDir(filepath.Join(f.store.Dir(), "outputs")); err != nil || len(left) != len(res.Nodes) {
		t.Errorf("%d outputs left, %v", len(left), err)
	}
}
