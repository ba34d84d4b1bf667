package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"espalier/evaluate"
	"espalier/evaluate/input"
	"espalier/pipeline/score"
)

var evalVerb = verb{
	name:  "eval",
	args:  "--metrics LIST --pred FILE --refs FILE",
	short: "score predictions against references, equal to the reference tools",
	long: []string{
		"Reads COCO, SQuAD and M2 files, JSON lines, TSV, Parquet, Arrow, lines; gz, zst, - for stdin.",
		"--pred-field, --ref-field, --id-field NAME name fields; --split S takes the rows of a split only.",
	},
	example: []string{
		"espalier eval --metrics bleu,rouge-l,cider --pred results.json --refs annotations.json",
	},
	setup: func(f *pflag.FlagSet) action {
		var e evalFlags
		f.StringSliceVar(&e.metrics, "metrics", nil, "`LIST` of names with options, as cider:tok=none,ter; list tells all")
		f.StringArrayVar(&e.preds, "pred", nil, "`FILE` of predictions; or states of parts of a set, to merge")
		f.StringArrayVar(&e.refs, "refs", nil, "`FILE` of references; line files once for each set")
		f.StringVar(&e.pred.Text, "pred-field", "", "field of a prediction's text: `NAME`")
		f.StringVar(&e.refField, "ref-field", "", "field of the references' text: `NAME`")
		f.StringVar(&e.pred.ID, "id-field", "", "field of the id (default id or image_id): `NAME`")
		f.StringVar(&e.pred.Split, "split", "", "of tables with a column split, only the rows of `S`")
		for _, name := range []string{"pred-field", "ref-field", "id-field", "split"} {
			f.Lookup(name).Hidden = true // long has them in one line
		}
		f.StringVar(&e.source, "source", "", "`FILE` of the texts that were corrected, for cherrant")
		f.StringVar((*string)(&e.missing), "missing", string(input.Ignore), "references without a prediction: `HOW`, ignore (default), empty or refuse")
		f.StringVar((*string)(&e.duplicates), "duplicates", string(input.Refuse), "ids predicted twice: `HOW`, refuse (default), first or last")
		f.StringVar(&e.df, "df", "", "`FILE` of document frequencies for cider")
		f.StringVar(&e.meteorData, "meteor-data", "", "folder with METEOR's jar and paraphrases, for meteor: `DIR`")
		f.StringVar(&e.cherrant, "cherrant-data", "", "folder data of ChERRANT, for cherrant of texts: `DIR`")
		f.IntVar(&e.bootstrap, "bootstrap", 0, "resamples for 95 % intervals: `N` (default: none)")
		f.StringVar(&e.against, "against", "", "`FILE` of another system's predictions: test the differences by bootstrap")
		f.IntVar(&e.randomise, "randomise", 0, "with --against, by approximate randomisation of `N` trials instead")
		f.StringVar(&e.out, "out", "", "also write the scores to a Parquet `FILE`, or the state to FILE.state")
		f.StringVar(&e.perExample, "per-example", "", "also write each example's scores to a .parquet or JSON-lines `FILE`")
		f.BoolVar(&e.tokens, "tokens", false, "print what the metric sees after tokenisation, and score nothing")
		f.BoolVar(&e.json, "json", false, "print one JSON object a score")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none (files follow --pred and --refs)"); err != nil {
				return err
			}
			return e.run(ctx, c)
		}
	},
}

type evalFlags struct {
	metrics              []string
	preds                []string
	pred                 input.Source
	refs                 []string
	refField             string
	missing              input.Missing
	duplicates           input.Duplicates
	df, meteorData       string
	source, cherrant     string
	bootstrap, randomise int
	against              string
	out, perExample      string
	tokens, json         bool
}

// stateEnding is that of files that hold the state of a scoring.
const stateEnding = ".state"

// largeInput is how many bytes of files make memory dearer than time, and
// smallInput how many are scored within memory that no one misses.
const (
	largeInput = 32 << 20
	smallInput = 4 << 20
)

// defaultResamples are those of a test that is not told how many.
const defaultResamples = 1000

