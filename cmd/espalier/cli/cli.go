// Package cli is the command line: one file per verb, each of which parses its
// flags, calls one function of another package and prints.
//
// Results go to standard output, progress and logs to standard error. A verb
// returns an error; only [Main] prints it and turns it into an exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/pipeline"
)

// A verb is one command of the program.
type verb struct {
	name    string
	args    string   // what stands behind the name, such as "JOB.yaml"
	short   string   // one line for the list of verbs
	long    []string // lines of its own help, beside short
	example []string
	// setup declares the verb's flags and returns what it does.
	setup func(f *pflag.FlagSet) action
	subs  []verb // verbs of two words with flags of their own, such as data split
}

// An action does a verb's work with the arguments that are no flags.
type action func(ctx context.Context, c *console, args []string) error

// A group is a heading in the list of verbs.
type group struct {
	title string
	verbs []verb
}

func groups() []group {
	return []group{
		{"Jobs", []verb{runVerb, planVerb, statusVerb, logVerb, showVerb, verifyVerb, gcVerb, reportVerb, exportVerb}},
		{"One stage on files", []verb{dataVerb, ingestVerb, tokenizeVerb, featuresVerb, regionsVerb, predictVerb, evalVerb, editsVerb}},
		{"Looking", []verb{catVerb, schemaVerb, deadlettersVerb, weightsVerb, methodsVerb, benchVerb, doctorVerb, versionVerb}},
	}
}

// Kinds makes a new stage of each kind that jobs may name.
type Kinds = map[string]func() pipeline.Stage

// Main runs the verb that args name and returns the exit code.
func Main(args []string, in io.Reader, out, errs *os.File, kinds Kinds) int {
	c := newConsole(in, out, errs)
	c.kinds = kinds
	if len(args) == 0 {
		fmt.Fprint(errs, overview())
		return pipeline.ExitUsage
	}
	name, rest := args[0], args[1:]
	if name == "help" || name == "-h" || name == "--help" {
		if len(rest) == 0 {
			return c.finish(writeString(c.out, overview()))
		}
		name, rest = rest[0], append(rest[1:], "--help")
	}
	if name == "--version" {
		name = "version"
	}
	v := find(name)
	if v == nil {
		return c.finish(usagef("no verb %s%s (espalier help lists the verbs)", name, jobs.DidYouMean(name, verbNames())))
	}
	if len(rest) > 0 {
		for i := range v.subs {
			if sub := &v.subs[i]; sub.name == name+" "+rest[0] {
				v, name, rest = sub, sub.name, rest[1:]
				break
			}
		}
	}
	c.verb = name
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.SortFlags = false
	do := v.setup(f)
	switch err := f.Parse(rest); {
	case errors.Is(err, pflag.ErrHelp):
		return c.finish(writeString(c.out, v.help(f)))
	case err != nil:
		return c.finish(usagef("%v; espalier %s -h lists the flags", err, name))
	}
	sig := listen(c)
	defer sig.stop()
	return sig.code(c.finish(do(sig.ctx, c, f.Args())))
}

func find(name string) *verb {
	for _, g := range groups() {
		for i := range g.verbs {
			if g.verbs[i].name == name {
				return &g.verbs[i]
			}
		}
	}
	return nil
}

func verbNames() []string {
	var names []string
	for _, g := range groups() {
		for _, v := range g.verbs {
			names = append(names, v.name)
		}
	}
	return names
}

func overview() string {
	var b strings.Builder
	b.WriteString("espalier: from raw corpora to scored models, in jobs that resume and repeat to the byte\n\nusage: espalier VERB [ARGUMENTS] [FLAGS]\n")
	for _, g := range groups() {
		fmt.Fprintf(&b, "\n%s\n", g.title)
		for _, v := range g.verbs {
			fmt.Fprintf(&b, "  %-12s %s\n", v.name, v.short)
		}
	}
	b.WriteString("\nespalier VERB -h tells more. Try: espalier run jobs/smoke.yaml --store out/smoke\n")
	return b.String()
}

// help is one screen: what the verb does, its flags and an example.
func (v *verb) help(f *pflag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s\n%s\n", strings.TrimSpace("espalier "+v.name+" "+v.args), capital(v.short)+".")
	for _, s := range v.long {
		b.WriteString(s + "\n")
	}
	if f.HasFlags() {
		b.WriteString("\n" + flagText(f))
	}
	b.WriteString("\n")
	for i, s := range v.example {
		b.WriteString([]string{"example: ", "         "}[min(i, 1)] + s + "\n")
	}
	return b.String()
}

// flagText lists the flags, a line each: name, what stands behind it, meaning.
// Hidden ones are told by the verb's own lines.
func flagText(f *pflag.FlagSet) string {
	var names, texts []string
	width := 0
	f.VisitAll(func(g *pflag.Flag) {
		if g.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(g)
		name := "    --" + g.Name
		if g.Shorthand != "" {
			name = "-" + g.Shorthand + ", --" + g.Name
		}
		if g.Value.Type() != "bool" {
			name += " " + value
		}
		width = max(width, len(name))
		names, texts = append(names, name), append(texts, text)
	})
	var b strings.Builder
	for i, name := range names {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, name, texts[i])
	}
	return b.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// A usageError is a fault of the command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// want checks the number of arguments.
func want(args []string, low, high int, what string) error {
	if len(args) < low || high >= 0 && len(args) > high {
		return usagef("%d arguments, want %s", len(args), what)
	}
	return nil
}

// oneOf checks the value of a flag that has a few.
func oneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usagef("--%s %s: want %s", flag, value, strings.Join(values, ", "))
}

// A silentError has an exit code of its own and was told already.
type silentError int

func (e silentError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitCode maps an error of any verb to an exit code.
func exitCode(err error) int {
	var (
		silent silentError
		usage  *usageError
		faults jobs.Faults
	)
	switch {
	case err == nil:
		return pipeline.ExitDone
	case errors.As(err, &silent):
		return int(silent)
	case errors.As(err, &usage), errors.As(err, &faults):
		return pipeline.ExitUsage
	}
	return pipeline.ExitCode(err)
}
