package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"espalier/pipeline"
	"espalier/trainer/ckpt"
	"espalier/trainer/model/t5"
	"espalier/trainer/nn"
	"espalier/trainer/op"
)

// A TextLoaded is an edited model read from a checkpoint.
type TextLoaded struct {
	Info   TextInfo
	Result Result
	Model  *t5.Model

	release func()
}

// Close gives the model's memory back.
func (l *TextLoaded) Close() {
	l.Model.Free()
	l.release()
}

// loadText reads a checkpoint of Tune over the backbone of a stage.
func loadText(ctx context.Context, t *pipeline.Task, dev op.Device, files Files) (*TextLoaded, error) {
	info, c, err := readTextInfo(files)
	if err != nil {
		return nil, fmt.Errorf("input model: %w", err)
	}
	l := &TextLoaded{Info: info}
	if len(c.State) > 0 {
		if err := json.Unmarshal(c.State, &l.Result); err != nil {
			return nil, fmt.Errorf("input model: %s: state: %w", ckpt.ConfigFile, err)
		}
	}
	m := TextModel{Half: info.Half, Random: info.Random}
	back, release, err := openBackbone(ctx, t, &m, info.Vocab)
	if err != nil {
		return nil, err
	}
	if back.Digest != info.Backbone {
		release()
		return nil, fmt.Errorf("input backbone: its weights are %.12s, the model was trained on %.12s", back.Digest, info.Backbone)
	}
	w, err := openWeights(files, "input model: ")
	if err != nil {
		release()
		return nil, err
	}
	defer w.Close()
	if l.Model, err = t5.New(back, t5.Options{Methods: info.Method.Methods(), Given: info.given(), Device: dev, Own: w.has}); err != nil {
		release()
		return nil, err
	}
	l.release = release
	missing := slices.ContainsFunc(l.Model.Params().All(), func(p *nn.Param) bool { return !p.Bound() && !w.has(p.Path) })
	if _, err := takeWeights(l.Model, w, info.Tasks, info.Tasks, nil); err != nil || missing {
		l.Close()
		if err == nil {
			err = errors.New("tensors of the method are missing")
		}
		return nil, fmt.Errorf("input model: %s: %w", ckpt.WeightsFile, err)
	}
	return l, nil
}
