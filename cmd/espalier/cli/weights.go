package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"espalier/trainer/ckpt"
)

var weightsVerb = verb{
	name:  "weights",
	args:  "inspect|convert FILE",
	short: "list the tensors of weights, or write them as one safetensors file",
	long: []string{
		"Reads safetensors, PyTorch and TorchScript files (never running what they hold), the index of a",
		"sharded checkpoint, or the folder of a published model.",
	},
	example: []string{
		"espalier weights inspect model.safetensors",
		"espalier weights convert pytorch_model.bin --out model.safetensors --dtype F16",
	},
	setup: func(f *pflag.FlagSet) action {
		out := f.String("out", "", "convert: `FILE` to write")
		dtype := f.String("dtype", "", "convert: type of floating-point tensors, `F32`, F16 or BF16 (default: as they are)")
		asJSON := f.Bool("json", false, "inspect: print one JSON object a tensor and one for the whole")
		return func(_ context.Context, c *console, args []string) error {
			if err := want(args, 2, 2, "inspect or convert, and one file"); err != nil {
				return err
			}
			if args[0] != "inspect" && args[0] != "convert" {
				return usagef("no command %s; want inspect or convert", args[0])
			}
			if args[0] == "convert" && *out == "" {
				return usagef("convert needs --out FILE")
			}
			if err := oneOf("dtype", *dtype, "", "F32", "F16", "BF16"); err != nil {
				return err
			}
			w, err := ckpt.OpenWeights(args[1])
			if err != nil {
				return err
			}
			defer w.Close()
			if args[0] == "convert" {
				return ckpt.Convert(w, *out, ckpt.DType(*dtype))
			}
			l, err := ckpt.Inspect(w)
			if err != nil {
				return err
			}
			return printWeights(c, args[1], l, *asJSON)
		}
	},
}

func printWeights(c *console, name string, l *ckpt.Listing, asJSON bool) error {
	if asJSON {
		for _, t := range l.Tensors {
			if err := c.json(t); err != nil {
				return err
			}
		}
		return c.json(map[string]any{
			"file": name, "tensors": len(l.Tensors), "values": l.Values, "bytes": l.Bytes, "by_type": l.ByType, "digest": l.Digest,
		})
	}
	t := newTable("tensor", "type", "shape", "sha256")
	for _, x := range l.Tensors {
		t.add(x.Name, string(x.DType), shapeText(x.Shape), short(x.SHA256))
	}
	if err := t.write(c.out); err != nil {
		return err
	}
	var types []string
	for _, d := range slices.Sorted(maps.Keys(l.ByType)) {
		types = append(types, fmt.Sprintf("%d %s", l.ByType[d], d))
	}
	_, err := fmt.Fprintf(c.out, "%d tensors, %s, %s, digest %s\n", len(l.Tensors), strings.Join(types, " + "), bytesText(l.Bytes), l.Digest)
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
