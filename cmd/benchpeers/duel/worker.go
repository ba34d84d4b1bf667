package duel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Worker is another program that stays alive and does one piece of work at a
// time, as it is told by JSON lines on its standard input, and answers by one
// line each on its standard output:
//
//	{"prepare": WORK, "args": {...}}  {"variant": ..., "versions": {...}, "values": {...}}
//	{"calls": N}                      {"seconds": [...]}
//
// or {"error": TEXT}, with "missing": true if a package or file is wanted.
type Worker struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr tail
}

// A Prepared is what a worker says of work that is ready to be timed.
type Prepared struct {
	Variant  string               `json:"variant"`  // the setting that proved fastest
	Versions map[string]string    `json:"versions"` // of the packages that do it
	Values   map[string][]float64 `json:"values"`   // of the result, to be compared
}

type reply struct {
	Prepared
	Seconds []float64 `json:"seconds"`
	Error   string    `json:"error"`
	Missing bool      `json:"missing"`
}

// Start starts a worker. Its environment is this process's but for the
// variables that set the threads and kernels of numeric libraries, and then
// env.
func Start(ctx context.Context, name string, argv []string, env ...string) (*Worker, error) {
	w := &Worker{name: name, cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	w.cmd.Env = append(Environ(), env...)
	w.cmd.Stderr = &w.stderr
	w.cmd.WaitDelay = 10 * time.Second
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewReaderSize(out, 1<<16)
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return w, nil
}

// Prepare tells the worker what its next calls do.
func (w *Worker) Prepare(work string, args any) (Prepared, error) {
	r, err := w.ask(map[string]any{"prepare": work, "args": args})
	return r.Prepared, err
}

// Side returns the worker as a side of a contest.
func (w *Worker) Side(name string) Side { return workerSide{name, w} }

// Close ends the worker.
func (w *Worker) Close() error {
	err := w.in.Close()
	if e := w.cmd.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w%s", w.name, e, w.stderr.text()))
	}
	return err
}

func (w *Worker) ask(request any) (r reply, err error) {
	text, err := json.Marshal(request)
	if err != nil {
		return r, err
	}
	_, err = w.in.Write(append(text, '\n'))
	if err == nil {
		text, err = w.out.ReadBytes('\n')
	}
	if err != nil {
		return r, fmt.Errorf("%s ended early%s", w.name, w.stderr.text())
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s answers %.200q: %w", w.name, text, err)
	}
	switch {
	case r.Missing:
		return r, Missing("%s: %s", w.name, r.Error)
	case r.Error != "":
		return r, fmt.Errorf("%s: %s%s", w.name, r.Error, w.stderr.text())
	}
	return r, nil
}

type workerSide struct {
	name string
	w    *Worker
}

func (s workerSide) Name() string { return s.name }

func (s workerSide) Time(ctx context.Context, calls int) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := s.w.ask(map[string]any{"calls": calls})
	if err == nil && len(r.Seconds) != calls {
		err = fmt.Errorf("%s times %d calls, wanted %d", s.w.name, len(r.Seconds), calls)
	}
	return r.Seconds, err
}

// tuning are the prefixes of variables by which users set the threads and
// kernels of numeric libraries; a fair run has none of them.
var tuning = []string{"OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "RAYON_", "TOKENIZERS_", "ONEDNN_", "DNNL_", "ATEN_", "TORCH_NUM", "POLARS_", "ARROW_", "GOMAXPROCS=", "GODEBUG=", "GOGC="}

// Environ returns the environment without such variables.
func Environ() []string {
	var env []string
next:
	for _, v := range os.Environ() {
		for _, p := range tuning {
			if strings.HasPrefix(v, p) {
				continue next
			}
		}
		env = append(env, v)
	}
	return env
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if n := len(t.end) - tailBytes; n > 0 {
		t.end = t.end[n:]
	}
	return len(p), nil
}

// text returns the last lines to be added to a message.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.end), []byte("\n"))
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	s := string(bytes.Join(lines, []byte(" | ")))
	if s == "" {
		return ""
	}
	return " (it wrote: " + s + ")"
}
