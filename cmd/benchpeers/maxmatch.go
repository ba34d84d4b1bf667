package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"espalier/cmd/benchpeers/duel"
)

// m2scorerEnv says how nusnlp/m2scorer is called, which is no package and needs
// Python 2: such as "python2 m2scorer/scripts/m2scorer.py". Without it a plain
// writing of its algorithm takes its place.
const m2scorerEnv = "M2SCORER"

// What was promised against m2scorer, and how many times as fast as that the
// plain writing is at least (3.5 to 4.7 where both were timed): against it, so
// much less is asked.
const (
	m2Target   = 100
	plainTimes = 3.5
)

// m2Gold is a published file of corrected sentences.
const m2Gold = "zh-gec-nlpcc2018/test/nlpcc2018-test/gold.01"

// m2Digits is how close its figures are, which it prints with four digits.
const m2Digits = 2e-4

// corrections returns n corrected sentences: the gold standard in M2, and what
// a system made of them, which finds some of the edits and makes others. The
// sentences are published ones, or made from captions where these are missing.
func (m *metrics) corrections(n int) (gold, system []string, err error) {
	path, err := m.file(m2Gold)
	if err != nil {
		return m.madeCorrections(n)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	var words []string
	for _, b := range blocks {
		line, _, _ := strings.Cut(b, "\n")
		words = append(words, strings.Fields(line)[1:]...)
	}
	r := rand.New(rand.NewPCG(8, 1))
	for i := range n {
		lines := strings.Split(blocks[i%len(blocks)], "\n")
		gold = append(append(gold, lines...), "")
		out := strings.Fields(lines[0])[1:]
		for _, l := range slices.Backward(lines[1:]) {
			f := strings.Split(strings.TrimPrefix(l, "A "), "|||")
			var start, end int
			if _, err := fmt.Sscan(f[0], &start, &end); err != nil || len(f) < 6 {
				return nil, nil, fmt.Errorf("%s: %q is no edit", path, l)
			}
			if f[5] != "0" || start < 0 || start > end || end > len(out) || r.IntN(10) >= 6 {
				continue
			}
			to, _, _ := strings.Cut(f[2], "||")
			out = slices.Replace(out, start, end, strings.Fields(strings.ReplaceAll(to, "-NONE-", ""))...)
		}
		for range 2 {
			if at := r.IntN(len(out) + 1); r.IntN(2) == 0 {
				out = slices.Replace(out, at, min(len(out), at+r.IntN(2)), words[r.IntN(len(words))])
			}
		}
		system = append(system, strings.Join(out, " "))
	}
	return gold, system, nil
}

// madeCorrections makes sentences of captions.
func (m *metrics) madeCorrections(n int) (gold, system []string, err error) {
	set, err := m.bench.captions(n)
	if err != nil {
		return nil, nil, err
	}
	r := rand.New(rand.NewPCG(8, 0))
	for i, refs := range set.refs {
		words, other := strings.Fields(strings.ToLower(refs[0])), strings.Fields(strings.ToLower(set.refs[(i+1)%n][0]))
		gold = append(gold, "S "+strings.Join(words, " "))
		var out []string
		for at, w := range words {
			to, kind := w, r.IntN(12)
			switch kind {
			case 0: // another word
				to = other[at%len(other)]
			case 1: // none
				to = ""
			case 2: // one more
				to = other[at%len(other)] + " " + w
			}
			if to != w {
				gold = append(gold, fmt.Sprintf("A %d %d|||X|||%s|||REQUIRED|||-NONE-|||0", at, at+1, to))
			}
			switch found := r.IntN(10); {
			case found < 6:
				out = append(out, to)
			case found == 9:
				out = append(out, other[(at+3)%len(other)])
			default:
				out = append(out, w)
			}
		}
		gold = append(gold, "")
		system = append(system, strings.Join(strings.Fields(strings.Join(out, " ")), " "))
	}
	return gold, system, nil
}

func (m *metrics) files(gold, system []string) (goldFile, systemFile string, err error) {
	if goldFile, err = m.writeLines("gold.m2", gold); err != nil {
		return "", "", err
	}
	systemFile, err = m.writeLines("system.txt", system)
	return goldFile, systemFile, err
}

var m2Line = regexp.MustCompile(`(?m)^(Precision|Recall|F_0\.5)\s*:\s*([0-9.]+)`)

func (m *metrics) maxMatch(work string) error {
	gold, system, err := m.corrections(2000)
	if err != nil {
		return err
	}
	goldFile, systemFile, err := m.files(gold, system)
	if err != nil {
		return err
	}
	ours, scores, err := m.eval(nil, "--metrics", "maxmatch", "--pred", systemFile, "--refs", goldFile)
	if err != nil {
		return err
	}
	rival := &duel.Program{
		Label: "a plain Python 3 writing of M2's algorithm", Argv: append(slices.Clone(m.python), filepath.Join(m.peers, "maxmatch.py"), systemFile, goldFile),
		After: func(out []byte) error {
			var theirs map[string]float64
			if err := json.Unmarshal(out, &theirs); err != nil {
				return fmt.Errorf("maxmatch.py: %w", err)
			}
			return same(scores, theirs, exact)
		},
	}
	target, note := m2Target/plainTimes, func(float64) string {
		return fmt.Sprintf("m2scorer takes %.1f times as long or more, and is to be beaten %d times", plainTimes, m2Target)
	}
	if argv := strings.Fields(os.Getenv(m2scorerEnv)); len(argv) > 0 {
		target, note = m2Target, nil
		rival.Label, rival.Argv = "m2scorer", append(argv, systemFile, goldFile)
		rival.After = func(out []byte) error {
			theirs := map[string]float64{}
			for _, l := range m2Line.FindAllSubmatch(out, -1) {
				v, err := strconv.ParseFloat(string(l[2]), 64)
				if err != nil {
					return err
				}
				name := map[string]string{"Precision": "maxmatch-p", "Recall": "maxmatch-r", "F_0.5": "maxmatch-f0.5"}[string(l[1])]
				theirs[name] = v
			}
			return same(scores, theirs, m2Digits)
		}
	}
	return m.runner.Run(m.ctx, duel.Contest{
		Group: "metrics", Work: work, Unit: duel.Seconds, Ours: ours, Rivals: []duel.Side{rival}, Targets: []duel.Target{{AtLeast: target}}, Budget: 15 * time.Second, Note: note,
	})
}

// same compares scores of one number each.
func same(ours map[string][]float64, theirs map[string]float64, bound float64) error {
	all := map[string][]float64{}
	for name, v := range theirs {
		all[name] = []float64{v}
	}
	return duel.Same(ours, all, bound)
}

// worstSentence times, as a whole process, a sentence on which m2scorer takes
// hours: a phrase that a system repeats over and over.
func (m *metrics) worstSentence(work string) error {
	words := strings.Fields(strings.Repeat("the man who has a dog and ", 5))
	gold := []string{"S " + strings.Join(words, " "), "A 3 4|||X|||had|||REQUIRED|||-NONE-|||0", "A 9 10|||X||||||REQUIRED|||-NONE-|||0", ""}
	system := []string{strings.TrimSpace(strings.Repeat("the man had a dog and cat ", 40))}
	goldFile, systemFile, err := m.files(gold, system)
	if err != nil {
		return err
	}
	ours, _, err := m.eval(nil, "--metrics", "maxmatch", "--pred", systemFile, "--refs", goldFile)
	if err != nil {
		return err
	}
	times, err := ours.Time(m.ctx, 3)
	if err != nil {
		return err
	}
	m.emit(duel.Limit("metrics", work, "s", duel.Median(times), 1, ""))
	return nil
}
