package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/pipeline"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
)

var predictVerb = verb{
	name:  "predict",
	args:  "--checkpoint DIR --image FILE...",
	short: "caption images with a checkpoint",
	long: []string{
		"DIR is the output of a trainer/train stage (espalier show names it). Images that cannot be read are",
		"told and end the call with 20, after the others.",
	},
	example: []string{
		"espalier predict --checkpoint out/model --image photo.jpg --beam 5",
	},
	setup: func(f *pflag.FlagSet) action {
		var p predictFlags
		f.StringVar(&p.checkpoint, "checkpoint", "", "`DIR` with model.json and model.safetensors")
		f.StringArrayVar(&p.images, "image", nil, "image `FILE`; may be repeated, and files may follow the flags")
		f.StringVar(&p.weights, "weights", "", "`FILE` of the image network's weights, if the model was trained with one")
		f.IntVar(&p.beam, "beam", 5, "width of the beam, 1 for greedy (default 5): `N`")
		f.IntVar(&p.threads, "threads", 0, "threads of kernels: `N` (default: the CPUs)")
		f.BoolVar(&p.json, "json", false, "print one JSON object a caption, all of the beam")
		return p.run
	},
}

type predictFlags struct {
	checkpoint    string
	images        []string
	weights       string
	beam, threads int
	json          bool
}

func (p *predictFlags) run(ctx context.Context, c *console, args []string) error {
	images := append(p.images, args...)
	switch {
	case p.checkpoint == "":
		return usagef("want --checkpoint DIR")
	case len(images) == 0:
		return usagef("want --image FILE")
	case p.beam < 1:
		return usagef("--beam %d: want at least 1", p.beam)
	case p.threads < 0:
		return usagef("--threads %d: want at least 1", p.threads)
	}
	if p.threads == 0 {
		p.threads = runtime.GOMAXPROCS(0)
	}
	dev := cpu.New(p.threads)
	defer dev.Close()
	model, err := jobs.OpenPredictor(dev, p.checkpoint, p.weights, decode.Search{Beam: p.beam})
	if err != nil {
		return err
	}
	defer model.Close()
	bad := 0
	for _, path := range images {
		captions, err := model.Image(ctx, path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			bad++
			c.warn("%v", err)
			continue
		}
		for rank, caption := range captions {
			switch {
			case p.json:
				err = c.json(map[string]any{"image": path, "rank": rank, "text": caption.Text, "log_prob": caption.LogProb})
			case rank > 0:
			case len(images) == 1:
				_, err = fmt.Fprintln(c.out, caption.Text)
			default:
				_, err = fmt.Fprintf(c.out, "%s: %s\n", path, caption.Text)
			}
			if err != nil {
				return err
			}
		}
	}
	if bad > 0 {
		return silentError(pipeline.ExitBadInput)
	}
	return nil
}
