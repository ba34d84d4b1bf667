// Package ckpt reads and writes weights.
//
// A [File] is a safetensors file opened for reading: the header is checked
// whole when it is opened, tensors are read when asked for. [Write] makes such
// a file from named tensors; equal tensors give equal bytes. A checkpoint is
// the pair model.safetensors and model.json in one folder, made by [Save] and
// opened by [Load]; the JSON file names the digest of the weights, so that a
// torn pair is refused.
//
// A File may be read from several goroutines at once. Slices handed in stay
// the caller's.
package ckpt

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names of the two files of a checkpoint.
const (
	WeightsFile = "model.safetensors"
	ConfigFile  = "model.json"
)

// Format is the format id of a checkpoint's JSON file.
const Format = "espalier/checkpoint/1"

// A Checkpoint is the content of model.json.
type Checkpoint struct {
	Format  string          `json:"format"`
	Model   string          `json:"model"` // what the weights are for, such as "ort"
	Weights Digest          `json:"weights"`
	Config  json.RawMessage `json:"config"` // the model's configuration
	State   json.RawMessage `json:"state,omitempty"`
}

// A Digest names the bytes of a file.
type Digest struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Save writes the tensors and c, whose Format and Weights it fills in, to the
// folder dir. Each file appears whole or not at all, the JSON file last.
func Save(dir string, c Checkpoint, tensors []Tensor) error {
	sum := sha256.New()
	n, err := writeFile(filepath.Join(dir, WeightsFile), func(w io.Writer) error {
		return Write(io.MultiWriter(w, sum), tensors, nil)
	})
	if err != nil {
		return err
	}
	c.Format = Format
	c.Weights = Digest{Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))}
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", ConfigFile, err)
	}
	_, err = writeFile(filepath.Join(dir, ConfigFile), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	return err
}

// Load opens the checkpoint in dir and verifies the digest of its weights. The
// caller closes the file.
func Load(dir string) (Checkpoint, *File, error) {
	var c Checkpoint
	name := filepath.Join(dir, ConfigFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return c, nil, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, nil, fmt.Errorf("%s: %w", name, err)
	}
	if c.Format != Format {
		return c, nil, fmt.Errorf("%s: format: %q, want %q", name, c.Format, Format)
	}
	name = filepath.Join(dir, WeightsFile)
	if err := verify(name, c.Weights); err != nil {
		return c, nil, err
	}
	f, err := OpenFile(name)
	return c, f, err
}

func verify(name string, want Digest) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n != want.Bytes || got != want.SHA256 {
		return fmt.Errorf("%s: does not belong to %s beside it: sha256 %s, want %s", name, ConfigFile, got, want.SHA256)
	}
	return nil
}

// writeFile creates name through a temporary file beside it.
func writeFile(name string, fill func(io.Writer) error) (n int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".tmp*")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	w := &counter{w: f}
	b := bufio.NewWriterSize(w, 1<<16)
	if err := fill(b); err != nil {
		return 0, err
	}
	if err := b.Flush(); err != nil {
		return 0, err
	}
	if err := f.Chmod(0o644); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return 0, errors.Join(err, os.Remove(f.Name()))
	}
	return w.n, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
