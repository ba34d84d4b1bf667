package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"strings"
	"sync"
	"time"

	"espalier/cmd/benchpeers/duel"
	"espalier/tokenize/family"
	"espalier/tokenize/model"
)

// A vocabulary is a public one: how we open it, and the peers.
type vocabulary struct {
	name     string
	file     string   // under the data folder
	as       string   // the class, "" for SentencePiece's own ids
	variants []string // of ours, to give the ids of the peer's version
	flags    []string // of the binary
	peer     string   // work of peer/tokens.py
	family   string   // its argument
	rival    string
	target   float64
	inexact  bool // the peer's ids are known to differ in places
}

var vocabularies = []vocabulary{
	{"T5 unigram", "tok-t5/spiece.model", "", []string{"since-0.2.2"}, nil, "sentencepiece", "", "SentencePiece", 2, false},
	{"T5 unigram", "tok-t5/spiece.model", "t5", []string{"v5"}, []string{"--as", "t5"}, "tokenizers", "t5", "HF tokenizers", 12, false},
	{"Mistral BPE", "tok-mistral-bpe/tokenizer.model.v1", "", nil, nil, "sentencepiece", "", "SentencePiece", 3, false},
	{"GPT-2 byte BPE", "tok-gpt2", "gpt2", nil, []string{"--as", "gpt2"}, "tiktoken", "", "tiktoken", 2, false},
	{"GPT-2 byte BPE", "tok-gpt2", "gpt2", nil, []string{"--as", "gpt2"}, "tokenizers", "gpt2", "HF tokenizers", 15, false},
	{"BERT wordpiece", "tok-bert-vocab/google_uncased_en_vocab.txt", "bert-uncased", nil, []string{"--as", "bert-uncased"}, "tokenizers", "bert", "HF tokenizers", 15, false},
	{"BERT wordpiece", "tok-bert-vocab/google_uncased_en_vocab.txt", "bert-uncased", nil, []string{"--as", "bert-uncased"}, "blingfire", "", "BlingFire", 5, true},
	{"CLIP", "tok-clip/bpe_simple_vocab_16e6.txt.gz", "clip", []string{"fast"}, []string{"--as", "clip"}, "tokenizers", "clip", "HF tokenizers", 10, false},
	{"CLIP", "tok-clip/bpe_simple_vocab_16e6.txt.gz", "clip", nil, []string{"--as", "clip"}, "open_clip", "", "open_clip's Python", 50, false},
}

// tokenizersGroup is the tokenizers, in this process; the note says what the
// binary does as a whole process on one processor.
func tokenizersGroup(ctx context.Context, b *bench) error {
	t := &texts{bench: b, ctx: ctx}
	var err error
	if t.lines, err = b.mixedText(); err != nil {
		return err
	}
	var errs []error
	for _, v := range vocabularies {
		work := fmt.Sprintf("%s against %s, 1 thread", v.name, v.rival)
		errs = append(errs, b.do(ctx, work, func() error { return t.against(work, v) }))
	}
	last := ""
	for _, v := range vocabularies {
		if v.file == last {
			continue
		}
		last = v.file
		work := v.name + ", 2 threads over 1"
		errs = append(errs, b.do(ctx, work, func() error { return t.scale(work, v) }))
		work = v.name + ", loading"
		errs = append(errs, b.do(ctx, work, func() error { return t.load(work, v) }))
	}
	return errors.Join(errs...)
}

// texts are works on lines of text.
type texts struct {
	*bench
	ctx   context.Context
	lines []string
}

// open opens a vocabulary.
func (v *vocabulary) open(path string) (model.Tokenizer, error) {
	s, err := family.Read(path, "")
	if err != nil {
		return nil, err
	}
	if v.as == "" {
		return s.Model(v.variants)
	}
	return s.As(v.as, v.variants)
}

// path returns where a vocabulary is; CLIP's comes with open_clip too.
func (t *texts) path(v vocabulary) (string, error) {
	path, err := t.file(v.file)
	if err == nil || v.as != "clip" {
		return path, err
	}
	w, err := t.worker(t.ctx, "tokens")
	if err != nil {
		return "", err
	}
	p, err := w.Prepare("clip_model", map[string]any{})
	return letters(p.Values["path"]), err
}

