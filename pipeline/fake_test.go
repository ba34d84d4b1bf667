package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"espalier/pipeline/store"
)

// A diary counts what fake stages did. It is a file, so that it outlives a
// killed process; each entry is one short append.
type diary struct{ path string }

func (d *diary) write(format string, args ...any) {
	if d == nil {
		return
	}
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...)
}

func (d *diary) lines(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// take returns the entries since the last take, sorted.
func (d *diary) take(t testing.TB) []string {
	t.Helper()
	lines := d.lines(t)
	os.Remove(d.path)
	slices.Sort(lines)
	return lines
}

// split is a Splitter like an ingest: it cuts its raw files into parts of
// Rows lines, writes the lines of each to "train" or "test", and leaves the
// digests of the keys beside the part. A line "key<TAB>text" with an empty text
// is a dead letter. Finish drops a key seen before.
type split struct {
	Rows   int    `yaml:"rows" json:"rows"`
	Suffix string `yaml:"suffix" json:"suffix"`
	Refuse string `yaml:"refuse" json:"refuse"` // a line that makes its file unusable

	diary *diary
	pause time.Duration                           // between lines
	hook  func(ctx context.Context, p Part) error // before a part
}

type slice struct {
	File  string `json:"file"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
	Line  int64  `json:"line"` // of the first row, from 1
}

func (*split) Kind() string { return "test/split" }
func (*split) Version() int { return 1 }

func (s *split) Check() error {
	if s.Rows == 0 {
		s.Rows = 4
	}
	if s.Rows < 0 {
		return fmt.Errorf("rows: %d, want at least 1", s.Rows)
	}
	return nil
}

func (s *split) Plan(ctx context.Context, t *Task) ([]Part, error) {
	s.diary.write("plan")
	var parts []Part
	rows := 0
	for _, e := range t.In["raw"].Manifest.Files {
		f, err := t.In["raw"].Open(e.Name)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		f.Close()
		if err != nil {
			return nil, err
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		off, line := int64(0), int64(1)
		for chunk := range slices.Chunk(lines, s.Rows) {
			body := bytes.Join(chunk, nil)
			if len(body) == 0 {
				continue
			}
			sum := sha256.Sum256(body)
			sl, _ := json.Marshal(slice{e.Name, off, off + int64(len(body)), line})
			parts = append(parts, Part{Index: len(parts), ID: fmt.Sprintf("%s %d %x", e.Name, line, sum[:8]), Slice: sl})
			off += int64(len(body))
			line += int64(len(chunk))
			rows += len(chunk)
		}
	}
	t.Out.Note("planned_parts", fmt.Sprint(len(parts)))
	side, err := t.Out.Side("scan")
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(side, "%d parts", len(parts))
	return parts, side.Close(0)
}

func (s *split) Run(ctx context.Context, t *Task, p Part) error {
	s.diary.write("part %s", p.ID)
	if s.hook != nil {
		if err := s.hook(ctx, p); err != nil {
			return err
		}
	}
	var sl slice
	if err := json.Unmarshal(p.Slice, &sl); err != nil {
		return err
	}
	f, err := t.In["raw"].Open(sl.File)
	if err != nil {
		return err
	}
	defer f.Close()
	if scan, err := t.OpenSide("scan"); err != nil {
		return err
	} else {
		scan.Close()
	}
	side, err := t.Out.Side("keys")
	if err != nil {
		return err
	}
	outs := make(map[string]*store.OutFile)
	rows := make(map[string]int64)
	line := sl.Line
	off := sl.Start
	r := bufio.NewScanner(io.NewSectionReader(f, sl.Start, sl.End-sl.Start))
	for ; r.Scan(); line++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(s.pause)
		t.RowsIn(sl.File, 1)
		raw := r.Text()
		if s.Refuse != "" && raw == s.Refuse {
			return &RefusedError{File: sl.File, Line: line, Offset: -1, Reason: "cannot be read"}
		}
		key, text, _ := strings.Cut(raw, "\t")
		if text == "" {
			n := line - 1
			if err := t.Dead(DeadLetter{Corpus: "c", Task: "t", File: sl.File, N: &n, Line: &line, Offset: &off, Field: "text", Reason: "empty", Raw: []byte(raw)}); err != nil {
				return err
			}
			off += int64(len(raw)) + 1
			continue
		}
		off += int64(len(raw)) + 1
		name := "train.txt"
		if strings.HasSuffix(key, "9") {
			name = "test.txt"
		}
		if outs[name] == nil {
			if outs[name], err = t.Out.Create(name, "text/1"); err != nil {
				return err
			}
		}
		fmt.Fprintf(outs[name], "%s\t%s%s\n", key, text, s.Suffix)
		rows[name]++
		fmt.Fprintf(side, "%s\n", key)
		t.Meter.Add(1)
	}
	if err := r.Err(); err != nil {
		return err
	}
	for _, name := range sortedKeys(outs) {
		if err := outs[name].Close(rows[name]); err != nil {
			return err
		}
	}
	return side.Close(0)
}

func (s *split) Finish(ctx context.Context, t *Task, parts []Part) error {
	s.diary.write("finish")
	seen := make(map[string]bool)
	for i := range parts {
		f, err := t.OpenPart(i, "keys")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		f.Close()
		if err != nil {
			return err
		}
		again := make(map[string]bool)
		for _, key := range strings.Fields(string(text)) {
			if seen[key] {
				again[key] = true
			}
			seen[key] = true
		}
		if len(again) == 0 {
			continue
		}
		for _, e := range t.Part(i).Files {
			if err := dropKeys(t, i, e, again); err != nil {
				return err
			}
		}
	}
	out, err := t.Out.Create("count.txt", "")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d keys\n", len(seen))
	t.Out.Note("keys", fmt.Sprint(len(seen)))
	return out.Close(0)
}

// dropKeys replaces a shard by one without the keys, or drops it if nothing is
// left.
func dropKeys(t *Task, i int, e store.FileEntry, again map[string]bool) error {
	f, err := t.OpenPart(i, e.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	var kept bytes.Buffer
	rows := int64(0)
	for r := bufio.NewScanner(io.NewSectionReader(f, 0, f.Size())); r.Scan(); {
		key, _, _ := strings.Cut(r.Text(), "\t")
		if again[key] {
			if err := t.Dead(DeadLetter{File: "dup", Field: "key", Reason: "seen before", Raw: []byte(r.Text())}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(&kept, r.Text())
		rows++
	}
	switch rows {
	case e.Rows:
		return nil
	case 0:
		return t.Out.Drop(i, e.Name)
	}
	out, err := t.Out.Replace(i, e.Name)
	if err != nil {
		return err
	}
	if _, err := out.Write(kept.Bytes()); err != nil {
		return err
	}
	return out.Close(rows)
}

// join is a stage of one piece: it puts the train shards of its input behind
// one another.
type join struct {
	Upper bool `yaml:"upper" json:"upper"`

	diary *diary
	err   error // returned instead of working
	panic bool
	began chan struct{} // closed when it runs
	wait  chan struct{} // waited for
}

func (*join) Kind() string { return "test/join" }
func (*join) Version() int { return 1 }

func (j *join) Run(ctx context.Context, t *Task, p Part) error {
	j.diary.write("join %v", j.Upper)
	if j.began != nil {
		close(j.began)
	}
	if j.wait != nil {
		select {
		case <-j.wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if j.panic {
		panic("on purpose")
	}
	if j.err != nil {
		return j.err
	}
	out, err := t.Out.Create("all.txt", "text/1")
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, in := range t.Gather("text") {
		for _, e := range in.Shards("train") {
			f, err := in.Open(e.Name)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
			f.Close()
			if err != nil {
				return err
			}
			if j.Upper {
				text = bytes.ToUpper(text)
			}
			if _, err := out.Write(text); err != nil {
				return err
			}
			rows += e.Rows
		}
	}
	return out.Close(rows)
}

// train is a stage that resumes: its state is a chain of hashes over steps,
// and its result the last of them.
type train struct {
	Steps int64  `yaml:"steps" json:"steps"`
	Seed  *int64 `yaml:"seed" json:"seed"`

	diary *diary
	pause time.Duration
	every int64 // steps between checkpoints
}

func (*train) Kind() string  { return "test/train" }
func (*train) Version() int  { return 3 }
func (*train) Numeric() bool { return true }

func (s *train) Check() error {
	if s.Seed == nil {
		s.Seed = new(int64)
		*s.Seed = 7
	}
	if s.Steps <= 0 {
		return errors.New("steps: required")
	}
	return nil
}

func (s *train) Run(ctx context.Context, t *Task, p Part) error {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(*s.Seed)))
	first, dir, ok, err := t.LatestCheckpoint()
	if err != nil {
		return err
	}
	if ok {
		text, err := os.ReadFile(filepath.Join(dir, "state", "sum"))
		if err != nil {
			return err
		}
		sum = [32]byte(text)
	}
	save := func(step int64) error {
		return t.SaveCheckpoint(ctx, step, func(dir string) error {
			if err := os.Mkdir(filepath.Join(dir, "state"), 0o777); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "state", "sum"), sum[:], 0o666)
		})
	}
	s.diary.write("train from %d", first)
	for step := first; step < s.Steps; step++ {
		if s.every > 0 && step > first && step%s.every == 0 {
			if err := save(step); err != nil {
				return err
			}
		}
		select {
		case <-time.After(s.pause):
		case <-ctx.Done():
			if err := save(step); err != nil {
				return err
			}
			return ctx.Err()
		}
		sum = sha256.Sum256(sum[:])
	}
	out, err := t.Out.Create("weights.hex", "")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, hex.EncodeToString(sum[:]))
	t.Out.Note("steps", fmt.Sprint(s.Steps))
	return out.Close(0)
}

// saveAt writes the state that training has after some steps.
func (s *train) saveAt(dir string, steps int64) error {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(*s.Seed)))
	for range steps {
		sum = sha256.Sum256(sum[:])
	}
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "state", "sum"), sum[:], 0o666)
}

// fixture is a store, a folder of raw files and a diary.
type fixture struct {
	t     testing.TB
	raw   string
	store *store.Store
	diary *diary
	log   *bytes.Buffer
	o     Options
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("ESPALIER_CACHE", filepath.Join(dir, "cache"))
	f := &fixture{t: t, raw: filepath.Join(dir, "raw"), diary: &diary{filepath.Join(dir, "diary")}, log: new(bytes.Buffer)}
	if err := os.Mkdir(f.raw, 0o777); err != nil {
		t.Fatal(err)
	}
	f.open(filepath.Join(dir, "store with blanks"))
	return f
}

// open uses another store.
func (f *fixture) open(dir string) {
	f.t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		f.t.Fatal(err)
	}
	f.store = s
	f.o = Options{
		Store: s, Jobs: 2, Threads: 2, Numerics: "amd64", Scratch: filepath.Dir(dir),
		Log: slog.New(slog.NewTextHandler(&syncWriter{w: f.log}, nil)),
	}
}

type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// file writes a raw file of rows "k<i>\ttext <i>".
func (f *fixture) file(name string, rows int) {
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "%s-k%d\ttext %d\n", name, i, i)
	}
	f.write(name, b.String())
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	p := filepath.Join(f.raw, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

// graph is raw -> split -> join, and train beside it.
func (f *fixture) graph() Graph {
	return Graph{Nodes: []Node{
		{Name: "join", Stage: &join{diary: f.diary}, Inputs: map[string]string{"text": "split"}},
		{Name: "raw", Stage: &Files{Path: f.raw}},
		{Name: "split", Stage: &split{diary: f.diary}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "train", Stage: &train{Steps: 10, every: 3, diary: f.diary}, Inputs: map[string]string{"text": "join"}},
	}}
}

// run runs a graph that must succeed.
func (f *fixture) run(g Graph) *Result {
	f.t.Helper()
	res, err := Run(f.t.Context(), g, f.o)
	if err != nil {
		f.t.Fatalf("run: %v\n%s", err, f.log)
	}
	return res
}

// states returns "name state" of every node, sorted.
func states(res *Result) []string {
	var out []string
	for _, n := range res.Nodes {
		out = append(out, n.Name+" "+string(n.State))
	}
	slices.Sort(out)
	return out
}

// digests returns "name digest" of every node, sorted.
func digests(res *Result) []string {
	var out []string
	for _, n := range res.Nodes {
		if n.Manifest == nil {
			out = append(out, n.Name+" none")
			continue
		}
		out = append(out, n.Name+" "+n.Manifest.Digest)
	}
	slices.Sort(out)
	return out
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// read returns the content of a file of an output.
func (f *fixture) read(n *NodeResult, name string) string {
	f.t.Helper()
	file, err := f.store.OpenFile(f.t.Context(), n.Manifest, name)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size()))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// twins is a Splitter of five parts with one ID.
type twins struct{ diary *diary }

func (*twins) Kind() string { return "test/twins" }
func (*twins) Version() int { return 1 }

func (s *twins) Plan(ctx context.Context, t *Task) ([]Part, error) {
	parts := make([]Part, 5)
	for i := range parts {
		parts[i] = Part{Index: i, ID: "same"}
	}
	return parts, nil
}

func (s *twins) Run(ctx context.Context, t *Task, p Part) error {
	s.diary.write("twin")
	time.Sleep(5 * time.Millisecond)
	out, err := t.Out.Create("train.txt", "")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "x")
	return out.Close(1)
}

func (s *twins) Finish(ctx context.Context, t *Task, parts []Part) error { return nil }
