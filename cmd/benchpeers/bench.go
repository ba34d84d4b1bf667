package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"espalier/cmd/benchpeers/duel"
)

// A bench is what groups run with.
type bench struct {
	out, log io.Writer
	json     bool
	data     string // folder of public files
	binary   string // espalier, once it is known
	compile  bool   // torch.compile takes part
	threads  []int
	runner   duel.Runner

	python   []string // how the interpreter is called
	peers    string   // folder of the peers' programs
	work     string   // folder for what a run writes
	workers  map[string]*duel.Worker
	versions map[string]string // of packages that took part
	choice   choice
	failed   int
	skipped  int
}

// open prints the machine, finds the interpreter and unpacks the peers.
func (b *bench) open(ctx context.Context) (err error) {
	m := duel.Here()
	if b.json {
		fmt.Fprintf(b.out, "{\"machine\":%s}\n", jsonText(m))
	} else {
		fmt.Fprintln(b.out, m)
	}
	if m.Busy() {
		fmt.Fprintf(b.log, "benchpeers: warning: the load is %s: other programs are at work, ratios will vary\n", m.Load)
	}
	if b.python, err = interpreter(ctx, b.log); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp("", "benchpeers-"); err != nil {
		return err
	}
	b.peers = filepath.Join(b.work, "peer")
	b.workers, b.versions = map[string]*duel.Worker{}, map[string]string{}
	return unpack(b.peers)
}

// groups runs what is chosen. An error of a group as a whole is a line.
func (b *bench) groups(ctx context.Context, chosen []choice) error {
	if !b.json {
		if err := duel.Head(b.out); err != nil {
			return err
		}
	}
	for _, c := range chosen {
		b.choice = c
		err := c.run(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			b.undone("all", err)
		}
		if err := b.retire(); err != nil {
			return err
		}
	}
	text := []string{}
	for _, p := range sortedKeys(b.versions) {
		text = append(text, p+" "+b.versions[p])
	}
	if b.json {
		fmt.Fprintf(b.out, "{\"versions\":%s}\n", jsonText(b.versions))
	} else if len(text) > 0 {
		fmt.Fprintln(b.out, "peers:", strings.Join(text, ", "))
	}
	return nil
}

func (b *bench) close() error {
	if b.work == "" {
		return nil
	}
	return errors.Join(b.retire(), os.RemoveAll(b.work))
}

// emit prints a line.
func (b *bench) emit(l duel.Line) {
	switch l.Verdict {
	case duel.Failed:
		b.failed++
	case duel.Skipped:
		b.skipped++
	}
	err := error(nil)
	if b.json {
		err = l.JSON(b.out)
	} else {
		err = l.Write(b.out)
	}
	if err != nil {
		fmt.Fprintln(b.log, "benchpeers:", err)
	}
}

// undone emits the line of work that could not be done.
func (b *bench) undone(work string, err error) {
	verdict := duel.Failed
	if errors.Is(err, duel.ErrMissing) {
		verdict = duel.Skipped
	}
	b.emit(duel.Undone(b.choice.name, work, verdict, err))
}

// do runs a work if it is wanted. Its error, but for the end of the run, is a
// line; the workers are then started anew.
func (b *bench) do(ctx context.Context, work string, f func() error) error {
	if !b.choice.wants(work) {
		return nil
	}
	err := f()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		b.undone(work, err)
		return b.retire()
	}
	return nil
}

// worker returns a running worker with a module of the peers; workers of one
// module differ by env.
func (b *bench) worker(ctx context.Context, module string, env ...string) (*duel.Worker, error) {
	key := strings.Join(append([]string{module}, env...), " ")
	if w := b.workers[key]; w != nil {
		return w, nil
	}
	w, err := duel.Start(ctx, module, append(b.python, filepath.Join(b.peers, "worker.py"), module), env...)
	if err != nil {
		return nil, err
	}
	b.workers[key] = w
	return w, nil
}

// peer prepares work of a worker, compares its result with ours and returns it
// as a side.
func (b *bench) peer(ctx context.Context, name, module, work string, args map[string]any, ours map[string][]float64, bound float64, env ...string) (duel.Side, error) {
	w, err := b.worker(ctx, module, env...)
	if err != nil {
		return nil, err
	}
	p, err := w.Prepare(work, args)
	if err != nil {
		return nil, err
	}
	if err := duel.Same(ours, p.Values, bound); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for k, v := range p.Versions {
		b.versions[k] = v
	}
	if p.Variant != "" {
		name += " (" + p.Variant + ")"
	}
	return w.Side(name), nil
}

// retire ends all workers.
func (b *bench) retire() error {
	var errs []error
	for _, k := range sortedKeys(b.workers) {
		errs = append(errs, b.workers[k].Close())
	}
	clear(b.workers)
	runtime.GC()
	return errors.Join(errs...)
}

// espalier returns the path of the binary, which is built if none was named.
func (b *bench) espalier(ctx context.Context) (string, error) {
	if b.binary != "" {
		return filepath.Abs(b.binary)
	}
	path := filepath.Join(b.work, "espalier")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "espalier/cmd/espalier")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build espalier/cmd/espalier: %w: %s", err, strings.TrimSpace(string(out)))
	}
	b.binary = path
	return path, nil
}

// file returns the path of a public file, or an error that says it is missing.
func (b *bench) file(name string) (string, error) {
	path := filepath.Join(b.data, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		return "", duel.Missing("no %s (see -data)", path)
	}
	return filepath.Abs(path)
}
