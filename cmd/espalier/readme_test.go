package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// atSmallSize are the changes that make a command of a page cheap: the same
// command on the smoke job's data, with its outputs in a folder of the test.
// The commands of make that run the tests are this very test.
func atSmallSize(dir string) *strings.Replacer {
	return strings.NewReplacer(
		"make demo", "make demo JOB=jobs/smoke.yaml OUT="+filepath.Join(dir, "demo"),
		"make test\n", "make -n test\n",
		"make check\n", "make -n check\n",
		"jobs/demo.yaml", "jobs/smoke.yaml",
		"out/", dir+"/",
		"$COCO", dir+"/raw",
		"jobs/coco-karpathy.yaml", "jobs/coco-karpathy.yaml "+cocoAtSmallSize,
	)
}

// cocoAtSmallSize makes the job for real files small enough for a test.
const cocoAtSmallSize = "--set train.epochs=0 --set train.steps=2 --set train.model.width=32"

// TestPages runs every command of the pages that people read first.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the smoke job")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	small := atSmallSize(dir)
	// The compiler's cache lies in the user's cache folder too: it stays where it is.
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) ([]byte, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "GOCACHE="+strings.TrimSpace(string(goCache)))
		return cmd.CombinedOutput()
	}
	if out, err := run("make", "build"); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	if out, err := run("bin/espalier", "data", "sample", "coco", "--images", "60", "--out", filepath.Join(dir, "raw")); err != nil {
		t.Fatalf("data sample: %v\n%s", err, out)
	}
	for _, page := range []string{"README.md", filepath.Join("docs", "jobs.md")} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		blocks := shellBlock.FindAllStringSubmatch(string(text), -1)
		if page == "README.md" && len(blocks) < 4 {
			t.Errorf("%s has only %d blocks of commands", page, len(blocks))
		}
		for _, b := range blocks {
			if out, err := run("bash", "-euo", "pipefail", "-c", small.Replace(b[1])); err != nil {
				t.Errorf("%s: %v\n%s\n%s", page, err, b[1], out)
			}
		}
	}
}
