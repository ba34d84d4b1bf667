package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier/pipeline/store"
)

var update = flag.Bool("update", false, "rewrite the golden digests of stages")

// A shown is one line of espalier show --json.
type shown struct {
	Stage, Kind, State, Digest, Path string
}

// A program is the real binary on the smoke job, with a store of its own.
type program struct {
	binary, job string
	env         []string
}

// build makes the binary as make build does.
func build(t *testing.T) *program {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "espalier")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	job, err := filepath.Abs(filepath.Join("..", "..", "jobs", "smoke.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return &program{binary, job, append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "ESPALIER_STORE=")}
}

func (p *program) command(verb, store string, args ...string) *exec.Cmd {
	c := exec.Command(p.binary, append([]string{verb, p.job, "--store", store}, args...)...)
	c.Env = p.env
	return c
}

// output runs a verb to its end and returns what it prints.
func (p *program) output(t *testing.T, verb, store string, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	c := p.command(verb, store, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("espalier %s: %v\n%s", verb, err, &errs)
	}
	return out.Bytes()
}

// show returns the job's outputs in the job's order.
func (p *program) show(t *testing.T, store string) []shown {
	t.Helper()
	var all []shown
	for d := json.NewDecoder(bytes.NewReader(p.output(t, "show", store, "--json"))); d.More(); {
		var s shown
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// files returns the identity of every file below some folders of a store.
func files(t *testing.T, root string, folders ...string) map[string]fs.FileInfo {
	t.Helper()
	all := map[string]fs.FileInfo{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			all[path] = info
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// manifests returns those of files that commit an output or a part.
func manifests(t *testing.T, root string) map[string]fs.FileInfo {
	t.Helper()
	all := files(t, root, "outputs", "parts")
	for path := range all {
		if !strings.HasSuffix(path, ".json") {
			delete(all, path)
		}
	}
	return all
}

// TestKill kills the real binary at 64 random moments of a job. What was
// committed before a kill is neither made again nor changed, the outputs are
// those of an undisturbed run, and nothing temporary stays behind.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the smoke job many times")
	}
	const wantKills = 64
	p := build(t)
	dir := t.TempDir()
	calm := filepath.Join(dir, "calm store")
	begin := time.Now()
	p.output(t, "run", calm, "--progress", "none")
	whole := time.Since(begin)
	want := p.show(t, calm)

	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for round := 0; kills < wantKills; round++ {
		root := filepath.Join(dir, fmt.Sprintf("round %d", round))
		for attempt := 0; ; attempt++ {
			before := manifests(t, root)
			var log bytes.Buffer
			c := p.command("run", root, "--progress", "none", "-j", []string{"1", "2", "7"}[(round+attempt)%3])
			c.Stderr = &log
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			// Every tenth attempt may end, so that each round does.
			var timer *time.Timer
			if attempt%10 != 9 {
				delay := time.Duration(random.Int64N(int64(whole) / 2))
				timer = time.AfterFunc(delay, func() { c.Process.Kill() })
			}
			err := c.Wait()
			if timer != nil {
				timer.Stop()
			}
			after := manifests(t, root)
			for path, was := range before {
				is, ok := after[path]
				if !ok || !os.SameFile(was, is) || !was.ModTime().Equal(is.ModTime()) {
					t.Errorf("round %d, attempt %d: %s was committed and has been made again", round, attempt, path)
				}
			}
			if err == nil {
				break
			}
			if c.ProcessState.ExitCode() != -1 {
				t.Fatalf("round %d, attempt %d: %v\n%s", round, attempt, err, &log)
			}
			kills++
		}
		if got := p.show(t, root); !slices.EqualFunc(got, want, func(a, b shown) bool {
			return a.Stage == b.Stage && a.State == b.State && a.Digest == b.Digest
		}) {
			t.Errorf("round %d: outputs %v, want those of an undisturbed run: %v", round, got, want)
		}
		p.output(t, "gc", root, "--grace", "0")
		entries, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !slices.Contains([]string{"FORMAT", "groups", "objects", "outputs", "parts", "plans", "roots", "runs"}, e.Name()) {
				if left := files(t, root, e.Name()); len(left) > 0 || !e.IsDir() {
					t.Errorf("round %d: %s is left behind gc --grace 0, with %d files", round, e.Name(), len(left))
				}
			}
		}
		p.output(t, "verify", root)
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills; an undisturbed run took %v", kills, whole.Round(time.Millisecond))
}

// A goldenStage is what a stage of the smoke job gave when its kind's version
// was last raised.
type goldenStage struct {
	Kind     string `json:"kind"`
	Version  int    `json:"version"`
	Numerics string `json:"numerics,omitempty"`
	Digest   string `json:"digest"`
}

// TestVersions holds every kind to its word: equal inputs and parameters give
// equal bytes as long as Version stays. A stage is at fault if its bytes have
// changed while those of its inputs have not.
func TestVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the smoke job")
	}
	golden := filepath.Join("testdata", "digests.json")
	p := build(t)
	root := filepath.Join(t.TempDir(), "store")
	p.output(t, "run", root, "--progress", "none")
	got := map[string]goldenStage{}
	inputs := map[string][]store.InputRef{}
	for _, s := range p.show(t, root) {
		m, err := store.ReadManifest(s.Path)
		if err != nil {
			t.Fatal(err)
		}
		got[s.Stage] = goldenStage{m.Kind, m.Version, m.Numerics, m.Digest}
		inputs[s.Stage] = m.Inputs
	}
	if *update {
		b, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]goldenStage{}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, w := range want {
		known[w.Digest] = true
	}
	for stage, g := range got {
		w, ok := want[stage]
		if !ok {
			t.Errorf("stage %s is not in %s; run with -update", stage, golden)
			continue
		}
		sameInputs := !slices.ContainsFunc(inputs[stage], func(in store.InputRef) bool { return !known[in.Digest] })
		switch {
		case g.Kind == w.Kind && g.Version == w.Version && g.Digest != w.Digest && g.Numerics == w.Numerics && sameInputs:
			t.Errorf("stage %s: kind %s version %d gives digest %.8s, not %.8s: raise its Version and run with -update", stage, g.Kind, g.Version, g.Digest, w.Digest)
		case g.Kind != w.Kind || g.Version != w.Version:
			t.Errorf("stage %s: %s version %d, golden has %s version %d; run with -update", stage, g.Kind, g.Version, w.Kind, w.Version)
		}
	}
}
