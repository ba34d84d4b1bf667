//go:build amd64 && !purego

package cpuinfo

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// baseline is what every amd64 processor has; PREFETCHT0 counts as MMX+.
const baseline = "MMX+ SSE SSE2 CMOV"

// gates are the features that a suffix of a function's name stands for, by
// avo's names: those that init requires for AVX2, AVX512 and BF16.
var gates = map[string]string{
	"AVX2":   "AVX AVX2 FMA3",
	"AVX512": "AVX AVX2 FMA3 AVX512F AVX512BW AVX512DQ AVX512VL",
	"BF16":   "AVX AVX2 FMA3 AVX512F AVX512BW AVX512DQ AVX512VL AVX512BF16",
}

// TestGatesCoverAssembly reads every .s file of the kernels: what a function
// requires must be within the gate that its name's suffix stands for.
func TestGatesCoverAssembly(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../*/*_amd64.s", "../../../preprocess/*/*_amd64.s", "../../../internal/*/*_amd64.s"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no assembly found as %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	functions := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var requires []string
		for s := bufio.NewScanner(f); s.Scan(); {
			line := s.Text()
			if rest, ok := strings.CutPrefix(line, "// Requires: "); ok {
				requires = strings.Split(rest, ", ")
			}
			name, ok := strings.CutPrefix(line, "TEXT ·")
			if !ok {
				continue
			}
			name, _, _ = strings.Cut(name, "(")
			functions++
			allowed := "none"
			for suffix, features := range gates {
				if strings.HasSuffix(name, suffix) {
					allowed = features
				}
			}
			for _, r := range requires {
				if !strings.Contains(" "+baseline+" "+allowed+" ", " "+r+" ") {
					t.Errorf("%s: %s requires %s, its gate covers %s", file, name, r, allowed)
				}
			}
			requires = nil
		}
	}
	t.Logf("%d functions in %d files", functions, len(files))
}

// TestGates checks the switches against the processor.
func TestGates(t *testing.T) {
	x := &cpu.X86
	if AVX2 && !(x.HasAVX && x.HasAVX2 && x.HasFMA) {
		t.Error("AVX2 is on without all of its features")
	}
	if AVX512 && !(AVX2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL) {
		t.Error("AVX512 is on without all of its features")
	}
	before := Best()
	for _, l := range Levels() {
		restore := Limit(l)
		if Best() != l {
			t.Errorf("limited to %v, best is %v", l, Best())
		}
		if want := map[bool]string{true: "amd64", false: "portable-amd64"}[l > Portable]; Numerics() != want {
			t.Errorf("%v: numerics class %q, want %q", l, Numerics(), want)
		}
		restore()
	}
	if Best() != before {
		t.Errorf("best is %v after all limits are lifted, want %v", Best(), before)
	}
}
