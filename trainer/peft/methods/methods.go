// Package methods is the one list of parameter-efficient methods that a job may
// name, with the settings of each.
package methods

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/bitfit"
	"espalier/trainer/peft/compacter"
	"espalier/trainer/peft/full"
	"espalier/trainer/peft/hyperformer"
	"espalier/trainer/peft/hyperpelt"
	"espalier/trainer/peft/ia3"
	"espalier/trainer/peft/lora"
	"espalier/trainer/peft/mam"
	"espalier/trainer/peft/prefix"
	"espalier/trainer/peft/prompt"
	"espalier/trainer/peft/vl"
)

// Config chooses a method and configures it. Settings of a method that is not
// chosen must be left out.
type Config struct {
	Name        string               `yaml:"name" json:"name" doc:"a method that espalier methods lists; by default full"`
	Norms       bool                 `yaml:"norms" json:"norms,omitempty" doc:"train the gains of all norms besides"`
	Full        *full.Method         `yaml:"full" json:"full,omitempty" doc:"settings of full"`
	LoRA        *lora.Method         `yaml:"lora" json:"lora,omitempty" doc:"settings of lora"`
	Adapter     *adapter.Method      `yaml:"adapter" json:"adapter,omitempty" doc:"settings of adapter"`
	HyperFormer *hyperformer.Method  `yaml:"hyperformer" json:"hyperformer,omitempty" doc:"settings of hyperformer"`
	Prefix      *prefix.Method       `yaml:"prefix" json:"prefix,omitempty" doc:"settings of prefix"`
	MAM         *mam.Method          `yaml:"mam" json:"mam,omitempty" doc:"settings of mam"`
	Prompt      *prompt.Method       `yaml:"prompt" json:"prompt,omitempty" doc:"settings of prompt"`
	Compacter   *compacter.Method    `yaml:"compacter" json:"compacter,omitempty" doc:"settings of compacter"`
	BitFit      *bitfit.Method       `yaml:"bitfit" json:"bitfit,omitempty" doc:"settings of bitfit"`
	IA3         *ia3.Method          `yaml:"ia3" json:"ia3,omitempty" doc:"settings of ia3"`
	HyperPrefix *hyperpelt.Prefix    `yaml:"hyperprefix" json:"hyperprefix,omitempty" doc:"settings of hyperprefix"`
	HyperPELT   *hyperpelt.Method    `yaml:"hyperpelt" json:"hyperpelt,omitempty" doc:"settings of hyperpelt"`
	TaskEmbed   *hyperpelt.TaskEmbed `yaml:"task-embed" json:"task-embed,omitempty" doc:"settings of task-embed"`
	ClipT5      *vl.Tokens           `yaml:"clip-t5" json:"clip-t5,omitempty" doc:"settings of clip-t5"`
	VLT5        *vl.Tokens           `yaml:"vl-t5" json:"vl-t5,omitempty" doc:"settings of vl-t5"`
	VLAdapter   *vl.Adapter          `yaml:"vl-adapter" json:"vl-adapter,omitempty" doc:"settings of vl-adapter"`
	VLHyperPELT *vl.HyperPELT        `yaml:"vl-hyperpelt" json:"vl-hyperpelt,omitempty" doc:"settings of vl-hyperpelt"`
}

// An About describes a method.
type About struct {
	Name   string `json:"name"`
	Doc    string `json:"doc"`              // one line
	Source string `json:"source"`           // of the method
	Images bool   `json:"images,omitempty"` // the method needs the features of images
}

// A method is an entry of the list: settings returns the place of its settings
// in a Config, a pointer to a pointer; nil if it has none.
type method struct {
	About
	settings func(c *Config) any
	make     func(c *Config) peft.Method
}

