package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

//go:embed peer
var peers embed.FS

// pythonEnv is the variable that names the interpreter.
const pythonEnv = "PEERS_PYTHON"

// interpreter returns how Python is called: the program that PEERS_PYTHON
// names, else that of an environment in the user's cache folder, which is made
// if it is not there.
func interpreter(ctx context.Context, log io.Writer) ([]string, error) {
	if p := os.Getenv(pythonEnv); p != "" {
		argv := strings.Fields(p)
		if _, err := exec.LookPath(argv[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", pythonEnv, err)
		}
		return argv, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no interpreter: %s is not set, and there is no cache folder to make one in: %w", pythonEnv, err)
	}
	wanted, err := peers.ReadFile("peer/requirements.txt")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "espalier", fmt.Sprintf("peers-%x", sha256.Sum256(wanted))[:18])
	python := filepath.Join(dir, "bin", "python")
	if runtime.GOOS == "windows" {
		python = filepath.Join(dir, "Scripts", "python.exe")
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return []string{python}, nil
	}
	return []string{python}, makeEnvironment(ctx, dir, python, wanted, log)
}

// makeEnvironment makes a Python environment with all that is wanted.
func makeEnvironment(ctx context.Context, dir, python string, wanted []byte, log io.Writer) error {
	fmt.Fprintf(log, "benchpeers: %s is not set: making an environment of about 6 GB in %s with\n%s", pythonEnv, dir, wanted)
	fail := func(err error) error {
		return fmt.Errorf("no interpreter: %s is not set, and no environment could be made in %s: %w", pythonEnv, dir, err)
	}
	base, err := exec.LookPath("python3")
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fail(err)
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, wanted, 0o666); err != nil {
		return fail(err)
	}
	for _, argv := range [][]string{{base, "-m", "venv", dir}, {python, "-m", "pip", "install", "--quiet", "--requirement", list}} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil {
			return fail(fmt.Errorf("%s: %w", strings.Join(argv, " "), err))
		}
	}
	return os.WriteFile(filepath.Join(dir, "complete"), nil, 0o666)
}

// unpack writes the peers' programs to a folder.
func unpack(dir string) error {
	sub, err := fs.Sub(peers, "peer")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, sub); err != nil {
		return fmt.Errorf("unpack the peers: %w", err)
	}
	return nil
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
