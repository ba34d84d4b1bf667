package evaluate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/pipeline"
)

// Three questions with all that GQA's script looks at; one is not balanced.
const (
	gqaQuestions = `{
"q1":{"semantic":[{"operation":"select","argument":"wall (7)"},{"operation":"query","argument":"name"}],"entailed":["q1","q3"],"question":"What is it?","imageId":"i","isBalanced":true,"groups":{"global":"thing"},"answer":"wall","annotations":{"question":{"0":"7"},"fullAnswer":{}},"types":{"detailed":"objThis","semantic":"obj","structural":"query"}},
"q2":{"semantic":[{"operation":"select","argument":"wall (7)"},{"operation":"exist","argument":"?"}],"entailed":[],"question":"Is it there?","imageId":"i","isBalanced":true,"groups":{"global":null},"answer":"yes","annotations":{"question":{"0":"7"},"fullAnswer":{"1":"7"}},"types":{"detailed":"exist","semantic":"obj","structural":"verify"}},
"q3":{"semantic":[],"entailed":["q1"],"question":"Red?","imageId":"none","isBalanced":false,"groups":{"global":"thing"},"answer":"no","annotations":{},"types":{"detailed":"x","semantic":"attr","structural":"verify"}}}`
	gqaAnswers    = `[{"questionId":"q1","prediction":"wall"},{"questionId":"q2","prediction":"no"},{"questionId":"q3","prediction":"no"}]`
	gqaChoices    = `{"q1":{"valid":["wall","door"],"plausible":["door"]},"q2":{"valid":["yes","no"],"plausible":["yes","no"]},"other":{}}`
	gqaScenes     = `{"i":{"width":100,"height":100,"objects":{"7":{"x":0,"y":0,"w":50,"h":100}}}}`
	gqaAttentions = `[{"questionId":"q1","attention":[[0.25,0.25],[0.25,0.25]]},{"questionId":"q2","attention":[[0.1,0.1],[0.4,0.4]]},{"questionId":"q3","attention":[[0,0],[0,0]]}]`
)

func gqaRequest(t *testing.T, choices, scenes, attentions string) Request {
	t.Helper()
	metric := fmt.Sprintf("gqa:types=more:choices=%s:scenes=%s:attentions=%s", write(t, "c.json", choices), write(t, "s.json", scenes), write(t, "a.json", attentions))
	return Request{Metrics: []string{metric, "gqa-distribution"}, Pred: input.Source{Path: write(t, "p.json", gqaAnswers), ID: "questionId"}, Refs: []input.Source{{Path: write(t, "q.json", gqaQuestions)}}}
}

func TestGQAFiles(t *testing.T) {
	res, err := Run(t.Context(), gqaRequest(t, gqaChoices, gqaScenes, gqaAttentions))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, v := range res.Values {
		got[v.Metric] = v.Value
	}
	expect(t, "gqa", got, map[string]float64{
		"gqa": 50, "gqa-open": 100, "gqa-binary": 0, "gqa-consistency": 100, "gqa-query": 100, "gqa-verify": 0, "gqa-obj": 50, "gqa-attr": math.NaN(),
		"gqa-words-3": 50, "gqa-steps-1": 50, "gqa-validity": 100, "gqa-plausibility": 50, "gqa-grounding": 100 * (.5 + .2 + .2) / 2, "gqa-distribution": 0,
	})
	if v := res.Values[0].Variant; v != "GQA eval.py|exact" {
		t.Errorf("variant %s", v)
	}
	r := gqaRequest(t, gqaChoices, gqaScenes, gqaAttentions)
	r.Metrics = []string{"gqa"}
	if res, err = Run(t.Context(), r); err != nil || res.Values[0].Variant != "GQA eval.py|exact|not run: validity, plausibility, grounding" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestGQARefuses(t *testing.T) {
	for name, c := range map[string]struct{ choices, scenes, attentions, want string }{
		"a question without choices":   {`{"q1":{"valid":[]}}`, gqaScenes, gqaAttentions, "c.json: question q2, which is predicted, is not there"},
		"choices of another layout":    {`{"q1":["wall"]}`, gqaScenes, gqaAttentions, "c.json at byte 6: q1: want an object with lists"},
		"choices that are no JSON":     {`{"q1":`, gqaScenes, gqaAttentions, "c.json"},
		"an image without scene":       {gqaChoices, `{}`, gqaAttentions, `question q1: image "i" is not in`},
		"an object that is not there":  {gqaChoices, `{"i":{"width":1,"height":1,"objects":{}}}`, gqaAttentions, "annotations: object 7 is not in the scene graph"},
		"a question without attention": {gqaChoices, gqaScenes, `[{"questionId":"q2","attention":[[1]]}]`, "a.json: question q1, which is predicted, is not there"},
		"attentions by name":           {gqaChoices, gqaScenes, `{"q1":[[1]]}`, "a.json"},
	} {
		_, err := Run(t.Context(), gqaRequest(t, c.choices, c.scenes, c.attentions))
		if err == nil || !strings.Contains(err.Error(), c.want) || pipeline.ExitCode(err) != pipeline.ExitBadInput {
			t.Errorf("%s: %v (exit %d), want %q", name, err, pipeline.ExitCode(err), c.want)
		}
	}
	for metric, want := range map[string]string{"gqa:choices=nowhere.json": "no such file", "gqa:scenes=gqa_test.go": "both scenes and attentions", "gqa:types=some": "want all, none, more"} {
		r := gqaRequest(t, gqaChoices, gqaScenes, gqaAttentions)
		r.Metrics = []string{metric}
		if _, err := Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) || pipeline.ExitCode(err) != pipeline.ExitUsage {
			t.Errorf("%s: %v, want %q", metric, err, want)
		}
	}
	if err := (&Measure{Metrics: []string{"gqa:choices=gqa_test.go"}}).Check(); err == nil || !strings.Contains(err.Error(), "names a file, which a stage cannot") {
		t.Errorf("a stage that names a file: %v", err)
	}
}
