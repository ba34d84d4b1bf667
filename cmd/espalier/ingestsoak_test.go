package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

// soakEnv is the environment variable that lets TestIngestSoak run for longer,
// such as 30m; without it, it runs for a few seconds.
const soakEnv = "ESPALIER_SOAK"

// A soaked corpus is a raw file whose ingest is killed and cut.
type soaked struct {
	name, file string
	lines      bool // a file of lines: what stands before a cut is good
	raw        []byte
	rows       []string // as cat prints them, undisturbed
	digest     string
}

func soakedCorpora() []*soaked {
	var qqp, zh, images strings.Builder
	qqp.WriteString("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n")
	for i := range 20_000 {
		fmt.Fprintf(&qqp, "%d\t1\t2\tWhat is \"%d\" of these?\tHow much is %d?\t%d\n", i, i*i, i, i%2)
	}
	for i := range 10_000 {
		fmt.Fprintf(&zh, `{"content": "\u7c7b\u578b#\u88e4%d*\u7248\u578b#\u5bbd\u677e", "summary": "\u5bbd\u677e\u7684\u88e4 %d"}`+"\n", i, i*i)
	}
	images.WriteString(`{"images": [`)
	for i := range 6_000 {
		if i > 0 {
			images.WriteString(", ")
		}
		fmt.Fprintf(&images, `{"filepath": "val2014", "sentids": [%d], "filename": "x%d.jpg", "imgid": %d, "split": %q, "sentences": [{"tokens": ["a"], "raw": "A %d.", "imgid": %d, "sentid": %d}], "cocoid": %d}`,
			i, i, i, []string{"train", "val", "test"}[i%3], i, i, i, i)
	}
	images.WriteString(`], "dataset": "coco"}`)
	return []*soaked{
		{name: "glue/qqp", file: "train.tsv", lines: true, raw: []byte(qqp.String())},
		{name: "adgen", file: "train.json", lines: true, raw: []byte(zh.String())},
		{name: "coco/karpathy", file: "dataset_coco.json", raw: []byte(images.String())},
	}
}

// TestIngestSoak kills the real binary at random moments of ingests and cuts
// their files at random places. An ingest that is run again until it ends gives
// the bytes of one that was never disturbed, and of a cut file there is either
// nothing, or all rows before the cut and no other.
func TestIngestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for seconds")
	}
	limit := 4 * time.Second
	if text := os.Getenv(soakEnv); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	p := build(t)
	corpora := soakedCorpora()
	for _, s := range corpora {
		s.digest, s.rows = p.ingested(t, s, s.raw, t.TempDir())
		if len(s.rows) < 6000 {
			t.Fatalf("%s: %d rows", s.name, len(s.rows))
		}
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	kills, cuts, refused := 0, 0, 0
	for start, round := time.Now(), 0; round < len(corpora) || time.Since(start) < limit; round++ {
		s := corpora[round%len(corpora)]
		dir := t.TempDir()
		n, err := p.killed(s, dir, r)
		if err != nil {
			t.Fatal(err)
		}
		kills += n
		if digest, rows := p.ingested(t, s, s.raw, dir); digest != s.digest || !slices.Equal(rows, s.rows) {
			t.Fatalf("%s: %d rows with digest %s after %d kills, want %d with %s", s.name, len(rows), digest, n, len(s.rows), s.digest)
		}
		at := r.IntN(len(s.raw))
		cuts++
		if p.cut(t, s, at, t.TempDir()) {
			refused++
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d cut files of which %d were refused", kills, cuts, refused)
	if kills == 0 || refused == 0 || refused == cuts {
		t.Error("nothing was killed, refused or read")
	}
}

// start begins an ingest of bytes below a folder.
func (p *program) start(s *soaked, raw []byte, dir string) (*exec.Cmd, *bytes.Buffer, error) {
	file := filepath.Join(dir, s.file)
	if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, raw) {
		if err := os.WriteFile(file, raw, 0o666); err != nil {
			return nil, nil, err
		}
	}
	errs := &bytes.Buffer{}
	c := exec.Command(p.binary, "ingest", s.name, "--raw", file, "--out", filepath.Join(dir, "out"), "--progress", "none")
	c.Env, c.Stderr = p.env, errs
	return c, errs, c.Start()
}

// killed begins an ingest a few times and kills it, and says how often that was
// before its end.
func (p *program) killed(s *soaked, dir string, r *rand.Rand) (kills int, err error) {
	for range 1 + r.IntN(4) {
		c, errs, err := p.start(s, s.raw, dir)
		if err != nil {
			return kills, err
		}
		time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
		_ = c.Process.Kill() // it may have ended
		err = c.Wait()
		var exit *exec.ExitError
		switch {
		case err == nil:
		case !errors.As(err, &exit) || exit.ExitCode() >= 0:
			return kills, fmt.Errorf("%s: %w: %s", s.name, err, errs)
		default:
			kills++
		}
	}
	return kills, nil
}

// ingested runs an ingest to its end and returns its digest and rows.
func (p *program) ingested(t *testing.T, s *soaked, raw []byte, dir string) (string, []string) {
	t.Helper()
	c, errs, err := p.start(s, raw, dir)
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", s.name, err, errs)
	}
	return p.result(t, filepath.Join(dir, "out"))
}

func (p *program) result(t *testing.T, out string) (string, []string) {
	t.Helper()
	if _, err := os.Stat(out + ".partial"); err == nil {
		t.Errorf("%s.partial is left", out)
	}
	m, err := store.ReadManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(p.binary, "cat", out)
	c.Env = p.env
	text, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if m.Rows == 0 {
		rows = nil
	}
	if int64(len(rows)) != m.Rows {
		t.Errorf("%s: %d rows, its manifest says %d", out, len(rows), m.Rows)
	}
	return m.Digest, rows
}

// cut ingests a file that ends early and reports whether it was refused.
func (p *program) cut(t *testing.T, s *soaked, at int, dir string) (refused bool) {
	t.Helper()
	c, errs, err := p.start(s, s.raw[:at], dir)
	if err == nil {
		err = c.Wait()
	}
	out := filepath.Join(dir, "out")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == pipeline.ExitBadInput {
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s cut at %d is refused and has an output", s.name, at)
		}
		if s.lines && at > 200 {
			t.Errorf("%s cut at %d: %s", s.name, at, errs)
		}
		if !strings.Contains(errs.String(), s.file) {
			t.Errorf("%s cut at %d: %s", s.name, at, errs)
		}
		return true
	}
	if err != nil {
		t.Fatalf("%s cut at %d: %v: %s", s.name, at, err, errs)
	}
	_, rows := p.result(t, out)
	whole := bytes.Count(s.raw[:at], []byte("\n"))
	if s.name == "glue/qqp" {
		whole-- // the header
	}
	// The last line may be whole but for its end, or be a shorter row.
	n := min(len(rows), whole)
	if !s.lines || len(rows) < whole || len(rows) > whole+1 || !slices.Equal(rows[:n], s.rows[:n]) {
		t.Errorf("%s cut at %d: %d rows, want the %d of the lines before it", s.name, at, len(rows), whole)
	}
	return false
}
