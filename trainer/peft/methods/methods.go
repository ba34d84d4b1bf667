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
	"espalier/trainer/peft/full"
	"espalier/trainer/peft/lora"
)

// Config chooses a method and configures it. Settings of a method that is not
// chosen must be left out.
type Config struct {
	Name  string       `yaml:"name" json:"name" doc:"a method that espalier methods lists; by default full"`
	Norms bool         `yaml:"norms" json:"norms,omitempty" doc:"train the gains of all norms besides"`
	Full  *full.Method `yaml:"full" json:"full,omitempty" doc:"settings of full"`
	LoRA  *lora.Method `yaml:"lora" json:"lora,omitempty" doc:"settings of lora"`
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
