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
	err := writeFile(filepath.Join(dir, WeightsFile), func(w io.Writer) (err error) {
		c.Weights, err = WriteWeights(w, tensors)
		return err
	})
	if err != nil {
		return err
	}
	text, err := c.Encode()
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, ConfigFile), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// WriteWeights writes the tensors as safetensors and returns the digest of what
// it wrote: the first file of a checkpoint.
func WriteWeights(w io.Writer, tensors []Tensor) (Digest, error) {
	sum := sha256.New()
	n := &counter{w: io.MultiWriter(w, sum)}
	if err := Write(n, tensors, nil); err != nil {
		return Digest{}, err
	}
	return Digest{Bytes: n.n, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// Encode returns the text of the JSON file: the second file of a checkpoint. It
// fills in Format; Weights is the digest of the first.
func (c Checkpoint) Encode() ([]byte, error) {
	c.Format = Format
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", ConfigFile, err)
	}
	return append(text, '\n'), nil
}

// Decode reads the text of the JSON file called source.
func Decode(text []byte, source string) (Checkpoint, error) {
	var c Checkpoint
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", source, err)
	}
	if c.Format != Format {
		return c, fmt.Errorf("%s: format: %q, want %q", source, c.Format, Format)
	}
	return c, nil
}

// Load opens the checkpoint in dir and verifies the digest of its weights. The
// caller closes the file.
func Load(dir string) (Checkpoint, *File, error) {
	name := filepath.Join(dir, ConfigFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return Checkpoint{}, nil, err
	}
	c, err := Decode(text, name)
	if err != nil {
		return c, nil, err
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
func writeFile(name string, fill func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".tmp*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	b := bufio.NewWriterSize(f, 1<<16)
	if err := fill(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
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
