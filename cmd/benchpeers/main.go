// Command benchpeers times Espalier and the programs that people use instead on
// the same work, turn about, in one run, and prints a line for each target:
// what ours and theirs do, the ratio, the target, and ok or below.
//
// Kernels run in this process, through the packages; whole programs
// (evaluation, ingestion) as the built binary. The peers run in Python, in
// workers that are told what to do (folder peer), each at the best of its
// settings, with the variables that tune numeric libraries unset. Both sides
// make their inputs from seeds, and a result that differs is a failure.
//
// Exit codes: 0, whatever the ratios are; 1, a side failed or its result
// differs, or there is no interpreter; 2, usage; 20, a line was skipped because
// a file or a package is missing (the line says which).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"espalier/cmd/benchpeers/duel"
)

// A group is works that are asked for by one name.
type group struct {
	name string
	run  func(ctx context.Context, b *bench) error
}

// groups in the order in which they run.
var groups = []group{
	{"gemm", gemmGroup},
	{"acort", acortGroup},
	{"metrics", metricsGroup},
	{"tokenizers", tokenizersGroup},
	{"ingest", ingestGroup},
	{"features", featuresGroup},
	{"t5", t5Group},
}

const usage = `usage: benchpeers [-only LIST] [-json] [-seconds N] [-threads LIST] [-data DIR] ...
Time Espalier and its peers on the same work, turn about, and print a line for each target.

  -only LIST     groups between commas: %s;
                 GROUP/TEXT for the works of a group that hold TEXT (default: all)
  -json          print one JSON object a line, the machine first
  -seconds N     about how long a work may take, whole programs longer (default 6)
  -threads LIST  numbers of threads of kernels (default 1,2)
  -data DIR      folder with public vocabularies and captions (default ../shared/data)
  -binary FILE   the espalier to time (default: one that is built from this module)
  -compile       let torch.compile take part in features, which takes a minute a work

The peers need Python. PEERS_PYTHON names an interpreter that has them; without it an environment is
made in the user's cache folder, once. BLIS takes part where the system has libblis.
Exit codes: 0 done, whatever the ratios; 1 failed or results differ; 2 usage; 20 a line was skipped.

example: PEERS_PYTHON=~/peers/bin/python make bench-peers ONLY=gemm,acort
         go run ./cmd/benchpeers -only tokenizers/T5 -json
`

func main() {
	if folder := os.Getenv(memoryEnv); folder != "" {
		if err := stepsOf(folder, runtime.GOMAXPROCS(0)); err != nil {
			fmt.Fprintln(os.Stderr, "benchpeers:", err)
			os.Exit(exitFailed)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const (
	exitFailed  = 1
	exitUsage   = 2
	exitSkipped = 20
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	b := &bench{out: stdout, log: stderr}
	f := flag.NewFlagSet("benchpeers", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	only := f.String("only", "", "")
	threads := f.String("threads", "1,2", "")
	seconds := f.Float64("seconds", 6, "")
	f.BoolVar(&b.json, "json", false, "")
	f.StringVar(&b.data, "data", filepath.Join("..", "shared", "data"), "")
	f.BoolVar(&b.compile, "compile", false, "")
	f.StringVar(&b.binary, "binary", "", "")
	fail := func(code int, err error) int {
		fmt.Fprintln(stderr, "benchpeers:", err)
		return code
	}
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(stdout, usage, strings.Join(names, ", "))
		return 0
	} else if err != nil {
		return fail(exitUsage, err)
	}
	if f.NArg() > 0 {
		return fail(exitUsage, fmt.Errorf("%q: no arguments are taken", f.Arg(0)))
	}
	if *seconds <= 0 {
		return fail(exitUsage, fmt.Errorf("-seconds: %g, want more than 0", *seconds))
	}
	chosen, err := choose(*only)
	if err != nil {
		return fail(exitUsage, err)
	}
	for t := range strings.SplitSeq(*threads, ",") {
		var n int
		if _, err := fmt.Sscan(t, &n); err != nil || n < 1 || n > 1024 {
			return fail(exitUsage, fmt.Errorf("-threads: %q, want numbers between commas", *threads))
		}
		b.threads = append(b.threads, n)
	}
	b.runner = duel.Runner{
		Budget: time.Duration(*seconds * float64(time.Second)), Turn: 60 * time.Millisecond, Rest: 15 * time.Millisecond, Emit: b.emit,
	}
	if err := b.open(ctx); err != nil {
		return fail(exitFailed, err)
	}
	err = b.groups(ctx, chosen)
	if e := b.close(); err == nil {
		err = e
	}
	switch {
	case err != nil:
		return fail(exitFailed, err)
	case b.failed > 0:
		return fail(exitFailed, fmt.Errorf("%d works failed", b.failed))
	case b.skipped > 0:
		return fail(exitSkipped, fmt.Errorf("%d works were skipped", b.skipped))
	}
	return 0
}

// A choice is a group with the texts of the works that are wanted.
type choice struct {
	group
	texts []string // none: all
}

func (c *choice) wants(work string) bool {
	return len(c.texts) == 0 || slices.ContainsFunc(c.texts, func(t string) bool { return strings.Contains(work, t) })
}

// choose reads the list of groups, "" being all of them.
func choose(only string) ([]choice, error) {
	var all []choice
	if only == "" {
		for _, g := range groups {
			all = append(all, choice{group: g})
		}
		return all, nil
	}
	for item := range strings.SplitSeq(only, ",") {
		name, text, part := strings.Cut(strings.TrimSpace(item), "/")
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: no group %q", name)
		}
		k := slices.IndexFunc(all, func(c choice) bool { return c.name == name })
		if k < 0 {
			all = append(all, choice{group: groups[i]})
			k = len(all) - 1
		}
		if part {
			all[k].texts = append(all[k].texts, text)
		}
	}
	return all, nil
}
