package tokenize

import (
	"bytes"
	"slices"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/example"
	"espalier/tokenize/preset"
	"espalier/tokenize/spm"
	"espalier/tokenize/unigram"
)

func TestLearnUnigram(t *testing.T) {
	g := textGraph(t, "", true, &Encode{As: "t5"})
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n pipeline.Node) bool { return n.Name == "vocab" })
	learn := pipeline.Node{Name: "vocab", Stage: &Train{Type: Unigram, Size: 60}, Inputs: map[string]string{"texts-rte": "texts"}}
	g.Nodes = slices.Insert(g.Nodes, len(g.Nodes)-1, learn)
	s, res, err := run(t, g)
	if err != nil {
		t.Fatal(err)
	}
	m := res.Node("vocab").Manifest
	file := read(t, s, m, ModelFile)
	model, err := spm.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(model.Pieces); n > 60 || n < 40 || m.Notes["texts"] != "50" {
		t.Errorf("%d pieces; notes %v", n, m.Notes)
	}
	u, err := unigram.New(model)
	if err != nil {
		t.Fatal(err)
	}
	class, err := preset.T5(u, preset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	texts := tableRows[example.Text](t, s, res.Node("texts").Manifest, "train")
	rows := tokenRows(t, s, res.Node("tokens").Manifest, "train")
	if len(rows) != 25 || len(texts) != len(rows) {
		t.Fatalf("%d rows of %d texts", len(rows), len(texts))
	}
	for i, r := range rows {
		if slices.Contains(r.Input, model.Unk) || r.Input[len(r.Input)-1] != model.EOS {
			t.Errorf("row %d: %v", i, r.Input)
		}
		text, err := class.Decode(nil, r.Input[:len(r.Input)-1])
		if err != nil || string(text) != texts[i].Source {
			t.Errorf("row %d: decoded as %q, %v, want %q", i, text, err, texts[i].Source)
		}
	}

	_, again, err := run(t, g)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Node("vocab").Manifest.Digest; got != m.Digest {
		t.Error("a second training gives another file")
	}
	if bytes.Count(file, []byte(spm.Mark)) == 0 {
		t.Error("no blanks in the pieces")
	}

	g.Nodes[slices.IndexFunc(g.Nodes, func(n pipeline.Node) bool { return n.Name == "vocab" })].Stage = &Train{Type: Unigram, Size: 10}
	if _, _, err := run(t, g); err == nil || !bytes.Contains([]byte(err.Error()), []byte("unigram: size 10, want at least")) {
		t.Errorf("size 10: %v", err)
	}
}
