package duel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// scripted is a side whose calls take what is written.
type scripted struct {
	name  string
	times []float64 // one a turn, the last one for ever
	turns *[]string // of all sides, in their order
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Time(_ context.Context, calls int) ([]float64, error) {
	t := s.times[0]
	if len(s.times) > 1 {
		s.times = s.times[1:]
	}
	if s.turns != nil {
		*s.turns = append(*s.turns, s.name)
	}
	return slices.Repeat([]float64{t}, calls), nil
}

func hold(t *testing.T, c Contest) []Line {
	t.Helper()
	var lines []Line
	r := Runner{Budget: time.Hour, Turn: time.Millisecond, Emit: func(l Line) { lines = append(lines, l) }}
	if err := r.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestRatioIsTheMedianOfPairs(t *testing.T) {
	// The machine slows down for both: two calls to warm up, then rounds.
	ours := &scripted{name: "ours", times: []float64{9, 1, 2, 4, 1}}
	theirs := &scripted{name: "theirs", times: []float64{9, 3, 6, 12, 30, 3}}
	lines := hold(t, Contest{Group: "g", Work: "w", Unit: Unit{"GFLOP/s", 12}, Ours: ours, Rivals: []Side{theirs}, Targets: []Target{{AtLeast: 3}}})
	if len(lines) != 1 {
		t.Fatalf("%d lines, want 1", len(lines))
	}
	l := lines[0]
	if l.Ratio != 3 || l.Verdict != OK || l.Pairs != mostRounds || l.Ours != 12 || l.Theirs != 4 || l.Against != "theirs" {
		t.Errorf("line %+v", l)
	}
}

func TestTheFastestRivalCounts(t *testing.T) {
	sides := []Side{&scripted{name: "slow", times: []float64{9}}, &scripted{name: "fast", times: []float64{2}}, &scripted{name: "peak", times: []float64{0.5}}}
	lines := hold(t, Contest{
		Group: "g", Work: "w", Unit: Seconds, Ours: &scripted{name: "ours", times: []float64{1}}, Rivals: sides,
		Targets: []Target{{Against: "best", Rivals: []string{"slow", "fast"}, AtLeast: 2.5}, {Rivals: []string{"peak"}, AtLeast: 0.5}},
		Note:    func(s float64) string { return "note" },
	})
	if l := lines[0]; l.Ratio != 2 || l.Against != "best: fast" || l.Verdict != Below || len(l.Rivals) != 2 || l.Note != "note" {
		t.Errorf("line %+v", l)
	}
	if l := lines[1]; l.Ratio != 0.5 || l.Verdict != OK || l.Theirs != 0.5 {
		t.Errorf("line %+v", l)
	}
}

func TestTurnsAlternate(t *testing.T) {
	var turns []string
	hold(t, Contest{
		Ours: &scripted{"a", []float64{1}, &turns}, Rivals: []Side{&scripted{"b", []float64{1}, &turns}}, Targets: []Target{{AtLeast: 1}},
	})
	if got := strings.Join(turns, ""); !strings.HasSuffix(got, "ab"+"ba"+"ab"+"ba"+"ab"+"ba"+"ab"+"ba"+"ab") {
		t.Errorf("turns %s", got)
	}
}

func TestContestOfUnknownRival(t *testing.T) {
	r := Runner{}
	err := r.Run(t.Context(), Contest{Group: "g", Work: "w", Rivals: []Side{&scripted{name: "a"}}, Targets: []Target{{Rivals: []string{"b"}}}})
	if err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("error %v", err)
	}
}

func TestFuncTimesEachCall(t *testing.T) {
	n := 0
	times, err := Func("f", func() error { n++; return nil }).Time(t.Context(), 5)
	if err != nil || len(times) != 5 || n != 5 {
		t.Errorf("%d calls, %d times, %v", n, len(times), err)
	}
	wrong := errors.New("wrong")
	if _, err := Func("f", func() error { return wrong }).Time(t.Context(), 1); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{7}, 7}} {
		if got := Median(c.x); got != c.want {
			t.Errorf("Median(%v) = %g, want %g", c.x, got, c.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("a median of nothing")
	}
}

func TestSame(t *testing.T) {
	x := map[string][]float64{"a": {1, 2, 4}}
	if err := Same(x, map[string][]float64{"a": {1, 2, 4.0003}}, 1e-4); err != nil {
		t.Error(err)
	}
	for _, y := range []map[string][]float64{{"a": {1, 2, 4.1}}, {"a": {1, 2}}, {"b": {1, 2, 4}}, {"a": {1, math.NaN(), 4}}} {
		if Same(x, y, 1e-4) == nil {
			t.Errorf("%v and %v are the same", x, y)
		}
	}
}

// TestFill holds the numbers that the peers make too (peer/same.py).
func TestFill(t *testing.T) {
	x := make([]float32, 3)
	Fill(x, 1)
	if want := []float32{0.6520970463752747, -0.2806781232357025, -0.6140073537826538}; !slices.Equal(x, want) {
		t.Errorf("Fill gives %v, want %v", x, want)
	}
	if got := Sample(make([]float32, 5000)); len(got) != samples {
		t.Errorf("%d samples of 5000", len(got))
	}
}

func TestLines(t *testing.T) {
	var table, text bytes.Buffer
	l := Line{Group: "gemm", Work: "w", Ours: 212.34, Theirs: 0.5, Unit: "GFLOP/s", Against: "torch", Ratio: 1.234, Target: 1.5, Verdict: Below, Pairs: 7, Note: "n"}
	limit := Limit("t", "start", "ms", 60, 50, "")
	if limit.Verdict != Below || limit.Ratio >= 1 {
		t.Errorf("limit %+v", limit)
	}
	none := Undone("t", "x", Skipped, Missing("no %s", "spiece.model"))
	if err := errors.Join(Head(&table), l.Write(&table), none.Write(&table), l.JSON(&text)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(table.String(), "\n")
	if got := strings.Join(strings.Fields(lines[1]), " "); got != "gemm w 212.3 0.5000 GFLOP/s 1.23x 1.50x below torch, 7; n" {
		t.Errorf("line %q", got)
	}
	if !strings.Contains(lines[2], "skipped missing: no spiece.model") {
		t.Errorf("line %q", lines[2])
	}
	var back Line
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || back.Ratio != l.Ratio || back.Verdict != Below {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestMachine(t *testing.T) {
	if (Machine{Load: "0.10 2 3"}).Busy() || !(Machine{Load: "1.50 0 0"}).Busy() || (Machine{}).Busy() {
		t.Error("Busy is wrong")
	}
	if m := Here(); m.Threads < 1 || m.CPU == "" {
		t.Errorf("%+v", m)
	}
}

// TestMain plays another program where the test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("DUEL_PLAY") == "1" {
		play()
		return
	}
	os.Exit(m.Run())
}

// play is a worker that knows one work, "half": calls of half a second. With
// an argument it is a program that holds 50 MB of memory and says so.
func play() {
	if len(os.Args) > 1 && os.Args[1] == "program" {
		x := make([]byte, 50e6)
		for i := range x {
			x[i] = byte(i)
		}
		time.Sleep(100 * time.Millisecond)
		os.Stdout.WriteString("0.25")
		return
	}
	for dec := json.NewDecoder(os.Stdin); ; {
		var ask struct {
			Prepare string
			Calls   int
		}
		if dec.Decode(&ask) != nil {
			return
		}
		answer := reply{Seconds: slices.Repeat([]float64{0.5}, ask.Calls)}
		switch ask.Prepare {
		case "", "half":
			answer.Values = map[string][]float64{"x": {1, 2}}
			answer.Versions = map[string]string{"player": "1", "omp": os.Getenv("OMP_NUM_THREADS")}
		case "absent":
			answer = reply{Error: "no package x", Missing: true}
		case "wrong":
			answer = reply{Error: "ValueError: x"}
		case "die":
			os.Stderr.WriteString("the reason\n")
			os.Exit(3)
		}
		json.NewEncoder(os.Stdout).Encode(answer)
	}
}

func player(t *testing.T) *Worker {
	t.Helper()
	t.Setenv("DUEL_PLAY", "1")
	t.Setenv("OMP_NUM_THREADS", "7")
	w, err := Start(t.Context(), "player", []string{os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWorker(t *testing.T) {
	w := player(t)
	p, err := w.Prepare("half", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Values["x"], []float64{1, 2}) || p.Versions["player"] != "1" {
		t.Errorf("prepared %+v", p)
	}
	if p.Versions["omp"] != "" {
		t.Errorf("the worker sees OMP_NUM_THREADS=%s", p.Versions["omp"])
	}
	times, err := w.Side("p").Time(t.Context(), 3)
	if err != nil || !slices.Equal(times, []float64{0.5, 0.5, 0.5}) {
		t.Errorf("times %v, %v", times, err)
	}
	if _, err := w.Prepare("absent", nil); !errors.Is(err, ErrMissing) {
		t.Errorf("error %v", err)
	}
	if _, err := w.Prepare("wrong", nil); err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "ValueError: x") {
		t.Errorf("error %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestWorkerThatDies(t *testing.T) {
	w := player(t)
	if _, err := w.Prepare("die", nil); err == nil || !strings.Contains(err.Error(), "ended early") {
		t.Errorf("error %v", err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("error %v", err)
	}
}

func TestStartOfNothing(t *testing.T) {
	if _, err := Start(t.Context(), "x", []string{filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a program that is not there starts")
	}
}

func TestProgram(t *testing.T) {
	said := ""
	p := Program{Label: "p", Argv: []string{os.Args[0], "program"}, Env: []string{"DUEL_PLAY=1"}, Watch: true, After: func(out []byte) error { said = string(out); return nil }}
	times, err := p.Time(t.Context(), 1)
	if err != nil || len(times) != 1 || times[0] < 0.1 || said != "0.25" {
		t.Fatalf("times %v, said %q, %v", times, said, err)
	}
	if p.PeakMB < 50 && p.PeakMB != 0 {
		t.Errorf("%g MB at the most, want 50 or more", p.PeakMB)
	}
	p.Self = func([]byte) (float64, error) { return 0.25, nil }
	if times, err = p.Time(t.Context(), 1); err != nil || times[0] != 0.25 {
		t.Errorf("times %v, %v", times, err)
	}
	p.Argv = []string{os.Args[0], "-test.run=^$", "-no.such.flag"}
	p.Env = nil
	if _, err = p.Time(t.Context(), 1); err == nil {
		t.Error("a program that fails is timed")
	}
}
