package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/cmd/benchpeers/duel"
)

// TestMain plays the interpreter where a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("BENCHPEERS_PLAY") == "1" {
		play()
		return
	}
	os.Exit(m.Run())
}

// play answers as a worker does: every call takes 2 s, every result is 1, 2, 3.
func play() {
	for dec := json.NewDecoder(os.Stdin); ; {
		var ask struct {
			Prepare string
			Calls   int
		}
		if dec.Decode(&ask) != nil {
			return
		}
		answer := map[string]any{"seconds": slices.Repeat([]float64{2}, ask.Calls)}
		switch ask.Prepare {
		case "absent":
			answer = map[string]any{"error": "No module named 'absent'", "missing": true}
		case "":
		default:
			answer = map[string]any{"variant": "quick", "values": map[string][]float64{"x": {1, 2, 3}}, "versions": map[string]string{"player": "7"}}
		}
		json.NewEncoder(os.Stdout).Encode(answer)
	}
}

type fixed float64

func (f fixed) Name() string { return "ours" }

func (f fixed) Time(_ context.Context, calls int) ([]float64, error) {
	return slices.Repeat([]float64{float64(f)}, calls), nil
}

// try runs the command with one group, whose works are timed against a player.
func try(t *testing.T, works func(ctx context.Context, b *bench) error, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("BENCHPEERS_PLAY", "1")
	if os.Getenv(pythonEnv) == "" {
		t.Setenv(pythonEnv, os.Args[0])
	}
	kept := groups
	groups = []group{{"play", works}}
	defer func() { groups = kept }()
	var out, log bytes.Buffer
	code = run(t.Context(), args, &out, &log)
	return code, out.String(), log.String()
}

// pair times ours against the player's work.
func pair(ctx context.Context, b *bench, name, work string, values []float64, target float64) error {
	return b.do(ctx, name, func() error {
		side, err := b.peer(ctx, "player", "module", work, map[string]any{}, map[string][]float64{"x": values}, 1e-6)
		if err != nil {
			return err
		}
		return b.runner.Run(ctx, duel.Contest{Group: "play", Work: name, Unit: duel.Seconds, Ours: fixed(1), Rivals: []duel.Side{side}, Targets: []duel.Target{{AtLeast: target}}})
	})
}

func both(ctx context.Context, b *bench) error {
	return errors.Join(pair(ctx, b, "easy", "work", []float64{1, 2, 3}, 1.5), pair(ctx, b, "hard", "work", []float64{1, 2, 3}, 2.5))
}

func TestVerdicts(t *testing.T) {
	code, out, log := try(t, both)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, log)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 5 {
		t.Fatalf("output\n%s", out)
	}
	for i, want := range map[int]string{
		2: "play easy 1.000 2.000 s 2.00x 1.50x ok player (quick), 3",
		3: "play hard 1.000 2.000 s 2.00x 2.50x below player (quick), 3",
		4: "peers: player 7",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want[:len(want)-1]) {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	code, out, log := try(t, both, "-json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, log)
	}
	var verdicts []string
	for line := range strings.Lines(out) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if v, ok := l["verdict"].(string); ok {
			verdicts = append(verdicts, v)
		}
	}
	if !slices.Equal(verdicts, []string{"ok", "below"}) {
		t.Errorf("verdicts %v", verdicts)
	}
}

func TestOnlyPartOfAGroup(t *testing.T) {
	_, out, _ := try(t, both, "-only", "play/eas")
	if !strings.Contains(out, "easy") || strings.Contains(out, "hard") {
		t.Errorf("output\n%s", out)
	}
}

func TestResultThatDiffers(t *testing.T) {
	code, out, _ := try(t, func(ctx context.Context, b *bench) error {
		return pair(ctx, b, "other", "work", []float64{1, 2, 4}, 1)
	})
	if code != exitFailed || !strings.Contains(out, "failed") || !strings.Contains(out, "results differ") {
		t.Errorf("exit %d, output\n%s", code, out)
	}
}

func TestWorkThatIsMissing(t *testing.T) {
	code, out, _ := try(t, func(ctx context.Context, b *bench) error {
		return errors.Join(pair(ctx, b, "gone", "absent", []float64{1, 2, 3}, 1), pair(ctx, b, "easy", "work", []float64{1, 2, 3}, 1))
	})
	if code != exitSkipped || !strings.Contains(out, "No module named 'absent'") || !strings.Contains(out, " ok ") {
		t.Errorf("exit %d, output\n%s", code, out)
	}
	code, out, _ = try(t, func(_ context.Context, b *bench) error {
		_, err := b.file("tok-t5/spiece.model")
		return err
	}, "-data", t.TempDir())
	if code != exitSkipped || !strings.Contains(out, "spiece.model") {
		t.Errorf("exit %d, output\n%s", code, out)
	}
}

func TestNoInterpreter(t *testing.T) {
	t.Setenv(pythonEnv, filepath.Join(t.TempDir(), "python"))
	code, _, log := try(t, both)
	if code != exitFailed || !strings.Contains(log, pythonEnv) {
		t.Errorf("exit %d: %s", code, log)
	}
}

// TestNoEnvironment holds that a run without PEERS_PYTHON and without Python
// says what it wanted to install, and fails.
func TestNoEnvironment(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv(pythonEnv, "")
	var log bytes.Buffer
	_, err := interpreter(t.Context(), &log)
	if err == nil || !strings.Contains(err.Error(), "no interpreter") || !strings.Contains(log.String(), "torch==") {
		t.Errorf("error %v; log %s", err, log.String())
	}
}

func TestUsage(t *testing.T) {
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &out, &log); code != 0 {
		t.Errorf("-h: exit %d", code)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) > 24 || !strings.Contains(out.String(), "example:") {
		t.Errorf("help of %d lines", len(lines))
	}
	for _, l := range lines {
		if len(l) > 110 {
			t.Errorf("help line of %d columns: %s", len(l), l)
		}
	}
	for _, args := range [][]string{{"-no"}, {"x"}, {"-only", "none"}, {"-threads", "0"}, {"-threads", "a"}, {"-seconds", "0"}} {
		if code := run(t.Context(), args, &out, &log); code != exitUsage {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}

func TestChoose(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != len(groups) {
		t.Fatalf("%d groups, %v", len(all), err)
	}
	c, err := choose("gemm/attention, gemm/Adam")
	if err != nil || len(c) != 1 || !c[0].wants("attention, 1 thread") || !c[0].wants("Adam") || c[0].wants("softmax") {
		t.Errorf("%+v, %v", c, err)
	}
}
