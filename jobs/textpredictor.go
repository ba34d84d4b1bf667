package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"espalier/tokenize/family"
	"espalier/tokenize/preset"
	"espalier/trainer"
	"espalier/trainer/decode"
	"espalier/trainer/op"
)

// A TextPredictor answers texts with a checkpoint of trainer/tune. It is used
// from one goroutine.
type TextPredictor struct {
	loaded    *trainer.TextLoaded
	generator *trainer.Generator
	encoder   *preset.Encoder
	task      int
}

// OpenTextPredictor reads a checkpoint, the folder of an output of trainer/tune.
// Backbone is the folder of the model that was edited, "" if that is random;
// task names one of the checkpoint's tasks, "" means the only one.
func OpenTextPredictor(dev op.Device, checkpoint, backbone, task string, search decode.Generation) (_ *TextPredictor, err error) {
	l, err := trainer.LoadText(dev, trainer.Folder(checkpoint), backbone)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", checkpoint, err)
	}
	p := &TextPredictor{loaded: l}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.Info.Features != nil {
		return nil, fmt.Errorf("%s: trained with images; use a job with trainer/generate", checkpoint)
	}
	switch at := slices.Index(l.Info.Tasks, task); {
	case at >= 0:
		p.task = at
	case task == "" && len(l.Info.Tasks) == 1:
	default:
		return nil, fmt.Errorf("task %q: %s knows %s", task, checkpoint, strings.Join(l.Info.Tasks, ", "))
	}
	vocab := trainer.Folder(filepath.Join(checkpoint, "vocab"))
	if len(vocab.Names()) == 0 {
		return nil, fmt.Errorf("%s: no vocabulary in it: it was trained without validation", checkpoint)
	}
	text, err := textDetokenizer(vocab, l.Info.Vocab)
	if err != nil {
		return nil, err
	}
	src, err := family.ReadFiles(vocab.Names(), func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(string(vocab), name)) }, "")
	if err != nil {
		return nil, err
	}
	class, err := src.As(l.Info.Vocab.Kind, strings.FieldsFunc(l.Info.Vocab.Variants, func(r rune) bool { return r == ',' }))
	if err != nil {
		return nil, err
	}
	p.encoder = class.Encoder()
	search.MaxNew = cmp.Or(search.MaxNew, l.Info.MaxTarget)
	if p.generator, err = trainer.NewGenerator(l.Model, search, text, nil); err != nil {
		return nil, err
	}
	return p, nil
}

// Close gives the model's memory back.
func (p *TextPredictor) Close() { p.loaded.Close() }

// Text answers one text, best answer first.
func (p *TextPredictor) Text(ctx context.Context, text string) ([]trainer.Generated, error) {
	ids := p.encoder.Append(nil, text)
	if len(ids) == 0 {
		return nil, errors.New("the text is empty")
	}
	return p.generator.Answer(ctx, p.task, ids, 0)
}