// list has all methods, in the order in which they are shown.
var list = []method{
	{
		About{Name: "full", Doc: "all parameters of the model, or those of some paths", Source: "-"},
		func(c *Config) any { return &c.Full },
		func(c *Config) peft.Method { return c.Full },
	},
	{
		About{Name: "frozen", Doc: "nothing: the model as it is", Source: "-"},
		nil,
		func(*Config) peft.Method { return frozen{} },
	},
	{
		About{Name: "lora", Doc: "low-rank changes of linear maps", Source: "Hu et al. 2021"},
		func(c *Config) any { return &c.LoRA },
		func(c *Config) peft.Method { return c.LoRA },
	},
	{
		About{Name: "adapter", Doc: "adapters behind sub-layers, or beside them; one for all tasks or one for each", Source: "Houlsby et al. 2019; Karimi Mahabadi et al. 2021"},
		func(c *Config) any { return &c.Adapter },
		func(c *Config) peft.Method { return c.Adapter },
	},
	{
		About{Name: "hyperformer", Doc: "adapters made by hypernetworks from embeddings of task, layer and block", Source: "Karimi Mahabadi et al. 2021"},
		func(c *Config) any { return &c.HyperFormer },
		func(c *Config) peft.Method { return c.HyperFormer },
	},
	{
		About{Name: "prefix", Doc: "keys and values before those of attentions", Source: "Li and Liang 2021"},
		func(c *Config) any { return &c.Prefix },
		func(c *Config) peft.Method { return c.Prefix },
	},
	{
		About{Name: "mam", Doc: "prefixes and adapters beside feed-forwards", Source: "He et al. 2022"},
		func(c *Config) any { return &c.MAM },
		func(c *Config) peft.Method { return c.MAM },
	},
	{
		About{Name: "prompt", Doc: "vectors before the embedded tokens", Source: "Lester et al. 2021"},
		func(c *Config) any { return &c.Prompt },
		func(c *Config) peft.Method { return c.Prompt },
	},
	{
		About{Name: "compacter", Doc: "adapters of sums of Kronecker products", Source: "Karimi Mahabadi et al. 2021b"},
		func(c *Config) any { return &c.Compacter },
		func(c *Config) peft.Method { return c.Compacter },
	},
	{
		About{Name: "bitfit", Doc: "biases alone", Source: "Ben Zaken et al. 2022"},
		func(c *Config) any { return &c.BitFit },
		func(c *Config) peft.Method { return c.BitFit },
	},
	{
		About{Name: "ia3", Doc: "factors of keys, values and hidden units", Source: "Liu et al. 2022"},
		func(c *Config) any { return &c.IA3 },
		func(c *Config) peft.Method { return c.IA3 },
	},
	{
		About{Name: "hyperprefix", Doc: "prefixes made by a hypernetwork from embeddings of task, layer and block", Source: "Zhang et al. 2022"},
		func(c *Config) any { return &c.HyperPrefix },
		func(c *Config) peft.Method { return c.HyperPrefix },
	},
	{
		About{Name: "hyperpelt", Doc: "such prefixes, and adapters beside feed-forwards made likewise", Source: "Zhang et al. 2022"},
		func(c *Config) any { return &c.HyperPELT },
		func(c *Config) peft.Method { return c.HyperPELT },
	},
	{
		About{Name: "task-embed", Doc: "the embedding of a task of a trained hyperpelt", Source: "Zhang et al. 2022"},
		func(c *Config) any { return &c.TaskEmbed },
		func(c *Config) peft.Method { return c.TaskEmbed },
	},
	{
		About{Name: "clip-t5", Doc: "all parameters, and maps that make the cells of images tokens", Source: "Sung et al. 2022", Images: true},
		func(c *Config) any { return &c.ClipT5 },
		func(c *Config) peft.Method { return c.ClipT5 },
	},
	{
		About{Name: "vl-t5", Doc: "the same of regions with boxes", Source: "Cho et al. 2021", Images: true},
		func(c *Config) any { return &c.VLT5 },
		func(c *Config) peft.Method { return c.VLT5 },
	},
	{
		About{Name: "vl-adapter", Doc: "such maps, and adapters behind sub-layers", Source: "Sung et al. 2022", Images: true},
		func(c *Config) any { return &c.VLAdapter },
		func(c *Config) peft.Method { return c.VLAdapter },
	},
	{
		About{Name: "vl-hyperpelt", Doc: "hyperpelt, with prefixes and adapters made of the cells of images besides", Source: "Zhang et al. 2022", Images: true},
		func(c *Config) any { return &c.VLHyperPELT },
		func(c *Config) peft.Method { return c.VLHyperPELT },
	},
}

// frozen trains nothing.
type frozen struct{}

func (frozen) Edit(*peft.Editor) error { return nil }

// norms trains the gains of all norms.
type norms struct{}

func (norms) Edit(e *peft.Editor) error {
	e.TrainNorms()
	return nil
}

// List describes all methods.
func List() []About {
	out := make([]About, len(list))
	for i := range list {
		out[i] = list[i].About
	}
	return out
}

// Check fills in defaults and reports every fault at once.
func (c *Config) Check() error {
	c.Name = cmp.Or(c.Name, "full")
	at := slices.IndexFunc(list, func(m method) bool { return m.Name == c.Name })
	if at < 0 {
		var names []string
		for _, m := range list {
			names = append(names, m.Name)
		}
		return fmt.Errorf("name: %q, want one of %s", c.Name, strings.Join(names, ", "))
	}
	var own reflect.Value
	if list[at].settings != nil {
		own = reflect.ValueOf(list[at].settings(c)).Elem()
		if own.IsNil() {
			own.Set(reflect.New(own.Type().Elem()))
		}
	}
	var errs []error
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer && !f.IsNil() && !(own.IsValid() && f.Addr().Pointer() == own.Addr().Pointer()) {
			errs = append(errs, fmt.Errorf("%s: settings of a method that is not %s", v.Type().Field(i).Tag.Get("json"), c.Name))
		}
	}
	if own.IsValid() {
		if x, ok := own.Interface().(interface{ Check() error }); ok {
			if err := x.Check(); err != nil {
				for line := range strings.SplitSeq(err.Error(), "\n") {
					errs = append(errs, errors.New(c.Name+"."+line))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// Methods returns what edits a model. c must have been checked.
func (c *Config) Methods() []peft.Method {
	var out []peft.Method
	for _, m := range list {
		if m.Name == c.Name {
			out = append(out, m.make(c))
		}
	}
	if c.Norms {
		out = append(out, norms{})
	}
	return out
}
