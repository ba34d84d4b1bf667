package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"espalier/pipeline"
	"espalier/trainer/ckpt"
	"espalier/trainer/model/t5"
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
	info, result, err := readText(files)
	if err != nil {
		return nil, fmt.Errorf("input model: %w", err)
	}
	m := TextModel{Half: info.Half, Round: info.Round, Random: info.Random}
	back, release, err := openBackbone(ctx, t, &m, info.Vocab)
	if err != nil {
		return nil, err
	}
	l, err := overBackbone(dev, files, info, result, back, release)
	if err != nil {
		return nil, fmt.Errorf("input model: %w", err)
	}
	return l, nil
}

// LoadText reads a checkpoint of Tune over the backbone in a folder, "" if the
// backbone is random.
func LoadText(dev op.Device, files Files, backbone string) (*TextLoaded, error) {
	info, result, err := readText(files)
	if err != nil {
		return nil, err
	}
	var back *t5.Backbone
	switch {
	case info.Random != nil:
		back, err = t5.Random(dev, info.Random.config(info.Vocab), info.Random.Seed)
	case backbone == "":
		return nil, errors.New("the folder of the backbone is wanted: a checkpoint has only what was trained")
	default:
		back, err = t5.Open(dev, backbone, t5.OpenOptions{Half: info.Half, Round: info.Round})
	}
	if err != nil {
		return nil, err
	}
	return overBackbone(dev, files, info, result, back, func() { _ = back.Close() })
}

// readText reads a checkpoint's model.json.
func readText(files Files) (info TextInfo, result Result, err error) {
	info, c, err := readTextInfo(files)
	if err == nil && len(c.State) > 0 {
		if err = json.Unmarshal(c.State, &result); err != nil {
			err = fmt.Errorf("%s: state: %w", ckpt.ConfigFile, err)
		}
	}
	return info, result, err
}

// overBackbone edits a backbone and gives the model a checkpoint's tensors. It
// calls release if it fails, else Close does.
func overBackbone(dev op.Device, files Files, info TextInfo, result Result, back *t5.Backbone, release func()) (_ *TextLoaded, err error) {
	l := &TextLoaded{Info: info, Result: result, release: release}
	defer func() {
		if err != nil && l.Model != nil {
			l.Close()
		} else if err != nil {
			release()
		}
	}()
	if back.Digest != info.Backbone {
		return nil, fmt.Errorf("the backbone's weights are %.12s, the model was trained on %.12s", back.Digest, info.Backbone)
	}
	w, err := openWeights(files, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	o := t5.Options{Methods: info.Method.Methods(), Given: info.given(), Device: dev, Own: w.has}
	if l.Model, err = t5.New(back, o); err != nil {
		return nil, err
	}
	for _, p := range l.Model.Params().All() {
		if !p.Bound() && !w.has(p.Path) {
			return nil, fmt.Errorf("%s: tensor %q of the method is missing", ckpt.WeightsFile, p.Path)
		}
	}
	if _, err := takeWeights(l.Model, w, info.Tasks, info.Tasks, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", ckpt.WeightsFile, err)
	}
	return l, nil
}
