package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// putSplit commits an output of two parts, and their plan.
func putSplit(t *testing.T, s *Store, name string, texts ...string) *Manifest {
	t.Helper()
	w, err := s.NewPlan()
	if err != nil {
		t.Fatal(err)
	}
	write(t, side(w), "scan", "scan of "+name)
	plan := PlanManifest{Key: key(name)}
	var parts []*PartManifest
	for _, text := range texts {
		k := key("part " + text)
		plan.Parts = append(plan.Parts, PlanEntry{Key: k, ID: text})
		parts = append(parts, putPart(t, s, k, map[string]string{"train.txt": text}, map[string]string{"keys": "keys of " + text}))
	}
	if _, err := w.CommitPlan(plan); err != nil {
		t.Fatal(err)
	}
	f, err := s.NewFinish(parts)
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Commit(Manifest{Kind: "test/split", Key: key(name), Params: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func gc(t *testing.T, s *Store, o GCOptions) *GCReport {
	t.Helper()
	rep, err := s.GC(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// outputs returns the names under which putSplit and put made what is left.
func outputs(t *testing.T, s *Store, names ...string) (left []string) {
	t.Helper()
	for _, n := range names {
		if m, err := s.Manifest(key(n)); err == nil {
			if d := s.Check(t.Context(), m, false); len(d) > 0 {
				t.Errorf("%s: %v", n, d)
			}
			left = append(left, n)
		}
	}
	return left
}

func TestGCKeepsWhatRootsReach(t *testing.T) {
	s := newStore(t)
	job := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(job, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	all := []string{"old", "new", "pinned", "loose", "set", "made"}
	putSplit(t, s, "old", "a\n", "b\n")
	putSplit(t, s, "new", "a\n", "c\n") // shares a part with old
	for _, n := range all[2:] {
		put(t, s, key(n), map[string]string{"x": n})
	}
	if err := s.Pin("best", key("pinned")); err != nil {
		t.Fatal(err)
	}
	root := Root{Job: job, Nodes: map[string]RootNode{
		"split": {Key: key("new"), Made: key("new")},
		"train": {Key: key("not made yet"), Made: key("made")},
	}}
	if err := s.SaveRoot(root); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveRoot(Root{Job: job, Set: []string{"steps=3"}, Nodes: map[string]RootNode{"x": {Key: key("set")}}}); err != nil {
		t.Fatal(err)
	}
	before := tree(t, s)
	dry := gc(t, s, GCOptions{DryRun: true})
	equal(t, "store after a dry run", tree(t, s), before)
	equal(t, "roots", dry.Roots, []string{job, job + " (steps=3)", "best"})

	rep := gc(t, s, GCOptions{Grace: time.Hour})
	if !slices.Equal(rep.Swept, dry.Swept) || rep.Bytes == 0 || rep.Deleted != 0 || rep.Kept != 4 {
		t.Errorf("swept %+v, the dry run said %+v", rep, dry.Swept)
	}
	equal(t, "left", outputs(t, s, all...), []string{"new", "pinned", "set", "made"})
	if !s.HasPart(key("part a\n")) || s.HasPart(key("part b\n")) || !s.HasPart(key("part c\n")) {
		t.Error("the parts left are not those of the plan")
	}
	if _, why, err := s.Part(t.Context(), key("part a\n")); err != nil {
		t.Errorf("part a: %v %s", err, why)
	}
	if p, err := s.Plan(t.Context(), key("new")); err != nil || len(p.Parts) != 2 {
		t.Errorf("plan: %v", err)
	}

	// Within the grace what was swept can be brought back; after it, not.
	if names, _ := readNames(filepath.Join(s.dir, "trash")); len(names) == 0 {
		t.Error("the trash is empty")
	}
	s.now = func() time.Time { return time.Now().Add(59 * time.Minute) }
	if rep := gc(t, s, GCOptions{Grace: time.Hour}); rep.Deleted != 0 || len(rep.Swept) != 0 {
		t.Errorf("within the grace: %+v", rep)
	}
	s.now = func() time.Time { return time.Now().Add(-time.Hour) } // the clock was set back
	if rep := gc(t, s, GCOptions{Grace: time.Hour}); rep.Deleted != 0 {
		t.Errorf("with the clock set back: %+v", rep)
	}
	s.now = func() time.Time { return time.Now().Add(61 * time.Minute) }
	if rep := gc(t, s, GCOptions{Grace: time.Hour}); rep.Deleted == 0 || rep.Freed == 0 {
		t.Errorf("after the grace: %+v", rep)
	}
	s.now = time.Now

	// A job file that is gone keeps nothing.
	if err := os.Remove(job); err != nil {
		t.Fatal(err)
	}
	gc(t, s, GCOptions{})
	equal(t, "left", outputs(t, s, all...), []string{"pinned"})
	if err := s.Unpin("best"); err != nil {
		t.Fatal(err)
	}
	gc(t, s, GCOptions{})
	equal(t, "store", tree(t, s), []string{"FORMAT"})
}

func TestGCHonoursLeases(t *testing.T) {
	s := newStore(t)
	put(t, s, key("read"), map[string]string{"x": "read"})
	put(t, s, key("other"), map[string]string{"x": "other"})
	w, err := s.NewPart() // at work: its object has no name yet
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	write(t, w.Create, "train.txt", "new\n")
	if err := errors.Join(w.w.settle(), s.publish(w.w.files...)); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Lease([]Key{key("read")})
	if err != nil {
		t.Fatal(err)
	}
	rep := gc(t, s, GCOptions{})
	equal(t, "left", outputs(t, s, "read", "other"), []string{"read"})
	if len(rep.Busy) != 1 || !strings.HasSuffix(rep.Busy[0], ":"+itoa(os.Getpid())) {
		t.Errorf("busy %v", rep.Busy)
	}
	if !s.holds(w.w.files[0].FileEntry) {
		t.Error("a young object was swept while its runner works")
	}
	w.Discard()
	lease.Release()
	gc(t, s, GCOptions{})
	equal(t, "store", tree(t, s), []string{"FORMAT"})

	// A lease of another host lives as long as its file is touched.
	put(t, s, key("read"), map[string]string{"x": "read"})
	dir := filepath.Join(s.dir, "leases")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "elsewhere_b_7_9_00.json")
	text := `{"host":"elsewhere","boot":"b","pid":7,"start":9,"keys":["` + string(key("read")) + `"]}`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	gc(t, s, GCOptions{})
	equal(t, "left", outputs(t, s, "read"), []string{"read"})
	old := time.Now().Add(-2 * leaseStale)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	gc(t, s, GCOptions{})
	equal(t, "store", tree(t, s), []string{"FORMAT"})
}

func itoa(n int) string {
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

func TestGCKeepsTheCheckpointsOfUnfinishedWork(t *testing.T) {
	s := newStore(t)
	job := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(job, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"wanted", "published", "unwanted"} {
		if err := s.SaveCheckpoint(key(n), 5, func(dir string) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, key("published"), nil)
	if err := s.SaveRoot(Root{Job: job, Nodes: map[string]RootNode{"a": {Key: key("wanted")}, "b": {Key: key("published")}}}); err != nil {
		t.Fatal(err)
	}
	gc(t, s, GCOptions{})
	names, err := readNames(filepath.Join(s.dir, "work", "checkpoints"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "checkpoints", names, []string{string(key("wanted"))})
}

func TestGCRemovesWhatAKillLeft(t *testing.T) {
	s := newStore(t)
	job := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(job, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	put(t, s, key("a"), map[string]string{"x": "text"})
	if err := s.SaveRoot(Root{Job: job, Nodes: map[string]RootNode{"a": {Key: key("a")}, "b": {Key: key("b")}}}); err != nil {
		t.Fatal(err)
	}
	want := tree(t, s)
	gone := self()
	gone.PID = 1 << 22
	for _, p := range []string{
		"outputs/" + string(key("a")) + "/x.1234.tmp", "outputs/" + string(key("b")) + "/x",
		"work/tmp/" + gone.String() + "/1-ab/file-1", "objects/ab/abcd", ".FORMAT.0011",
		"locks/" + string(key("c")) + ".lock.12", "plans/" + string(key("z")) + ".json",
	} {
		p = filepath.Join(s.dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("left"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	gc(t, s, GCOptions{})
	equal(t, "store", tree(t, s), want)
	if rep := gc(t, s, GCOptions{}); len(rep.Swept) > 0 || rep.Deleted > 0 {
		t.Errorf("the second gc found %+v", rep)
	}
}

func TestGCOfNoStoreCreatesNone(t *testing.T) {
	s := newStore(t)
	gc(t, s, GCOptions{})
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("gc created a store")
	}
}

func TestPins(t *testing.T) {
	s := newStore(t)
	put(t, s, key("a"), nil)
	for _, bad := range []string{"", "a/b", "..", ".x"} {
		if s.Pin(bad, key("a")) == nil || s.Unpin(bad) == nil {
			t.Errorf("the name %q was taken", bad)
		}
	}
	if err := s.Pin("x", key("none")); err == nil {
		t.Error("pinned what is not there")
	}
	if err := s.Pin("x", key("a")); err != nil {
		t.Error(err)
	}
	if pins, err := s.Pins(); err != nil || len(pins) != 1 || pins["x"] != key("a") {
		t.Errorf("%v %v", pins, err)
	}
	if err := s.Unpin("gone"); err != nil {
		t.Error(err)
	}
}