// letters is a text that came as the codes of its characters.
func letters(codes []float64) string {
	var s strings.Builder
	for _, c := range codes {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// encode encodes lines on some threads.
func encode(encoders []model.Encoder, buffers [][]int32, lines []string) {
	var wg sync.WaitGroup
	const batch = 64 // lines of the slowest script are last: a thread must not be left with many of them
	next := make(chan int, len(lines)/batch+1)
	for at := 0; at < len(lines); at += batch {
		next <- at
	}
	close(next)
	for i, e := range encoders {
		wg.Go(func() {
			for at := range next {
				for _, l := range lines[at:min(at+batch, len(lines))] {
					buffers[i] = e.Append(buffers[i][:0], l)
				}
			}
		})
	}
	wg.Wait()
}

// A coder is our side. It opens the vocabulary anew before each pass, which is
// not timed, so that no word of the text is remembered from an earlier one.
type coder struct {
	vocabulary
	path    string
	threads int
	lines   []string
}

func (c *coder) Name() string { return "espalier, " + threadText(c.threads) }

func (c *coder) Time(ctx context.Context, calls int) ([]float64, error) {
	var times []float64
	for range calls {
		m, err := c.open(c.path)
		if err != nil {
			return nil, err
		}
		encoders, buffers := make([]model.Encoder, c.threads), make([][]int32, c.threads)
		for i := range encoders {
			encoders[i] = m.NewEncoder()
		}
		runtime.GC() // what was opened before is swept up outside the pass
		pass := duel.Func("", func() error {
			encode(encoders, buffers, c.lines)
			return nil
		})
		t, err := pass.Time(ctx, 1)
		if err != nil {
			return nil, err
		}
		times = append(times, t...)
	}
	return times, nil
}

func size(lines []string) float64 {
	n := 0
	for _, l := range lines {
		n += len(l) + 1
	}
	return float64(n) / 1e6
}

func (t *texts) against(work string, v vocabulary) error {
	path, err := t.path(v)
	if err != nil {
		return err
	}
	m, err := v.open(path)
	if err != nil {
		return err
	}
	lines := t.lines
	file, err := t.writeLines("text.txt", lines)
	if err != nil {
		return err
	}
	args := map[string]any{"text": file}
	if v.peer != "open_clip" && v.peer != "blingfire" {
		args["model"], args["threads"] = path, 1
	}
	if v.family != "" {
		args["family"] = v.family
	}
	w, err := t.worker(t.ctx, "tokens", "RAYON_NUM_THREADS=1", "TOKENIZERS_PARALLELISM=false", "OMP_NUM_THREADS=1")
	if err != nil {
		return err
	}
	p, err := w.Prepare(v.peer, args)
	if err != nil {
		return err
	}
	for k, x := range p.Versions {
		t.versions[k] = x
	}
	different, err := compareLines(m.NewEncoder(), lines, p.Values["lines"], v)
	if err != nil {
		return err
	}
	note, err := t.whole(path, file, v, size(lines))
	if err != nil {
		return err
	}
	if different > 0 {
		note = fmt.Sprintf("its ids differ in %.1f %% of the lines; %s", 100*float64(different)/float64(len(lines)), note)
	}
	return t.runner.Run(t.ctx, duel.Contest{
		Group: "tokenizers", Work: work, Unit: duel.Unit{Name: "MB/s", Amount: size(lines)}, Ours: &coder{v, path, 1, lines},
		Rivals: []duel.Side{w.Side(v.rival + " (" + p.Variant + ")")}, Targets: []duel.Target{{AtLeast: v.target}},
		Note: func(float64) string { return note },
	})
}

// compareLines returns how many lines have other ids than the peer's, which is
// an error unless that is known of the peer.
func compareLines(e model.Encoder, lines []string, theirs []float64, v vocabulary) (int, error) {
	if len(theirs) != len(lines) {
		return 0, fmt.Errorf("%s encodes %d lines of %d", v.rival, len(theirs), len(lines))
	}
	var ids []int32
	var raw []byte
	different, first := 0, -1
	for i, l := range lines {
		ids = e.Append(ids[:0], l)
		if v.peer == "blingfire" || v.peer == "open_clip" { // which add no ids around
			ids = ids[1 : len(ids)-1]
		}
		raw = raw[:0]
		for _, id := range ids {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(id))
		}
		if float64(crc32.ChecksumIEEE(raw)) != theirs[i] {
			if different == 0 {
				first = i
			}
			different++
		}
	}
	if different > 0 && !v.inexact {
		return different, fmt.Errorf("ids differ from %s's in %d lines of %d, first in line %d, %q", v.rival, different, len(lines), first+1, lines[first])
	}
	return different, nil
}

// whole says what the binary does as a whole process on one processor.
func (t *texts) whole(path, file string, v vocabulary, mb float64) (string, error) {
	binary, err := t.espalier(t.ctx)
	if err != nil {
		return "", err
	}
	argv := append([]string{binary, "tokenize", "--ids-only", "--model", path}, v.flags...)
	p := duel.Program{Argv: append(argv, file), Env: []string{"GOMAXPROCS=1"}}
	times, err := p.Time(t.ctx, 3)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("espalier tokenize as a whole process %.1f MB/s", mb/duel.Median(times)), nil
}

func (t *texts) scale(work string, v vocabulary) error {
	path, err := t.path(v)
	if err != nil {
		return err
	}
	return t.runner.Run(t.ctx, duel.Contest{
		Group: "tokenizers", Work: work, Unit: duel.Unit{Name: "MB/s", Amount: size(t.lines)}, Ours: &coder{v, path, 2, t.lines},
		Rivals: []duel.Side{&coder{v, path, 1, t.lines}}, Targets: []duel.Target{{AtLeast: 1.8}}, Budget: 2 * time.Second,
	})
}

// load times the reading of a vocabulary, whose files the system has in memory.
func (t *texts) load(work string, v vocabulary) error {
	path, err := t.path(v)
	if err != nil {
		return err
	}
	side := duel.Func("espalier", func() error {
		_, err := v.open(path)
		return err
	})
	times, err := side.Time(t.ctx, 7)
	if err != nil {
		return err
	}
	const limit = 50 // ms
	t.emit(duel.Limit("tokenizers", work, "ms", 1000*duel.Median(times), limit, ""))
	return nil
}
