package lora

import (
	"strings"
	"testing"

	"espalier/trainer/peft"
	"espalier/trainer/peft/pefttest"
)

func TestPaper(t *testing.T) {
	rename := func(name string) string {
		path := pefttest.PaperPath(name)
		if s, ok := strings.CutSuffix(path, ".a"); ok {
			return s + ".lora_A.weight"
		}
		return strings.TrimSuffix(path, ".b") + ".lora_B.weight"
	}
	pefttest.Paper{File: "lora", Rename: rename}.RunBoth(t, func(pefttest.Sizes) []peft.Method { return []peft.Method{&Method{Rank: 2, Alpha: 32}} })
}
