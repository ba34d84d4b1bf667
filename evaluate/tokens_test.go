package evaluate

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"espalier/evaluate/input"
)

type shownTokens struct {
	Metric     string
	ID         string
	Prediction []string
	References [][]string
}

func tokensOf(t *testing.T, metric, pred, refs string) []shownTokens {
	t.Helper()
	var b strings.Builder
	r := Request{Metrics: []string{metric}, Pred: input.Source{Path: write(t, "p.jsonl", pred)}, Refs: []input.Source{{Path: write(t, "r.jsonl", refs)}}, Workers: 1}
	if err := Tokens(t.Context(), r, &b); err != nil {
		t.Fatalf("%s: %v", metric, err)
	}
	var out []shownTokens
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		var s shownTokens
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%s: %v in %s", metric, err, line)
		}
		out = append(out, s)
	}
	return out
}

// What each metric sees of one example.
func TestWhatMetricsSee(t *testing.T) {
	m2 := func(edit string) string { return `"S a b\n` + edit + `|||REQUIRED|||-NONE-|||0"` }
	for _, c := range []struct {
		metric, pred, refs string
		want               []string
		refsWant           [][]string
	}{
		{"bleu", `"A dog's hat."`, `["The U.S. hat!"]`, []string{"a", "dog", "'s", "hat"}, [][]string{{"the", "u.s.", "hat"}}},
		{"rouge-l:tok=none", `"a  b"`, `["a b"]`, []string{"a", "", "b"}, [][]string{{"a", "b"}}},
		{"cider:tok=none", `"a  b"`, `["a b"]`, []string{"a", "b"}, [][]string{{"a", "b"}}},
		{"meteor", `"A dog's hat."`, `["hat"]`, []string{"a", "dog", "'", "s", "hat"}, [][]string{{"hat"}}},
		{"spice", `[["dog"],["dog","red"]]`, `[["cat"]]`, []string{"dog", "dog red"}, [][]string{{"cat"}}},
		{"sacrebleu", `"It's $5."`, `["x"]`, []string{"It's", "$", "5", "."}, [][]string{{"x"}}},
		{"chrf", `"a b"`, `["ab"]`, []string{"a", "b"}, [][]string{{"a", "b"}}},
		{"chrf:word=2", `"a (b)"`, `["c"]`, []string{"a", "(", "b", ")", "a", "(b", ")"}, [][]string{{"c", "c"}}},
		{"ter:norm=true", `"It's 5."`, `["5."]`, []string{"it", "'s", "5", "."}, [][]string{{"5", "."}}},
		{"rouge-score:stem=true", `"Running cats!"`, `["a"]`, []string{"run", "cat"}, [][]string{{"a"}}},
		{"rouge-score:aggregate=bootstrap", `"Running cats!"`, `["a"]`, []string{"running", "cats"}, [][]string{{"a"}}},
		{"rouge", `"A b."`, `["c"]`, []string{"A", "b."}, [][]string{{"c"}}},
		{"rouge-zh", `"你好 a"`, `["c"]`, []string{"你", "好", "a"}, [][]string{{"c"}}},
		{"nltk-bleu", `"a b"`, `["c"]`, []string{"a", "b"}, [][]string{{"c"}}},
		{"nltk-bleu:method=5:seg=char", `"ab"`, `["c"]`, []string{"a", "b"}, [][]string{{"c"}}},
		{"nltk-gleu", `"a b"`, `["c"]`, []string{"a", "b"}, [][]string{{"c"}}},
		{"distinct", `"a b"`, `["c"]`, []string{"a", "b"}, [][]string{{"c"}}},
		{"maxmatch", `"a  c"`, `[` + m2("A 1 2|||R|||c") + `]`, []string{"a", "c"}, [][]string{{"1 2|||R|||c|||REQUIRED|||-NONE-|||0"}}},
		{"errant", m2("A 0 1|||R|||c"), `[` + m2("A 1 2|||R|||c") + `]`, []string{"0 1|||R|||c|||REQUIRED|||-NONE-|||0"}, [][]string{{"1 2|||R|||c|||REQUIRED|||-NONE-|||0"}}},
		{"cherrant", `"我们"`, `["你们","我们"],"source":"你们"`, []string{"0 1|||S|||我|||REQUIRED|||-NONE-|||0"}, [][]string{{"-1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0", "0 1|||S|||我|||REQUIRED|||-NONE-|||1"}}},
		{"accuracy", `" yes "`, `["no"]`, []string{"yes"}, [][]string{{"no"}}},
		{"f1", `" 1"`, `["0"]`, []string{"1"}, [][]string{{"0"}}},
		{"matthews", `" 1"`, `["0"]`, []string{"1"}, [][]string{{"0"}}},
		{"pearson", `" 1"`, `["0"]`, []string{"1"}, [][]string{{"0"}}},
		{"spearman", `" 1"`, `["0"]`, []string{"1"}, [][]string{{"0"}}},
		{"squad", `"The Cat's hat."`, `["a dog"]`, []string{"cats", "hat"}, [][]string{{"dog"}}},
		{"squad2", `"The Cat's hat."`, `["a dog"]`, []string{"cats", "hat"}, [][]string{{"dog"}}},
		{"squad2-best", `"The Cat's hat."`, `["a dog"]`, []string{"cats", "hat"}, [][]string{{"dog"}}},
		{"record", `"The Cat's hat."`, `["a dog"]`, []string{"cats", "hat"}, [][]string{{"dog"}}},
		{"cmrc", `"北京 city"`, `["北"]`, []string{"北", "京", "city"}, [][]string{{"北"}}},
		{"drcd", `"《北京》"`, `["北"]`, []string{"北", "京"}, [][]string{{"北"}}},
		{"multirc", `" 1"`, `["0"]`, []string{"1"}, [][]string{{"0"}}},
		{"glue", `" 1"`, `["0"]`, []string{"1"}, [][]string{{"0"}}},
		{"superglue", `" 1"`, `["0"]`, []string{"1"}, [][]string{{"0"}}},
		{"vqa:version=always", `"The cats."`, `["two","A dog"]`, []string{"cats"}, [][]string{{"2"}, {"dog"}}},
		{"vqa", `"The cats."`, `["Two"]`, []string{"The cats."}, [][]string{{"Two"}}},
		{"gqa", `" yes"`, `["yes"]`, []string{" yes"}, [][]string{{"yes"}}},
		{"gqa-distribution", `" yes"`, `["yes"]`, []string{" yes"}, [][]string{{"yes"}}},
		{"snli-ve", `" yes"`, `["no"]`, []string{"yes"}, [][]string{{"no"}}},
		{"nlvr2", `" True"`, `["False"]`, []string{"True"}, [][]string{{"False"}}},
		{"scienceqa", `"The answer is B."`, `["0"]`, []string{"1"}, [][]string{{"0"}}},
		{"scienceqa-rationale", `"The answer is B. BECAUSE: a b."`, `["0"],"lecture":"x","solution":"y z"`, []string{"a", "b"}, [][]string{{"x", "y", "z"}}},
	} {
		got := tokensOf(t, c.metric, `{"id":"mrpc/1","text":`+c.pred+`}`, `{"id":"mrpc/1","references":`+c.refs+`}`)
		if len(got) != 1 || got[0].Metric != c.metric || got[0].ID != "mrpc/1" || !reflect.DeepEqual(got[0].Prediction, c.want) || !reflect.DeepEqual(got[0].References, c.refsWant) {
			t.Errorf("%s: %+v\nwant %q and %q", c.metric, got, c.want, c.refsWant)
		}
	}
}

// Every metric shows all examples, and its whole input is taken for it.
func TestEveryMetricShowsItsTokens(t *testing.T) {
	tried := make(map[string]bool)
	for _, c := range partsCases(t) {
		for _, metric := range c.metrics {
			if got := tokensOf(t, metric, strings.Join(c.pred, ""), strings.Join(c.refs, "")); len(got) != len(c.pred) {
				t.Errorf("%s: %d of %d examples", metric, len(got), len(c.pred))
			}
			name, _, _ := strings.Cut(metric, ":")
			tried[name] = true
		}
	}
	for _, m := range List() {
		if !tried[m.Name] {
			t.Errorf("metric %s: not tried", m.Name)
		}
	}
}
