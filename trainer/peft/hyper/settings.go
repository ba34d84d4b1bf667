package hyper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"espalier/trainer/op"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
)

// Settings are the sizes and the decisions where the paper leaves a choice. The
// zero value of a field means the default.
type Settings struct {
	Rows       int `yaml:"rows" json:"rows" doc:"vectors of an embedding and keys of a prefix; by default 49"`
	Hidden     int `yaml:"hidden" json:"hidden" doc:"hidden width of the projector; by default 128"`
	Width      int `yaml:"width" json:"width" doc:"width of a hyper-embedding; by default 64"`
	Reduction  int `yaml:"reduction" json:"reduction" doc:"width of the stream over that of an adapter; by default 32"`
	Bottleneck int `yaml:"bottleneck" json:"bottleneck" doc:"width of an adapter, in place of reduction"`

	LayerTable   string   `yaml:"layer_table" json:"layer_table" doc:"D1: index (a row for each place within a stack, the default) or each (a row for each layer of both stacks)"`
	Networks     string   `yaml:"networks" json:"networks" doc:"D2: one set of hypernetworks, or one for each stack; by default one"`
	Tables       string   `yaml:"tables" json:"tables" doc:"layer and block embeddings: one set, one for each stack, or all (with the tasks' for each stack); by default one"`
	PrefixHeads  string   `yaml:"prefix_heads" json:"prefix_heads" doc:"D3: two (keys and values, the default) or one for both"`
	AdapterBias  *bool    `yaml:"adapter_bias" json:"adapter_bias" doc:"D4: generate the adapters' biases; by default true"`
	Pool         string   `yaml:"pool" json:"pool" doc:"D5: mean over the rows (the default), max, or rows (as many as the adapter is wide)"`
	AdapterInput string   `yaml:"adapter_input" json:"adapter_input" doc:"D6: norm (what the feed-forward reads, the default) or stream"`
	AdapterNorm  string   `yaml:"adapter_norm" json:"adapter_norm" doc:"D7: LayerNorm on an adapter's result: none (the default), trained or generated"`
	Lambda       string   `yaml:"lambda" json:"lambda" doc:"D8: factor of the adapters, trained for each site (the default), stack or as one, or fixed"`
	LambdaInit   *float64 `yaml:"lambda_init" json:"lambda_init" doc:"D8: its initial value; by default 1, or 4 if fixed"`
	Act          string   `yaml:"act" json:"act" doc:"D9: gelu_new (tanh form, the default), gelu (exact), relu, silu or tanh"`
	PrefixPlace  string   `yaml:"prefix_place" json:"prefix_place" doc:"D10: relative bias of a prefix: none (0, the default), before (as tokens in front) or inside (as package adapters)"`
	PrefixMask   string   `yaml:"prefix_mask" json:"prefix_mask" doc:"D11: never, the only choice: no query is kept from a prefix"`
	Norms        string   `yaml:"norms" json:"norms" doc:"D12: gains of the model's norms: trained (the default), frozen or generated"`

	HeadStd float64 `yaml:"head_std" json:"head_std" doc:"deviation of the heads' initial weights; by default 0.01"`
}

// Check fills in defaults and reports every fault at once.
func (s *Settings) Check() error {
	s.Rows, s.Hidden, s.Width = cmp.Or(s.Rows, 49), cmp.Or(s.Hidden, 128), cmp.Or(s.Width, 64)
	s.Reduction, s.HeadStd = cmp.Or(s.Reduction, 32), cmp.Or(s.HeadStd, 0.01)
	s.Act = cmp.Or(s.Act, "gelu_new")
	if s.AdapterBias == nil {
		yes := true
		s.AdapterBias = &yes
	}
	var errs []error
	for _, f := range []struct {
		name   string
		v      *string
		values []string // the first is the default
	}{
		{"layer_table", &s.LayerTable, []string{"index", "each"}},
		{"networks", &s.Networks, []string{"one", "stack"}},
		{"tables", &s.Tables, []string{"one", "stack", "all"}},
		{"prefix_heads", &s.PrefixHeads, []string{"two", "one"}},
		{"pool", &s.Pool, []string{"mean", "max", "rows"}},
		{"adapter_input", &s.AdapterInput, []string{"norm", "stream"}},
		{"adapter_norm", &s.AdapterNorm, []string{"none", "trained", "generated"}},
		{"lambda", &s.Lambda, []string{"site", "stack", "one", "fixed"}},
		{"prefix_place", &s.PrefixPlace, []string{"none", "before", "inside"}},
		{"prefix_mask", &s.PrefixMask, []string{"never"}},
		{"norms", &s.Norms, []string{"trained", "frozen", "generated"}},
	} {
		if *f.v = cmp.Or(*f.v, f.values[0]); !slices.Contains(f.values, *f.v) {
			errs = append(errs, fmt.Errorf("%s: %q, want one of %v", f.name, *f.v, f.values))
		}
	}
	if s.LambdaInit == nil {
		v := 1.0
		if s.Lambda == "fixed" {
			v = 4
		}
		s.LambdaInit = &v
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"rows", s.Rows}, {"hidden", s.Hidden}, {"width", s.Width}, {"reduction", s.Reduction}} {
		if f.n < 1 {
			errs = append(errs, fmt.Errorf("%s: %d, want at least 1", f.name, f.n))
		}
	}
	if s.Bottleneck < 0 {
		errs = append(errs, fmt.Errorf("bottleneck: %d, want at least 1", s.Bottleneck))
	}
	if !(s.HeadStd > 0) {
		errs = append(errs, fmt.Errorf("head_std: %g, want more than 0", s.HeadStd))
	}
	if _, err := adapter.Act(s.Act); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Settings) act() op.Act {
	a, _ := adapter.Act(s.Act) // Check has seen it
	return a
}

func (s *Settings) place() peft.Place {
	return map[string]peft.Place{"none": peft.Nowhere, "before": peft.Before, "inside": peft.Inside}[s.PrefixPlace]
}
