package gec

import (
	"reflect"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch g.Reader {
		case "gec-source":
			return corpustest.With(Gold)
		case "parallel":
			return corpustest.With(Parallel(g.Corpus))
		case "m2":
			return corpustest.With(M2(g.Corpus))
		}
		return nil
	})
	if n != 4 {
		t.Errorf("%d files", n)
	}
}

func traps(c corpustest.Trap) corpustest.Reader {
	switch c.ReadAs {
	case "m2":
		return corpustest.With(M2("m2"))
	case "nlpcc-train":
		return corpustest.With(Train)
	}
	return nil
}

func TestSharedTraps(t *testing.T) {
	if n := corpustest.SharedTraps(t, traps); n != 2 {
		t.Errorf("%d traps", n)
	}
}

func TestTraps(t *testing.T) {
	if n := corpustest.Traps(t, "testdata", traps); n != 2 {
		t.Errorf("%d traps", n)
	}
}

func TestChERRANT(t *testing.T) {
	src, err := corpustest.File(t, shared.Dir(t, "goldens", "metrics", "cherrant", "nlpcc_a_ref.char.m2"), "ref.m2")
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, src.Size)
	if _, err := src.ReadAt(text, 0); err != nil {
		t.Fatal(err)
	}
	rows, dead, err := corpustest.With(M2("cherrant"))(t, src, 10)
	if n := strings.Count("\n"+string(text), "\nS "); err != nil || len(dead) > 0 || len(rows) != n {
		t.Errorf("%d rows of %d, %d dead letters, %v", len(rows), n, len(dead), err)
	}
}

func TestM2(t *testing.T) {
	const text = "S a b\nT0-A0 x b\nA 0 1|||S|||x|||REQUIRED|||-NONE-|||0\nT1 \u6ca1\u6709\u9519\u8bef\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1\nA 2 1|||S|||x|||REQUIRED|||-NONE-|||0\nwhat\nS c\n"
	for _, text := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
		checkM2(t, text)
	}
}

func checkM2(t *testing.T, text string) {
	t.Helper()
	rows, dead, err := corpustest.With(M2("m2"))(t, corpustest.Bytes("f.m2", []byte(text)), 1)
	if err != nil || len(rows) != 2 || len(dead) != 2 {
		t.Fatalf("%d rows, %d dead letters, %v", len(rows), len(dead), err)
	}
	if got := rows[0]["meta"].(map[string]any)["edits"]; !reflect.DeepEqual(got, map[string]any{"0": []any{"0 1 S x"}, "1": []any{"-1 -1 noop -NONE-"}}) {
		t.Errorf("edits %v", got)
	}
	if d := dead[0]; d.Field != "end" || *d.Line != 6 || !strings.HasPrefix(string(d.Raw), "A 2 1") || string(text[*d.Offset:][:5]) != "A 2 1" {
		t.Errorf("dead letter %+v", d)
	}
	if rows[1]["fields"].(map[string]any)["sentence"] != "c" {
		t.Errorf("row %v", rows[1])
	}
}

func TestMuCGEC(t *testing.T) {
	rows, dead, err := corpustest.With(MuCGEC)(t, corpustest.Bytes("MuCGEC_dev.txt", []byte("1\ta\tb\tc\n2\td\n2\te\tf\n3\n")), 1)
	if err != nil || len(rows) != 2 || len(dead) != 2 || dead[0].Field != "id" || dead[1].Field != "source" {
		t.Fatalf("%v, %v, %v", rows, dead, err)
	}
	if !reflect.DeepEqual(rows[0]["references"], []any{"b", "c"}) || rows[0]["key"] != "1" || rows[0]["split"] != "dev" {
		t.Errorf("row %v", rows[0])
	}
}
