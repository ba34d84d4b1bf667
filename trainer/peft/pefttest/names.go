package pefttest

import (
	"strings"

	"espalier/trainer/model/t5"
)

// HyperPath returns the parameter of package hyper that the HyperPELT goldens
// call by a short name, such as t.prefix_k.w, those of the backbone included, or
// "".
func HyperPath(name string) string {
	if p := PaperPath(name); p != "" {
		return p
	}
	switch name {
	case "z":
		return "hyper.tasks"
	case "l":
		return "hyper.layers"
	case "b":
		return "hyper.blocks"
	}
	branch, rest, ok := strings.Cut(name, ".")
	path := map[string]string{"t": "hyper.task.", "v": "hyper.visual."}[branch]
	if !ok || path == "" {
		return ""
	}
	if rest == "lambda" {
		return path + rest
	}
	if layer, ok := strings.CutPrefix(rest, "projector."); ok {
		return path + "projector." + map[string]string{
			"w1": "in.weight", "c1": "in.bias", "w2": "out.weight", "c2": "out.bias",
		}[layer]
	}
	head, part, _ := strings.Cut(rest, ".")
	return path + map[string]string{
		"prefix_k": "prefix.key", "prefix_v": "prefix.value", "down": "adapter.down", "up": "adapter.up",
		"b_down": "adapter.down_bias", "b_up": "adapter.up_bias",
	}[head] + map[string]string{"w": ".weight", "c": ".bias"}[part]
}

// LayersPath is HyperPath for the names of goldens/models/papers.
func LayersPath(name string) string {
	switch name {
	case "task_embedding":
		return "hyper.tasks"
	case "layer_embedding":
		return "hyper.layers"
	case "block_embedding":
		return "hyper.blocks"
	case "visual_projection.weight", "visual_projection.bias":
		return strings.Replace(name, "_", ".", 1)
	}
	branch, rest, _ := strings.Cut(name, ".")
	if branch != "task" && branch != "visual" {
		return name // a gain
	}
	head, part, _ := strings.Cut(rest, ".")
	short := map[string]string{"weight": ".w", "bias": ".c"}[part]
	switch head {
	case "W1", "W2", "c1", "c2":
		head = "projector." + strings.ToLower(head)
	case "bias_down", "bias_up":
		head = "b" + strings.TrimPrefix(head, "bias")
	}
	return HyperPath(branch[:1] + "." + head + short)
}

// BaseConfig is T5-base.
func BaseConfig() t5.Config {
	return t5.Config{Vocab: 32128, Width: 768, HeadWidth: 64, Hidden: 3072, Layers: 12, Heads: 12}
}

// PrefixPath returns the parameter of package prefix that the HyperPELT goldens
// call by a short name, such as enc.self.w_down, or "".
func PrefixPath(name string) string {
	site, part, _ := strings.Cut(strings.NewReplacer("enc.self.", "encoder|", "dec.self.", "decoder|", "dec.cross.", "cross|").Replace(name), "|")
	if part == "" {
		return ""
	}
	return "prefix." + site + "." + map[string]string{
		"e": "table", "w_down": "in.weight", "c_down": "in.bias", "w_up": "out.weight", "c_up": "out.bias",
	}[part]
}
