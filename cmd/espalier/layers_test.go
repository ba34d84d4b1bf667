package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A listed package is what go list says of one.
type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Module     *struct{ Path, Version string }
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Standard,Module"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

const module = "espalier/"

// TestLayers holds that a package imports only from lines of layers.txt above
// its own, that every package is listed, and that what only tests use (a
// package that imports testing) is imported by nothing else.
func TestLayers(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "layers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	layer := make(map[string]int)
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if layer[line] != 0 {
			t.Errorf("layers.txt:%d: %s is listed twice", i+1, line)
		}
		layer[line] = i + 1
	}
	packages := goList(t, "./...")
	if len(packages) < 10 {
		t.Fatalf("go list finds only %d packages", len(packages))
	}
	forTests := make(map[string]bool)
	for _, p := range packages {
		forTests[p.ImportPath] = slices.Contains(p.Imports, "testing")
	}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		if layer[name] == 0 {
			t.Errorf("%s is not listed in layers.txt", name)
			continue
		}
		for _, imp := range p.Imports {
			need, ours := strings.CutPrefix(imp, module)
			if !ours {
				continue
			}
			if layer[need] > layer[name] {
				t.Errorf("%s imports %s, which stands below it in layers.txt", name, need)
			}
			if forTests[imp] && !forTests[p.ImportPath] {
				t.Errorf("%s imports %s, which is for tests", name, need)
			}
		}
	}
}

// TestThirdParty holds that THIRD_PARTY.md names each module in the binary.
func TestThirdParty(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "THIRD_PARTY.md"))
	if err != nil {
		t.Fatal(err)
	}
	in := make(map[string]bool)
	for _, p := range goList(t, "-deps", "./cmd/espalier") {
		if !p.Standard && p.Module != nil && p.Module.Path != strings.TrimSuffix(module, "/") {
			in[p.Module.Path] = true
		}
	}
	if len(in) < 5 {
		t.Fatalf("go list finds only %d modules", len(in))
	}
	for m := range in {
		if !bytes.Contains(text, []byte("| "+m+" |")) {
			t.Errorf("THIRD_PARTY.md does not name %s", m)
		}
	}
}
