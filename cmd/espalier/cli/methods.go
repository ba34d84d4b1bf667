package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"espalier/trainer/model/ort"
)

var methodsVerb = verb{
	name:    "methods",
	short:   "list the models that can be trained, with their parameters as the papers count them",
	long:    []string{"A preset is named in a job by the training stage's model; single sizes can be set beside it."},
	example: []string{"espalier methods --json"},
	setup: func(f *pflag.FlagSet) action {
		asJSON := f.Bool("json", false, "print one JSON object a model")
		return func(_ context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			methods, err := listMethods()
			if err != nil {
				return err
			}
			t := newTable("model", " width", "layers", "sharing", "tokens", " parameters", "source")
			for _, m := range methods {
				if *asJSON {
					if err := c.json(m); err != nil {
						return err
					}
					continue
				}
				t.add(m.Name, strconv.Itoa(m.Width), layersText(m.Layers), m.Share, m.Tokens, strconv.Itoa(m.Parameters), m.Source)
			}
			if *asJSON {
				return nil
			}
			return t.write(c.out)
		}
	},
}

// A method is a model of a paper at its published size.
type method struct {
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

func listMethods() ([]method, error) {
	var out []method
	for _, name := range ort.Presets() {
		c, _ := ort.Preset(name)
		m := method{Name: name, Source: "ACORT (Tan et al. 2022), Table 1"}
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
