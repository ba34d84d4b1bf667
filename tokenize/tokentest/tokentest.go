// Package tokentest reads the goldens of tokenizers and times encoders, for
// tests only.
package tokentest

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"espalier/internal/shared"
	"espalier/tokenize/model"
)

// SentencePiece has the model files of the goldens, below data, by the names
// they have there.
var SentencePiece = map[string]string{
	"t5":         "tok-t5/spiece.model",
	"zh":         "tok-zh-spm/cluecorpussmall_spm.model",
	"albert":     "tok-hf-fixtures/spiece.model",
	"en1000":     "tok-sentencepiece/python/test/test_model.model",
	"ja8000":     "tok-sentencepiece/python/test/test_ja_model.model",
	"seqio26":    "tok-seqio/sentencepiece/sentencepiece.model",
	"mistral_v1": "tok-mistral-bpe/tokenizer.model.v1",
	"mistral_v3": "tok-mistral-bpe/mistral_instruct_tokenizer_240323.model.v3",
	"bpe1000":    "tok-hf-fixtures/test_sentencepiece_bpe.model",
}

// Data returns the content of a file below the shared data folder.
func Data(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(shared.Dir(t, "data", path))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Golden calls f with each line of a file of the tokenizers' goldens.
func Golden[T any](t testing.TB, name string, f func(T)) {
	t.Helper()
	Lines(t, shared.Dir(t, "goldens", "tokenizers", name), f)
}

// Lines calls f with each line of a file of JSON lines.
func Lines[T any](t testing.TB, path string, f func(T)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	s.Buffer(nil, 1<<24)
	n := 0
	for ; s.Scan(); n++ {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s:%d: %v", path, n+1, err)
		}
		f(v)
	}
	if s.Err() != nil || n == 0 {
		t.Fatalf("%s: %d lines, %v", path, n, s.Err())
	}
}

// Inputs returns the goldens' texts by case.
func Inputs(t testing.TB) map[string]string {
	t.Helper()
	texts := map[string]string{}
	Golden(t, "inputs.jsonl", func(r struct{ Case, Text string }) { texts[r.Case] = r.Text })
	return texts
}

// Text returns the lines that benchmarks encode: the file that
// ESPALIER_BENCH_TEXT names (peers/tok_speed.py --make-text writes what the
// peers are timed on), else made-up ones.
func Text(b *testing.B) (lines []string, size int) {
	b.Helper()
	text := strings.Repeat("A man riding a wave on top of a surfboard.\nThe naïve 你好 (1,000.50)!\n", 1000)
	if name := os.Getenv("ESPALIER_BENCH_TEXT"); name != "" {
		file, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		text = string(file)
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), len(text)
}

// Bench times the encoding of the benchmark text. It reports bytes by processor
// time too, which other programs on the machine disturb less. Fresh returns the
// encoder; it is called for every pass if each is set.
func Bench(b *testing.B, each bool, fresh func() model.Encoder) {
	b.Helper()
	lines, size := Text(b)
	b.SetBytes(int64(size))
	e := fresh()
	var ids []int32
	tokens := 0
	var used time.Duration
	for b.Loop() {
		if each {
			b.StopTimer()
			e = fresh()
			b.StartTimer()
		}
		start := CPUTime()
		for _, l := range lines {
			ids = e.Append(ids[:0], l)
			tokens += len(ids)
		}
		used += CPUTime() - start
	}
	b.ReportMetric(float64(tokens)/float64(b.N), "tokens/op")
	b.ReportMetric(float64(size)*float64(b.N)/1e6/used.Seconds(), "MB/cpu-s")
}

// CPUTime returns the processor time of this process.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
