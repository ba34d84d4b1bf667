package evaluate

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"espalier/evaluate/input"
)

// The worked examples of docs/metrics.md.
func TestWorkedExamples(t *testing.T) {
	worked := make(map[string]bool)
	check := func(pred, refs string, metrics []string, want map[string]float64) {
		t.Helper()
		for _, m := range metrics {
			name, _, _ := strings.Cut(m, ":")
			worked[name] = true
		}
		res, err := Run(t.Context(), Request{Metrics: metrics, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs}}})
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			if got := value(t, res, name).Value; math.Abs(got-w) > 5e-6 {
				t.Errorf("%s: %v, want %v", name, got, w)
			}
		}
	}
	check(write(t, "p1", "a cat sat on the mat\n"), write(t, "r1", "the cat sat on the mat\n"),
		[]string{"bleu:tok=none", "rouge-l:tok=none", "sacrebleu", "ter", "rouge-score", "nltk-gleu"},
		map[string]float64{
			"bleu-2": math.Sqrt(2. / 3), "bleu-4": math.Pow(1./3, .25), "rouge-l": 5. / 6, "sacrebleu": 75.98357, "ter": 100. / 6,
			"rouge1": 5. / 6, "rouge2": .8, "rougeL": 5. / 6, "nltk-gleu": 14. / 18,
		})
	check(write(t, "p1", "a cat sat on the mat\n"), write(t, "r1", "the cat sat on the mat\n"), []string{"rouge"}, map[string]float64{"rouge-1": .90909})
	dogs, cats := write(t, "p2", "a dog\na cat\n"), write(t, "r2", "a dog\na red cat\n")
	second := 10 * math.Sqrt(.5) * math.Exp(-1./72) / 4
	check(dogs, cats, []string{"cider:tok=none"}, map[string]float64{"cider": (5 + second) / 2})
	check(dogs, cats, []string{"cider:tok=none:plain=true"}, map[string]float64{"cider": (5 + 10*math.Sqrt(.5)/4) / 2})
	check(write(t, "p3", "a x c\nd e\n"), write(t, "r3.m2", "S a b c\nA 1 2|||R|||x|||REQUIRED|||-NONE-|||0\n\nS d e\nA 0 1|||R|||f|||REQUIRED|||-NONE-|||0\n"),
		[]string{"maxmatch"}, map[string]float64{"maxmatch-p": 1, "maxmatch-r": .5, "maxmatch-f0.5": 5. / 6})
	check(write(t, "p4", `{"q": "the cats"}`), write(t, "r4", `{"id": "q", "answers": ["cats and dogs"]}`), []string{"squad"}, map[string]float64{"squad-f1": 50})
	check(write(t, "p5", "cat\n"), write(t, "r5", "cats\n"), []string{"chrf"}, map[string]float64{"chrf": 68.86228})
	check(write(t, "p6", "a b a\n"), write(t, "r6", "a b a\n"), []string{"distinct"}, map[string]float64{"distinct-1": 2. / 3})
	check(write(t, "p1", "a cat sat on the mat\n"), write(t, "r1", "the cat sat on the mat\n"), []string{"nltk-bleu", "distinct"}, map[string]float64{"nltk-bleu": .75984, "distinct-1": 1})
	check(write(t, "p7.jsonl", `{"id":1,"text":[["girl"],["dog"]]}`), write(t, "r7.jsonl", `{"id":1,"refs":[["girl"],["girl","young"],["bench"]]}`), []string{"spice"}, map[string]float64{"spice": .4})
	check(write(t, "p8", "在北京\n"), write(t, "r8", "北京大学\n"), []string{"cmrc", "drcd"}, map[string]float64{"cmrc-f1": 57.14286, "drcd-f1": 57.14286})
	labels, gold := write(t, "p9", "0\n1\n1\n1\n"), write(t, "r9", "0\n0\n1\n1\n")
	check(labels, gold, []string{"f1:average=macro", "accuracy", "matthews"}, map[string]float64{"f1": .73333, "accuracy": .75, "matthews": .57735})
	check(labels, gold, []string{"f1:average=macro:labels=0/1/2"}, map[string]float64{"f1": .48889})
	check(write(t, "p10", "1\n2\n3\n"), write(t, "r10", "1\n2\n4\n"), []string{"pearson", "spearman"}, map[string]float64{"pearson": .98198, "spearman": 1})
	answers := write(t, "r11.jsonl", `{"question_id":1,"answers":["cat","cat","cat","dog","dog","dog","dog","a","b","c"]}`)
	vqa := write(t, "p11.jsonl", `{"question_id":1,"answer":"cat"}`)
	check(vqa, answers, []string{"vqa"}, map[string]float64{"vqa": 90})
	check(vqa, answers, []string{"vqa:version=min3"}, map[string]float64{"vqa": 100})
	m2 := "S a b c\nA 1 2|||R|||x|||REQUIRED|||-NONE-|||0\n\nS d e\n"
	check(write(t, "p12.m2", m2+"A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n"), write(t, "r12.m2", m2+"A 0 1|||R|||f|||REQUIRED|||-NONE-|||0\n"), []string{"errant"}, map[string]float64{"errant-f0.5": .8333})
	check(write(t, "p14.para", "1\t我爱\t我很爱\n"), write(t, "r14.para", "1\t我爱\t我很爱你\n"), []string{"cherrant"}, map[string]float64{"cherrant-p": 1, "cherrant-r": .5, "cherrant-f0.5": .8333})
	check(write(t, "p15.jsonl", `{"id":1,"text":[["cat","black"]]}`), write(t, "r15.jsonl", `{"id":1,"refs":[["cat","white"],["cat","big"]]}`), []string{"spice"}, map[string]float64{"spice-color": 0})
	question := `{"id":"%d","answer":"%s","groups":{"global":"color"}}` + "\n"
	check(write(t, "p16.jsonl", `{"id":"1","text":"red"}`+"\n"+`{"id":"2","text":"blue"}`+"\n"+`{"id":"3","text":"blue"}`), write(t, "r16.jsonl", fmt.Sprintf(question+question+question, 1, "red", 2, "red", 3, "blue")),
		[]string{"gqa-distribution", "gqa"}, map[string]float64{"gqa-distribution": .015, "gqa": 200. / 3})
	check(write(t, "p5", "cat\n"), write(t, "r5", "cats\n"), []string{"chrf:word=2"}, map[string]float64{"chrf": 51.64671})
	check(write(t, "p17", "你好世界\n"), write(t, "r17", "你好，世界\n"), []string{"rouge-zh"}, map[string]float64{"rouge-zh-1": .88889, "rouge-zh-2": .57143})
	check(write(t, "p18.jsonl", `{"id":1,"text":"red cat"}`), write(t, "r18.jsonl", `{"id":1,"answers":["cat","a dog"]}`), []string{"record"}, map[string]float64{"record-em": 0, "record-f1": 2. / 3})
	unsure, known := write(t, "p19.jsonl", `{"id":1,"text":"cats","no_answer_probability":0.9}`+"\n"+`{"id":2,"text":"cats","no_answer_probability":0.1}`), write(t, "r19.jsonl", `{"id":1,"answers":[]}`+"\n"+`{"id":2,"answers":["cats"]}`)
	check(unsure, known, []string{"squad2", "squad2-best"}, map[string]float64{"squad2-em": 50, "squad2-hasans-em": 100, "squad2-noans-em": 0, "squad2-best-em": 100, "squad2-best-em-threshold": .1})
	check(unsure, known, []string{"squad2:threshold=0.5"}, map[string]float64{"squad2-em": 100})
	rc := func(prefix, labels string) string {
		l := strings.Fields(labels)
		return fmt.Sprintf(`{"id":"%[1]s1/1","text":"%[2]s"}`+"\n"+`{"id":"%[1]s1/2","text":"%[3]s"}`+"\n"+`{"id":"%[1]s2/1","text":"%[4]s"}`+"\n", prefix, l[0], l[1], l[2])
	}
	check(write(t, "p20.jsonl", rc("q", "1 1 1")), write(t, "r20.jsonl", rc("q", "1 0 1")), []string{"multirc"}, map[string]float64{"multirc-em": .5, "multirc-f1a": .8, "multirc-f1m": 2. / 3})
	boolq := `{"id":"boolq/1","text":"1"}` + "\n"
	check(write(t, "p21.jsonl", boolq+rc("multirc/", "1 1 1")), write(t, "r21.jsonl", boolq+rc("multirc/", "1 0 1")), []string{"superglue"}, map[string]float64{"superglue": .825})
	check(write(t, "p22", "entailment\ncontradiction\n"), write(t, "r22", "entailment\nneutral\n"), []string{"snli-ve"}, map[string]float64{"snli-ve": 50, "snli-ve-entailment": 100, "snli-ve-neutral": 0})
	nlvr := `{"id":"dev-1-0-0","text":"True"}` + "\n" + `{"id":"dev-1-1-0","text":"%s"}` + "\n" + `{"id":"dev-2-0-0","text":"True"}`
	check(write(t, "p23.jsonl", fmt.Sprintf(nlvr, "True")), write(t, "r23.jsonl", fmt.Sprintf(nlvr, "False")), []string{"nlvr2"}, map[string]float64{"nlvr2": 200. / 3, "nlvr2-consistency": 50})
	check(write(t, "p24.json", `{"1":"0","2":"1"}`), write(t, "r24.json", `{"1":{"answer":0,"subject":"natural science","grade":"grade3","hint":"","image":null},"2":{"answer":0,"subject":"social science","grade":"grade9","hint":"","image":null}}`),
		[]string{"scienceqa"}, map[string]float64{"scienceqa": 50, "scienceqa-nat": 100, "scienceqa-soc": 0, "scienceqa-lan": -1})
	check(write(t, "p25.jsonl", `{"id":"1","text":"a b"}`), write(t, "r25.jsonl", `{"id":"1","answer":0,"lecture":"a","solution":"b c"}`), []string{"scienceqa-rationale"}, map[string]float64{"rationale-bleu-1": .60653, "rationale-rouge-l": .8})
	mrpc := `{"id":"cola/1","text":"1"}` + "\n" + `{"id":"cola/2","text":"0"}` + "\n" + `{"id":"mrpc/1","text":"1"}` + "\n" + `{"id":"mrpc/2","text":"1"}`
	boards, want := write(t, "p13.jsonl", mrpc), write(t, "r13.jsonl", strings.Replace(mrpc, `"mrpc/2","text":"1"`, `"mrpc/2","text":"0"`, 1))
	check(boards, want, []string{"glue"}, map[string]float64{"glue": .79167})
	check(boards, want, []string{"glue:average=values"}, map[string]float64{"glue": .72222})
	for _, m := range List() {
		if !worked[m.Name] && m.Name != "meteor" { // its example needs tables
			t.Errorf("metric %s has no worked example", m.Name)
		}
	}
}

// docs/metrics.md names every metric.
func TestEveryMetricIsDescribed(t *testing.T) {
	b, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range List() {
		if !strings.Contains(string(b), "`"+m.Name+"`") {
			t.Errorf("docs/metrics.md does not name %s", m.Name)
		}
	}
}
