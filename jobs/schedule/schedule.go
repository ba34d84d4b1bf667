// Package schedule writes a job for the schedulers that people have: cron
// lines, an Airflow DAG, a Slurm script, Kubernetes Indexed Jobs.
//
// All of them only call the program. A stage whose work falls into parts is an
// array of Width tasks, task i making the parts i, i+Width, i+2*Width, ...,
// so that no scheduler needs to know how many parts there are; then one task
// makes what is missing and finishes the stage. Any task may run twice, at
// once or again. Exit code 75 asks for a retry, 2 and 20 for none.
//
// The text depends on nothing but the arguments.
package schedule

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Job is what a scheduler has to know of a job file.
type Job struct {
	Name    string
	Command []string // how the program is called, such as "espalier"
	File    string
	Store   string
	Set     []string // overrides
	Stages  []Stage  // in any order
	Width   int      // tasks of an array, at least 1
}

// A Stage is one stage that has work of its own.
type Stage struct {
	Name  string
	Needs []string // names of the stages it reads
	Parts bool     // its work falls into parts
}

// args is the call that makes a whole stage, or the job where stage is empty.
func (j *Job) args(stage string, more ...string) []string {
	a := append(slices.Clone(j.Command), "run", j.File, "--store", j.Store)
	for _, s := range j.Set {
		a = append(a, "--set", s)
	}
	if stage != "" {
		a = append(a, "--stage", stage)
	}
	return append(a, more...)
}

func (j *Job) array(s Stage) bool { return s.Parts && j.Width > 1 }

// check finds what no scheduler could run.
func (j *Job) check() error {
	var errs []error
	if j.Name == "" || len(j.Command) == 0 || j.File == "" || j.Store == "" || j.Width < 1 {
		errs = append(errs, errors.New("schedule: a job needs a name, a command, a file, a store and a width"))
	}
	for _, s := range j.args("") {
		if strings.ContainsFunc(s, unicode.IsControl) {
			errs = append(errs, fmt.Errorf("schedule: %q holds control characters", s))
		}
	}
	return errors.Join(errs...)
}

// ordered returns the stages so that each stands behind those it needs.
func (j *Job) ordered() ([]Stage, error) {
	byName := make(map[string]Stage, len(j.Stages))
	for _, s := range j.Stages {
		byName[s.Name] = s
	}
	var out []Stage
	state := make(map[string]int) // 1 while it is looked at, 2 once it stands in out
	var visit func(s Stage) error
	visit = func(s Stage) error {
		switch state[s.Name] {
		case 1:
			return fmt.Errorf("schedule: stage %s needs itself", s.Name)
		case 2:
			return nil
		}
		state[s.Name] = 1
		for _, n := range s.Needs {
			need, ok := byName[n]
			if !ok {
				return fmt.Errorf("schedule: stage %s needs %s, which is not there", s.Name, n)
			}
			if err := visit(need); err != nil {
				return err
			}
		}
		state[s.Name] = 2
		out = append(out, s)
		return nil
	}
	for _, s := range j.Stages {
		if err := visit(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// shell quotes words for sh, where they need it.
func shell(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellWord(w)
	}
	return strings.Join(out, " ")
}

func shellWord(w string) string {
	plain := func(r rune) bool {
		return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("@%_+=:,./-", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// A namer makes names of few characters, each once.
type namer struct {
	keep  func(r rune) bool
	limit int
	used  map[string]string // name -> what it stands for
}

// name returns the name for s: s with other characters made hyphens; where
// that is too long or taken, cut and followed by a hash of s.
func (n *namer) name(s string) string {
	short := strings.Trim(strings.Map(func(r rune) rune {
		if n.keep(r) {
			return r
		}
		return '-'
	}, s), "-")
	if n.used == nil {
		n.used = make(map[string]string)
	}
	if had, taken := n.used[short]; short == "" || len(short) > n.limit || taken && had != s {
		h := fnv.New32a()
		_, _ = h.Write([]byte(s))
		sum := strconv.FormatUint(uint64(h.Sum32()), 16)
		short = strings.Trim(short[:min(len(short), n.limit-len(sum)-1)], "-") + "-" + sum
	}
	n.used[short] = s
	return short
}
