package evaluate

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/internal/shared"
)

// goldenTests tells for each reference file of goldens/metrics, or for all that
// begin so, which tests compare with it.
var goldenTests = map[string]string{
	"bleu/bootstrap.json":          "evaluate: TestResamplingOfSacreBLEU",
	"bleu/chrf.jsonl":              "evaluate/chrf: TestEqualToSacrebleu",
	"bleu/corpora.jsonl":           "evaluate/sacrebleu: TestEqualToSacrebleu",
	"bleu/nltk.jsonl":              "evaluate/nltkbleu: TestEqualToNLTK",
	"bleu/rng.json":                "evaluate/draw: TestNumbersOfNumPy",
	"bleu/sacrebleu.jsonl":         "evaluate/sacrebleu: TestEqualToSacrebleu",
	"bleu/tokenize.jsonl":          "evaluate/sacrebleu: TestTokenizers",
	"caption/":                     "evaluate/bleu: TestEqualToTheCaptionTools, evaluate/rouge: TestEqualToTheCaptionTools, evaluate/cider: TestEqualToTheCaptionTools, evaluate: TestMETEOR",
	"cherrant/compare.json":        "evaluate/errant: TestEqualToCherrantCompare, evaluate: TestByCategory",
	"cherrant/hand.para":           "evaluate/cherrant: TestEqualToChERRANT",
	"cherrant/multi.para":          "evaluate/cherrant: TestEqualToChERRANT",
	"cherrant/nlpcc_a_hyp.para":    "evaluate/cherrant: TestEqualToChERRANT, evaluate: TestCherrantOfTexts",
	"cherrant/nlpcc_a_ref.para":    "evaluate/cherrant: TestEqualToChERRANT, evaluate: TestCherrantOfTexts",
	"cherrant/hand.char.m2":        "evaluate/cherrant: TestEqualToChERRANT",
	"cherrant/hand.char_bpe.m2":    "evaluate/cherrant: TestEqualToChERRANT",
	"cherrant/multi.char.m2":       "evaluate/cherrant: TestEqualToChERRANT",
	"cherrant/nlpcc_a_hyp.char.m2": "evaluate/cherrant: TestEqualToChERRANT, evaluate/errant: TestEqualToCherrantCompare",
	"cherrant/nlpcc_a_ref.char.m2": "evaluate/cherrant: TestEqualToChERRANT, evaluate/errant: TestEqualToCherrantCompare",
	"cider_df/":                    "evaluate/cider: TestEqualToTheRewardCode, TestEqualToTheIndexForm",
	"errant/":                      "evaluate/errant: TestEqualToErrantCompare, evaluate: TestByCategory",
	"gec/":                         "evaluate/maxmatch: TestEqualToTheM2Scorer",
	"glue/":                        "evaluate/classify: TestEqualToScikitLearnAndSciPy, evaluate: TestGLUE",
	"meteor/align.jsonl":           "evaluate/meteor: TestAlign",
	"meteor/normalize.jsonl":       "evaluate/meteor: TestNormalise",
	"meteor/stem.jsonl":            "evaluate/snowball: TestMeteor",
	"meteor/synsets.jsonl":         "evaluate/meteor: TestSynsets",
	"ptb/abbrev.jsonl":             "evaluate/ptb: TestEqualToTheReference",
	"ptb/chars":                    "evaluate/ptb: TestEveryCharacter, TestTotalsAndFilter",
	"ptb/context.jsonl":            "evaluate/ptb: TestEqualToTheReference",
	"ptb/fuzz.jsonl":               "evaluate/ptb: TestEqualToTheReference",
	"ptb/hand.jsonl":               "evaluate/ptb: TestEqualToTheReference",
	"ptb/line_shift.jsonl":         "evaluate/ptb: TestShiftedLines",
	"ptb/meta.json":                "evaluate/ptb: TestTotalsAndFilter",
	"ptb/real.jsonl":               "evaluate/ptb: TestEqualToTheReference",
	"qa/multirc.json":              "evaluate/squad: TestMultiRC",
	"qa/squad.jsonl":               "evaluate/squad: TestEqualToTheOfficialScripts",
	"qa/squad_corpus.json":         "evaluate: TestSquadCorpus",
	"rouge/aggregate.json":         "evaluate: TestRougeMeans",
	"rouge/pairs":                  "evaluate/rougescore: TestEqualToRougeScore, evaluate/pltrdy: TestEqualToRouge101",
	"rouge/stems.json":             "evaluate/porter: TestEqualToNLTK",
	"scienceqa/extract.json":       "evaluate/scienceqa: TestExtract",
	"scienceqa/per_question.jsonl": "evaluate: TestScienceQA",
	"scienceqa/scores.json":        "evaluate: TestScienceQA",
	"vqa/":                         "evaluate/vqa: TestEqualToTheEvaluationScript, TestNormalisation, evaluate: TestVQAFiles",
	"zhgen/":                       "evaluate: TestChineseGeneration",
}

// No reference file is left without a test, and no test named here is gone.
func TestEveryGoldenHasItsTest(t *testing.T) {
	root := shared.Dir(t, "goldens", "metrics")
	used := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if err != nil || d.IsDir() || strings.HasSuffix(name, "README.md") || strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".java") {
			return err
		}
		for prefix := range goldenTests {
			if strings.HasPrefix(name, prefix) {
				used[prefix] = true
				return nil
			}
		}
		t.Errorf("%s: no test compares with it", name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for prefix, tests := range goldenTests {
		if !used[prefix] {
			t.Errorf("%s: no such file", prefix)
		}
		dir := ""
		for _, name := range strings.Split(tests, ", ") {
			if d, rest, ok := strings.Cut(name, ": "); ok {
				dir, name = strings.TrimPrefix(strings.TrimPrefix(d, "evaluate"), "/"), rest
			}
			if name != "" && !hasTest(t, filepath.Join(".", dir), name) {
				t.Errorf("%s: no test %s in evaluate/%s", prefix, name, dir)
			}
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
