package preprocess

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/example"
)

// render ingests the bench's raw files and renders them.
func (b *bench) render(g *Ingest, template string) (*pipeline.NodeResult, error) {
	b.t.Helper()
	return b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
		{Name: "examples", Stage: g, Inputs: map[string]string{"raw": "raw"}, MaxDead: &pipeline.NoLimit},
		{Name: "texts", Stage: &Render{Template: template}, Inputs: map[string]string{"examples": "examples"}, MaxDead: &pipeline.NoLimit},
	}}, "texts")
}

func TestRender(t *testing.T) {
	b := newBench(t)
	b.write("train.json", `{"content": "a#b*c#d", "summary": "x"}`+"\n"+`{"content": "e#f", "summary": "y"}`+"\n")
	n, err := b.render(&Ingest{Corpus: "adgen"}, "skillnet")
	if err != nil {
		t.Fatal(err)
	}
	want := []example.Text{
		{ID: "adgen/adgen/train/0", Corpus: "adgen", Task: "adgen", Split: "train", Template: "skillnet/adgen", Version: 1, Source: "adgen: [[a, b], [c, d]]", Target: "x", References: []string{"x"}},
		{ID: "adgen/adgen/train/1", Corpus: "adgen", Task: "adgen", Split: "train", Template: "skillnet/adgen", Version: 1, Source: "adgen: [[e, f]]", Target: "y", References: []string{"y"}},
	}
	if got := rows[example.Text](b, n, "train"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestRenderSeveralTexts(t *testing.T) {
	b := newBench(t)
	b.write("data.train", "7\t2\ta b\tc d\te\n8\t0\tf\n")
	n, err := b.render(&Ingest{Corpus: "nlpcc2018/train", Split: "train"}, "skillnet/nlpcc")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range rows[example.Text](b, n, "train") {
		got = append(got, x.ID+" "+string('0'+rune(x.Part))+" "+x.Source+" > "+x.Target)
	}
	want := []string{"nlpcc2018/nlpcc/train/7 0 nlpcc: ab > cd", "nlpcc2018/nlpcc/train/7 1 nlpcc: ab > e", "nlpcc2018/nlpcc/train/8 0 nlpcc: f > f"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestRenderOfOtherExamples(t *testing.T) {
	b := newBench(t)
	b.write("train.json", `{"content": "a#b", "summary": "x"}`+"\n")
	if _, err := b.render(&Ingest{Corpus: "adgen"}, "t5"); err == nil || !strings.Contains(err.Error(), "t5 has no template for adgen/adgen") {
		t.Errorf("a style without the task: %v", err)
	}
	var rejected *pipeline.RejectedError
	if _, err := b.render(&Ingest{Corpus: "adgen"}, "t5/glue_cola"); !errors.As(err, &rejected) {
		t.Errorf("a template of other fields: %v", err)
	}
}

func TestRenderPrompts(t *testing.T) {
	b := newBench(t)
	question := `{"question": "q", "choices": ["a", "b"], "answer": 1, "hint": "", "image": null, "task": "t", "grade": "g", "subject": "s", "topic": "t", "category": "c", "skill": "s", "lecture": "", "solution": "", "split": "train"}`
	b.write("problems.json", `{"1": `+question+`, "2": `+strings.Replace(question, `"q"`, `"r"`, 1)+`}`)
	n, err := b.render(&Ingest{Corpus: "scienceqa"}, "scienceqa")
	if err != nil {
		t.Fatal(err)
	}
	got := rows[example.Text](b, n, "train")
	if len(got) != 2 || got[1].Source != "Question: r\nContext: N/A\nOptions: (A) a (B) b\nAnswer:" || got[1].Target != got[1].Source+" The answer is B." || *got[1].Label != "B" {
		t.Errorf("got %+v", got)
	}
	if m := n.Manifest; m.Notes["dropped"] != "0" || m.Dead != 0 || m.RowsSeen != 2 {
		t.Errorf("notes %v", m.Notes)
	}
}

func TestRenderCheck(t *testing.T) {
	for template, want := range map[string]string{"": "required", "t6": `no style "t6"`, "t5/cola": `no template "t5/cola"`, "t5": "", "espalier/vqa": ""} {
		err := (&Render{Template: template}).Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", template, err)
		}
	}
}
