package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"espalier/trainer/model/clip"
	"espalier/trainer/tensor"
)

// TestTextsWithoutFiles holds that texts are made where the public ones are
// missing, the same ones each time.
func TestTextsWithoutFiles(t *testing.T) {
	b := &bench{data: t.TempDir()}
	lines, err := b.mixedText()
	if err != nil {
		t.Fatal(err)
	}
	total, chinese := 0, 0
	for _, l := range lines {
		if l == "" || strings.ContainsAny(l, "\r\n") {
			t.Fatalf("line %q", l)
		}
		total += len(l) + 1
		if strings.ContainsFunc(l, func(r rune) bool { return r >= 0x4E00 }) {
			chinese += len(l) + 1
		}
	}
	if total < textBytes || total > textBytes+1000 {
		t.Errorf("%d bytes, want about %d", total, textBytes)
	}
	if share := float64(chinese) / float64(total); math.Abs(share-0.12) > 0.01 {
		t.Errorf("share of Chinese %.3f, want 0.12", share)
	}
	again, _ := b.mixedText()
	if !slices.Equal(lines, again) {
		t.Error("another text the second time")
	}
	s, err := b.captions(10)
	if err != nil || len(s.refs) != 10 || len(s.hyps) != 10 || len(s.refs[0]) != 5 || s.hyps[0] == s.refs[0][0] {
		t.Errorf("captions %+v, %v", s, err)
	}
}

func TestMixed(t *testing.T) {
	if got := mixed("a b c d e f g h", "1 2 3"); got != "a b c 1 e f g 2" {
		t.Errorf("mixed gives %q", got)
	}
}

// TestCorrections holds that the gold standard's edits lie within their
// sentences.
func TestCorrections(t *testing.T) {
	m := &metrics{bench: &bench{data: t.TempDir()}}
	gold, system, err := m.corrections(50)
	if err != nil || len(system) != 50 {
		t.Fatalf("%d sentences, %v", len(system), err)
	}
	sentences, edits, words := 0, 0, 0
	for _, l := range gold {
		switch {
		case strings.HasPrefix(l, "S "):
			sentences++
			words = len(strings.Fields(l)) - 1
		case strings.HasPrefix(l, "A "):
			edits++
			var from, to int
			if _, err := fmt.Sscanf(l, "A %d %d", &from, &to); err != nil || from >= to || to > words {
				t.Errorf("edit %q of %d words", l, words)
			}
		}
	}
	if sentences != 50 || edits < 50 {
		t.Errorf("%d sentences, %d edits", sentences, edits)
	}
}

// TestSeededWeights holds that the weights are those of a network.
func TestSeededWeights(t *testing.T) {
	for _, w := range []seeded{resNetShapes([4]int{1, 1, 1, 1}, 8), vitShapes(32, 64, 2, 16)} {
		if _, err := w.Floats("nothing"); err == nil {
			t.Error("a tensor that is not there is read")
		}
		for _, name := range w.Names() {
			in, _ := w.Info(name)
			x, err := w.Floats(name)
			if err != nil || len(x) != tensor.Size(in.Shape) {
				t.Errorf("%s: %d values of %v, %v", name, len(x), in.Shape, err)
			}
			if strings.HasSuffix(name, "running_var") && slices.Min(x) <= 0 {
				t.Errorf("%s is not positive", name)
			}
		}
		if clip.InputSize(w) != cropSize {
			t.Errorf("input of %d pixels, want %d", clip.InputSize(w), cropSize)
		}
	}
}
