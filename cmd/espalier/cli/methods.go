package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"espalier/trainer/model/ort"
	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/methods"
)

var methodsVerb = verb{
	name:  "methods",
	short: "list the models and methods that can be trained, with their parameters",
	long: []string{
		"A model is named by a trainer/train stage's preset; single sizes can be set beside it. A method is",
		"named by a trainer/tune stage; what it trains is counted on T5-base with 8 tasks, or 4 with images.",
		"See docs/methods.md.",
	},
	example: []string{"espalier methods --json"},
	setup: func(f *pflag.FlagSet) action {
		asJSON := f.Bool("json", false, "print one JSON object a model")
		return func(_ context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			presets, err := listPresets()
			if err != nil {
				return err
			}
			tuned, err := listMethods()
			if err != nil {
				return err
			}
			t := newTable("model", " width", "layers", "sharing", "tokens", " parameters", "source")
			for _, m := range presets {
				if *asJSON {
					if err := c.json(m); err != nil {
						return err
					}
					continue
				}
				t.add(m.Name, strconv.Itoa(m.Width), layersText(m.Layers), m.Share, m.Tokens, strconv.Itoa(m.Parameters), m.Source)
			}
			u := newTable("method", " trained", " percent", " a task", "what is trained", "source")
			for _, m := range tuned {
				if *asJSON {
					if err := c.json(m); err != nil {
						return err
					}
					continue
				}
				u.add(m.Name, strconv.Itoa(m.Trained), fmt.Sprintf("%.3f", m.Percent), fmt.Sprintf("%.4f", m.PercentPerTask), m.Doc, m.Source)
			}
			if *asJSON {
				return nil
			}
			return errors.Join(t.write(c.out), writeString(c.out, "\n"), u.write(c.out))
		}
	},
}

// A method is a parameter-efficient method on T5-base.
type method struct {
	methods.About
	Trained        int     `json:"trained"`
	Percent        float64 `json:"percent"`          // of the backbone's parameters
	PercentPerTask float64 `json:"percent_per_task"` // over the tasks
	Tasks          int     `json:"tasks"`
}

// listMethods counts what each method trains on T5-base, with its defaults.
func listMethods() ([]method, error) {
	base := t5.Config{Vocab: 32128, Width: 768, HeadWidth: 64, Hidden: 3072, Layers: 12, Heads: 12}
	var out []method
	for _, about := range methods.List() {
		m := method{About: about, Tasks: 8}
		var given peft.Given
		if about.Images {
			m.Tasks, given.Visual, given.Cells = 4, 2048, 49
		}
		for i := range m.Tasks {
			given.Tasks = append(given.Tasks, strconv.Itoa(i))
		}
		c := methods.Config{Name: m.Name}
		if err := c.Check(); err != nil {
			return nil, fmt.Errorf("method %s: %w", m.Name, err)
		}
		trained, all, err := t5.Count(base, t5.Options{Methods: c.Methods(), Given: given})
		if err != nil {
			return nil, fmt.Errorf("method %s: %w", m.Name, err)
		}
		m.Trained, m.Percent = trained, 100*float64(trained)/float64(all)
		m.PercentPerTask = m.Percent / float64(m.Tasks)
		out = append(out, m)
	}
	return out, nil
}

// A published is a model of a paper at its published size.
type published struct {
	Name       string `json:"name"`
	Width      int    `json:"width"`
	Layers     []int  `json:"layers"` // for each position, its independent layer
	Share      string `json:"share"`
	Tokens     string `json:"tokens"`
	Vocab      int    `json:"vocab"`
	Parameters int    `json:"parameters"`
	Source     string `json:"source"`
}

// publishedRadix is the base of the radix code of ACORT's Table 1.
const publishedRadix = 768

func listPresets() ([]published, error) {
	var out []published
	for _, name := range ort.Presets() {
		c, _ := ort.Preset(name)
		m := published{Name: name, Source: "ACORT (Tan et al. 2022), Table 1"}
		if strings.HasPrefix(name, "acort") {
			m.Tokens = "radix " + strconv.Itoa(publishedRadix)
			c.Vocab, c.BOS, c.EOS, c.MaxLen = publishedRadix+3, publishedRadix+1, publishedRadix+2, 26
		} else {
			m.Tokens = "10000 words"
			c.Vocab, c.BOS, c.EOS, c.MaxLen = 10001, 2, 3, 18
		}
		var err error
		if m.Parameters, err = ort.Count(c); err != nil {
			return nil, err
		}
		if err := c.Check(); err != nil {
			return nil, err
		}
		m.Width, m.Layers, m.Share, m.Vocab = c.Width, c.EncoderMap, string(c.EncoderShare), c.Vocab
		if m.Share == "" {
			m.Share = "none"
		}
		out = append(out, m)
	}
	return out, nil
}

// layersText writes [0 0 0 1 1 1] as 6 of 2.
func layersText(at []int) string {
	if len(at) == 0 {
		return "-"
	}
	independent := slices.Max(at) + 1
	if independent == len(at) {
		return strconv.Itoa(len(at))
	}
	return strconv.Itoa(len(at)) + " of " + strconv.Itoa(independent)
}
