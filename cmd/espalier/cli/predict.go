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
	args:  "--checkpoint DIR --image FILE... | --text TEXT...",
	short: "caption images, or answer texts, with a checkpoint",
	long: []string{
		"DIR is the output of a trainer/train stage, or for texts of a trainer/tune stage (espalier show",
		"names it). Images that cannot be read are told and end the call with 20, after the others.",
	},
	example: []string{
		"espalier predict --checkpoint out/model --image photo.jpg --beam 5",
		"espalier predict --checkpoint out/rte --backbone t5-base --text 'rte sentence1: ...'",
	},
	setup: func(f *pflag.FlagSet) action {
		var p predictFlags
		f.StringVar(&p.checkpoint, "checkpoint", "", "`DIR` with model.json and model.safetensors")
		f.StringArrayVar(&p.images, "image", nil, "image `FILE`; may be repeated, and files may follow the flags")
		f.StringArrayVar(&p.texts, "text", nil, "`TEXT` to answer, as the task's template writes it; may be repeated")
		f.StringVar(&p.backbone, "backbone", "", "`DIR` of the model that the checkpoint of trainer/tune edits")
		f.StringVar(&p.task, "task", "", "`NAME` of the task, if the checkpoint has several")
		f.StringVar(&p.weights, "weights", "", "`FILE` of the image network's weights, if the model was trained with one")
		f.IntVar(&p.beam, "beam", 5, "width of the beam, 1 for greedy (default 5): `N`")
		f.IntVar(&p.threads, "threads", 0, "threads of kernels: `N` (default: the CPUs)")
		f.BoolVar(&p.json, "json", false, "print one JSON object a caption, all of the beam")
		return p.run
	},
}

type predictFlags struct {
	checkpoint    string
	images, texts []string
	weights       string
	backbone      string
	task          string
	beam, threads int
	json          bool
}

func (p *predictFlags) run(ctx context.Context, c *console, args []string) error {
	images := append(p.images, args...)
	switch {
	case p.checkpoint == "":
		return usagef("want --checkpoint DIR")
	case len(images) == 0 && len(p.texts) == 0:
		return usagef("want --image FILE or --text TEXT")
	case len(images) > 0 && len(p.texts) > 0:
		return usagef("--image and --text: want one of them")
	case len(p.texts) == 0 && (p.backbone != "" || p.task != ""):
		return usagef("--backbone and --task go with --text")
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
	if len(p.texts) > 0 {
		return p.answer(ctx, c, dev)
	}
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

// answer answers the texts.
func (p *predictFlags) answer(ctx context.Context, c *console, dev *cpu.Device) error {
	model, err := jobs.OpenTextPredictor(dev, p.checkpoint, p.backbone, p.task, decode.Generation{Beams: p.beam, Return: p.beam})
	if err != nil {
		return err
	}
	defer model.Close()
	for _, text := range p.texts {
		answers, err := model.Text(ctx, text)
		if err != nil {
			return err
		}
		for rank, a := range answers {
			switch {
			case p.json:
				err = c.json(map[string]any{"source": text, "rank": rank, "text": a.Text, "log_prob": a.LogProb})
			case rank == 0:
				_, err = fmt.Fprintln(c.out, a.Text)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