func (e *evalFlags) run(ctx context.Context, c *console) error {
	if slices.Equal(e.metrics, []string{"list"}) {
		return listMetrics(c, e.json)
	}
	states := len(e.preds) > 0 && !slices.ContainsFunc(e.preds, func(p string) bool { return !evaluate.IsState(p) })
	switch {
	case len(e.metrics) == 0 && !states:
		return usagef("want --metrics LIST (--metrics list tells what there is)")
	case len(e.preds) == 0:
		return usagef("want --pred FILE")
	case len(e.preds) > 1 && !states:
		return usagef("--pred is given %d times: only states (--out FILE.state) are merged", len(e.preds))
	case states && len(e.refs) > 0:
		return usagef("--refs: states hold their references")
	case states && (e.against != "" || e.tokens || e.source != ""):
		return usagef("states are merged and scored, nothing else")
	case e.bootstrap < 0:
		return usagef("--bootstrap %d: want at least 0", e.bootstrap)
	case e.randomise < 0:
		return usagef("--randomise %d: want at least 0", e.randomise)
	case e.randomise > 0 && e.against == "":
		return usagef("--randomise tests a difference: want --against FILE")
	case e.tokens && (e.out != "" || e.perExample != "" || e.against != "" || e.bootstrap > 0):
		return usagef("--tokens scores nothing")
	case e.against != "" && (e.out != "" || e.perExample != ""):
		return usagef("--against writes no files")
	}
	err := errors.Join(
		oneOf("missing", string(e.missing), string(input.Ignore), string(input.Empty), string(input.RefuseMissing)),
		oneOf("duplicates", string(e.duplicates), string(input.Refuse), string(input.First), string(input.Last)),
	)
	if err != nil {
		return err
	}
	size, small := int64(0), e.meteorData == "" // its tables are large
	for _, path := range slices.Concat(e.preds, e.refs, nonEmpty(e.against, e.df, e.meteorData, e.source, e.cherrant)) {
		info, err := os.Stat(path)
		if err != nil && path != "-" {
			return usagef("%v", err)
		}
		if err == nil {
			size += info.Size()
		}
		if ext := filepath.Ext(path); path == "-" || ext == ".gz" || ext == ".zst" {
			small = false // nobody knows
		}
	}
	if os.Getenv("GOGC") == "" {
		switch {
		case size > largeInput:
			debug.SetGCPercent(50) // so that a million predictions stay below 1 GB
		case small && size < smallInput:
			debug.SetGCPercent(400) // collect from 16 MB on
		}
	}
	e.pred.Path, e.pred.Reader = e.preds[0], c.in
	r := evaluate.Request{
		Metrics: e.metrics, Pred: e.pred, Missing: e.missing, Duplicates: e.duplicates, DF: e.df, MeteorData: e.meteorData, Cherrant: e.cherrant,
		Source:    input.Source{Path: e.source, Reader: c.in, ID: e.pred.ID, Split: e.pred.Split},
		Bootstrap: e.bootstrap, Workers: runtime.GOMAXPROCS(0), Keep: strings.HasSuffix(e.out, stateEnding), Totals: e.perExample == "",
		Notice: func(text string) { c.warn("%s", text) },
	}
	for _, path := range e.refs {
		r.Refs = append(r.Refs, input.Source{Path: path, Reader: c.in, ID: e.pred.ID, Text: e.refField, Split: e.pred.Split})
	}
	if e.tokens {
		return evaluate.Tokens(ctx, r, c.out)
	}
	if e.against != "" {
		return e.compare(ctx, c, r)
	}
	var res *evaluate.Result
	if states {
		res, err = evaluate.Merge(ctx, r, e.preds)
	} else {
		res, err = evaluate.Run(ctx, r)
	}
	if err != nil {
		return err
	}
	return e.write(c, res)
}

func nonEmpty(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// write writes what the flags ask for and prints the scores.
func (e *evalFlags) write(c *console, res *evaluate.Result) error {
	for _, w := range res.Warnings {
		c.warn("warning: %s", w)
	}
	if e.out != "" {
		content := func(w io.Writer) error { return evaluate.WriteRows(w, res.Rows(score.Row{Split: e.pred.Split}, false)) }
		if strings.HasSuffix(e.out, stateEnding) {
			content = res.WriteState
		}
		if err := writeFile(e.out, content); err != nil {
			return err
		}
	}
	if e.perExample != "" {
		if err := writeFile(e.perExample, func(w io.Writer) error { return res.WriteExamples(w, e.perExample) }); err != nil {
			return err
		}
	}
	return printValues(c, res.Values, e.json)
}

// compare tests the differences of two systems' scores.
func (e *evalFlags) compare(ctx context.Context, c *console, r evaluate.Request) error {
	other := e.pred
	other.Path = e.against
	test, trials := evaluate.BootstrapTest, cmp.Or(e.bootstrap, defaultResamples)
	if e.randomise > 0 {
		test, trials = evaluate.RandomisationTest, e.randomise
	}
	list, warnings, err := evaluate.Compare(ctx, r, other, test, trials)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		c.warn("warning: %s", w)
	}
	t := newTable("metric", " value", " against", " difference", "95 %", " p", " n", "test", "variant")
	for _, v := range list {
		if e.json {
			if err := c.json(v); err != nil {
				return err
			}
			continue
		}
		interval := ""
		if v.CILow != nil && v.CIHigh != nil {
			interval = fmt.Sprintf("%.4f to %.4f", *v.CILow, *v.CIHigh)
		}
		t.add(v.Metric, fmt.Sprintf("%.5f", v.Value), fmt.Sprintf("%.5f", v.Against), fmt.Sprintf("%+.5f", v.Difference), interval, fmt.Sprintf("%.4f", v.P), count(v.N, true), v.Test, v.Variant)
	}
	if e.json {
		return nil
	}
	return t.write(c.out)
}

func printValues(c *console, values []evaluate.Value, asJSON bool) error {
	t := newTable("metric", " value", " n", "95 %", "variant")
	for _, v := range values {
		if asJSON {
			if err := c.json(v); err != nil {
				return err
			}
			continue
		}
		interval := ""
		if v.CILow != nil && v.CIHigh != nil {
			interval = fmt.Sprintf("%.4f to %.4f", *v.CILow, *v.CIHigh)
		}
		t.add(v.Metric, fmt.Sprintf("%.5f", v.Value), count(v.N, true), interval, v.Variant)
	}
	if asJSON {
		return nil
	}
	return t.write(c.out)
}

func listMetrics(c *console, asJSON bool) error {
	t := newTable("metric", "equal to", "options", "needs")
	for _, m := range evaluate.List() {
		if asJSON {
			if err := c.json(m); err != nil {
				return err
			}
			continue
		}
		t.add(m.Name, m.Reference, m.Options, m.Needs)
	}
	if asJSON {
		return nil
	}
	return t.write(c.out)
}

// writeFile writes a file that appears whole or not at all.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
