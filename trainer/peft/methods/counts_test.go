package methods

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/compacter"
	"espalier/trainer/peft/hyper"
	"espalier/trainer/peft/hyperformer"
	"espalier/trainer/peft/hyperpelt"
	"espalier/trainer/peft/lora"
	"espalier/trainer/peft/mam"
	"espalier/trainer/peft/prefix"
)

// The sizes that papers report, each by its row of the goldens.
func TestPublishedSizes(t *testing.T) {
	configs := map[string]Config{
		"HyperPrefix C1":                       {Name: "hyperprefix"},
		"HyperPELT C1 r=32":                    {Name: "hyperpelt"},
		"HyperPrefix, everything per stack":    {Name: "hyperprefix", HyperPrefix: &hyperpelt.Prefix{Settings: hyper.Settings{Networks: "stack", Tables: "all"}}},
		"HyperFormer++ r=32":                   {Name: "hyperformer"},
		"Adapters single-task, one task, r=32": {Name: "adapter"},
		"Adapters multi-task r=32":             {Name: "adapter", Adapter: &adapter.Method{PerTask: true}},

		"HyperFormer r=32, a hypernetwork per site, task embedding 64":                    {Name: "hyperformer", HyperFormer: &hyperformer.Method{Networks: "site"}},
		"HyperFormer r=32, a hypernetwork per site, task embedding 512 projected to 64":   {Name: "hyperformer", HyperFormer: &hyperformer.Method{Networks: "site", TaskWidth: 512}},
		"HyperFormer r=32, per stack one hypernetwork for each of FFN and self-attention": {Name: "hyperformer", HyperFormer: &hyperformer.Method{Networks: "kind"}},
		"Prefix-tuning m=512":                           {Name: "prefix", Norms: true},
		"Prefix-tuning m=800":                           {Name: "prefix", Norms: true, Prefix: &prefix.Method{Hidden: 800}},
		"MAM adapter m=512 r=32":                        {Name: "mam", Norms: true, MAM: &mam.Method{}},
		"LoRA rank 4 on q and v of 36 attentions":       {Name: "lora", LoRA: &lora.Method{Rank: 4}},
		"Compacter n=4 rank 1 r=16, 48 sites, one rule": {Name: "compacter", Compacter: &compacter.Method{Reduction: 16, Norms: new(bool)}},
	}
	base := t5.Config{Vocab: 32128, Width: 768, HeadWidth: 64, Hidden: 3072, Layers: 12, Heads: 12}
	count := func(c Config, tasks int) (trained, all int) {
		t.Helper()
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		trained, all, err := t5.Count(base, t5.Options{Methods: c.Methods(), Given: peft.Given{Tasks: make([]string, tasks)}})
		if err != nil {
			t.Fatal(err)
		}
		return trained, all
	}
	f, err := os.Open(shared.Dir(t, "goldens", "papers", "hyperpelt", "parameter_counts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row struct {
			Name                   string
			Base, Trainable, Tasks int
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Name == "Prompt-tuning / task embedding only" {
			for _, name := range []string{"prompt", "task-embed"} {
				if got, _ := count(Config{Name: name}, 1); got != row.Trainable {
					t.Errorf("%s: %d trained values, want %d", name, got, row.Trainable)
				}
			}
		}
		c, ok := configs[row.Name]
		if !ok {
			continue
		}
		seen++
		if got, all := count(c, row.Tasks); got != row.Trainable || all != row.Base {
			t.Errorf("%s: %d of %d, want %d of %d", row.Name, got, all, row.Trainable, row.Base)
		}
	}
	if seen != len(configs) {
		t.Errorf("the goldens have %d of %d rows", seen, len(configs))
	}
}
