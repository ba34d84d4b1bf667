package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"espalier/trainer/ckpt"
)

var weightsVerb = verb{
	name:  "weights",
	args:  "inspect FILE",
	short: "list the tensors of a safetensors file or checkpoint: shapes, types, totals, digest",
	long:  []string{"Takes inspect and a .safetensors file, or a checkpoint's folder."},
	example: []string{
		"espalier weights inspect model.safetensors",
	},
	setup: func(f *pflag.FlagSet) action {
		asJSON := f.Bool("json", false, "print one JSON object a tensor and one for the file")
		return func(ctx context.Context, c *console, args []string) error {
			if len(args) > 0 && args[0] != "inspect" {
				return usagef("no command %s; takes inspect FILE, which lists the tensors of a safetensors file", args[0])
			}
			if err := want(args, 2, 2, "inspect and one file"); err != nil {
				return err
			}
			path := args[1]
			if info, err := os.Stat(path); err != nil {
				return usagef("%v", err)
			} else if info.IsDir() {
				path = filepath.Join(path, ckpt.WeightsFile)
			}
			return inspectWeights(ctx, c, path, *asJSON)
		}
	},
}

func inspectWeights(ctx context.Context, c *console, path string, asJSON bool) error {
	w, err := ckpt.OpenFile(path)
	if err != nil {
		return err
	}
	defer w.Close()
	var total int64
	t := newTable("tensor", "type", "shape", " elements")
	for _, name := range w.Names() {
		info, _ := w.Info(name)
		total += int64(info.Len)
		if asJSON {
			shape := info.Shape
			if shape == nil {
				shape = []int{}
			}
			if err := c.json(map[string]any{"tensor": name, "dtype": info.DType, "shape": shape, "elements": info.Len}); err != nil {
				return err
			}
			continue
		}
		t.add(name, string(info.DType), shapeText(info.Shape), count(int64(info.Len), true))
	}
	size, digest, err := digestFile(ctx, path)
	if err != nil {
		return err
	}
	if asJSON {
		return c.json(map[string]any{"file": path, "tensors": len(w.Names()), "elements": total, "bytes": size, "sha256": digest})
	}
	if err := t.write(c.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%d tensors, %d elements, %s, sha256 %s\n", len(w.Names()), total, bytesText(size), digest)
	return err
}

func shapeText(shape []int) string {
	if len(shape) == 0 {
		return "scalar"
	}
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, "x")
}

// digestFile reads a file and returns its length and SHA-256.
func digestFile(ctx context.Context, path string) (int64, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	var size int64
	for {
		n, err := f.Read(buf)
		h.Write(buf[:n])
		size += int64(n)
		if err == io.EOF {
			return size, hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return 0, "", err
		}
		if ctx.Err() != nil {
			return 0, "", ctx.Err()
		}
	}
}
