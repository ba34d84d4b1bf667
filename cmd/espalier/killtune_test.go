package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestKillTune kills a training with a method behind its first saved state, and
// goes on from there until it ends. Trained tensors, curve and answers are those
// of a run that was never killed.
func TestKillTune(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for longer than states are apart")
	}
	p := build(t)
	job, err := filepath.Abs(filepath.Join("testdata", "tune.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.job = job
	dir := t.TempDir()
	calm := filepath.Join(dir, "calm")
	p.output(t, "run", calm, "--progress", "none")
	want := p.show(t, calm)

	root := filepath.Join(dir, "killed")
	kills, resumed := 0, 0
	wait := 11 * time.Second // states are saved every 10 seconds
	for ; ; wait += 3 * time.Second {
		for path := range files(t, root, "work") {
			if strings.HasSuffix(path, "model.safetensors") && strings.Contains(path, "checkpoints") {
				resumed++
				break
			}
		}
		var log bytes.Buffer
		c := p.command("run", root, "--progress", "none", "-j", []string{"1", "2"}[kills%2])
		c.Stderr = &log
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(wait, func() { _ = c.Process.Kill() })
		err := c.Wait()
		timer.Stop()
		if err == nil {
			break
		}
		if c.ProcessState.ExitCode() != -1 {
			t.Fatalf("kill %d: %v\n%s", kills, err, &log)
		}
		kills++
	}
	if got := p.show(t, root); !slices.EqualFunc(got, want, func(a, b shown) bool {
		return a.Stage == b.Stage && a.State == b.State && a.Digest == b.Digest
	}) {
		t.Errorf("outputs %v, want those of an undisturbed run: %v", got, want)
	}
	p.output(t, "verify", root)
	t.Logf("%d kills, %d times the training was resumed", kills, resumed)
}
