package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRegionsJob runs VL-T5 over regions that a detector would have given, of
// which images have one to four, from raw files to a report.
func TestRegionsJob(t *testing.T) {
	p := build(t)
	dir := t.TempDir()
	job, err := os.ReadFile(filepath.Join("testdata", "regions.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "regions.yaml"), job, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	sample := exec.Command(p.binary, "data", "sample", "gqa", "--out", filepath.Join(dir, "raw"), "--images", "20")
	sample.Env = p.env
	if out, err := sample.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	images, err := os.ReadDir(filepath.Join(dir, "raw", "images"))
	if err != nil || len(images) != 20 {
		t.Fatalf("%d images, %v", len(images), err)
	}
	text := func(x []float32) string {
		var b bytes.Buffer
		for _, v := range x {
			if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	var tsv strings.Builder
	for i, e := range images {
		id, _, _ := strings.Cut(e.Name(), ".")
		var boxes, features []float32
		for k := range 1 + i%4 {
			boxes = append(boxes, float32(k), float32(k), float32(k+20), float32(k+30))
			for d := range 6 {
				features = append(features, float32((7*i+3*k+d)%11)/11)
			}
		}
		fmt.Fprintf(&tsv, "%s\t100\t100\t%d\t%s\t%s\n", id, 1+i%4, text(boxes), text(features))
	}
	if err := os.WriteFile(filepath.Join(dir, "boxes.tsv"), []byte(tsv.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	p.job = filepath.Join(dir, "regions.yaml")
	var digests []string
	for _, threads := range []string{"1", "2"} {
		root := filepath.Join(dir, "store"+threads)
		p.output(t, "run", root, "--progress", "none", "--threads", threads, "--report", filepath.Join(dir, "report"+threads))
		for _, s := range p.show(t, root) {
			digests = append(digests, s.Stage+" "+s.Digest)
			if s.Stage == "answers" {
				if rows := p.cat(t, s.Path); len(rows) != 6 || !strings.Contains(rows[0], `"text":`) {
					t.Errorf("answers %v, want 6", rows)
				}
			}
		}
	}
	if half := len(digests) / 2; strings.Join(digests[:half], "\n") != strings.Join(digests[half:], "\n") {
		t.Errorf("digests differ by threads: %v", digests)
	}
	report, err := os.ReadFile(filepath.Join(dir, "report1", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# VL-T5 over regions", "Training loss", "- trained: 67", "- features: 6 numbers a region"} {
		if !strings.Contains(string(report), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(string(report), "Validation trained") {
		t.Error("the report draws the size of the model by step")
	}
}

// cat returns the rows of an output as JSON lines.
func (p *program) cat(t *testing.T, path string) []string {
	t.Helper()
	c := exec.Command(p.binary, "cat", path)
	c.Env = p.env
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
