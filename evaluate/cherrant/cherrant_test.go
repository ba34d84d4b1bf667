package cherrant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/internal/shared"
)

// tables are those of testdata, with BERT's Chinese vocabulary.
func tables(t *testing.T) *Tables {
	t.Helper()
	d, err := Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := readLines(shared.Dir(t, "data", "tok-bert-vocab", "google_zh_vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.readVocabulary(lines); err != nil {
		t.Fatal(err)
	}
	return d
}

// blocks are those that a file of sentences gives.
func blocks(t *testing.T, f *Finder, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		cells := strings.Split(line, "\t")
		if out, _, err = f.AppendBlock(out, cells[1], cells[2:]); err != nil {
			t.Fatal(err)
		}
		out = append(out, '\n')
	}
	return string(out)
}

func TestEqualToChERRANT(t *testing.T) {
	dir, d := shared.Dir(t, "goldens", "metrics", "cherrant"), tables(t)
	for golden, o := range map[string]Options{
		"hand.char.m2": {}, "multi.char.m2": {}, "nlpcc_a_ref.char.m2": {}, "nlpcc_a_hyp.char.m2": {}, "hand.char_bpe.m2": {Words: true},
	} {
		want, err := os.ReadFile(filepath.Join(dir, golden))
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(golden, ".")
		got := blocks(t, &Finder{Options: o, Tables: d}, filepath.Join(dir, name+".para"))
		if got != string(want) {
			a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Errorf("%s line %d: %s\nwant %s", golden, i+1, a[i], b[i])
					break
				}
			}
		}
	}
}

// The options of the tool, on pairs where they make a difference.
func TestOptions(t *testing.T) {
	none := &Tables{}
	for _, c := range []struct {
		name           string
		o              Options
		source, target string
		want           string
	}{
		{"a traditional correction", Options{}, "这是学校", "這是學校", "S 这 是 学 校\nT0 没有错误\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n"},
		{"left as it is", Options{Traditional: true}, "这是", "這是", "S 这 是\nT0-A0 這 是\nA 0 1|||S|||這|||REQUIRED|||-NONE-|||0\n"},
		{"a source is not changed", Options{}, "這是", "这是", "S 這 是\nT0-A0 这 是\nA 0 1|||S|||这|||REQUIRED|||-NONE-|||0\n"},
		{"white space is nothing", Options{}, " 我 爱\u3000你\u00a0", "我爱 你", "S 我 爱 你\nT0 没有错误\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n"},
		{"what annotators write", Options{}, "我爱你", "没有错误", "S 我 爱 你\nT0 没有错误\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n"},
		{"what cannot be corrected", Options{}, "我爱你", "无法标注", "S 我 爱 你\nT0 无法标注\nA -1 -1|||NA|||-NONE-|||REQUIRED|||-NONE-|||0\n"},
		{"a missing part is one piece", Options{}, "我你", "我[缺失成分]你", "S 我 你\nT0-A0 我 [缺失成分] 你\nA 1 1|||M|||[缺失成分]|||REQUIRED|||-NONE-|||0\n"},
		{"an empty correction", Options{}, "我你", "", "S 我 你\nT0-A0 \nA 0 2|||R|||-NONE-|||REQUIRED|||-NONE-|||0\n"},
		{"an empty source", Options{}, "", "我", "S \nT0-A0 我\nA 0 0|||M|||我|||REQUIRED|||-NONE-|||0\n"},
		{"several alignments", Options{}, "aab", "ab", "S a a b\nT0-A0 a b\nA 0 1|||R|||-NONE-|||REQUIRED|||-NONE-|||0\n"},
	} {
		got, cut, err := (&Finder{c.o, none}).AppendBlock(nil, c.source, []string{c.target})
		if err != nil || cut || string(got) != c.want {
			t.Errorf("%s: %q, %t, %v\nwant %q", c.name, got, cut, err, c.want)
		}
	}
	first, _, err := (&Finder{Options{First: true}, none}).Edits([]string{"有", "强", "拥"}, []string{"拥", "有", "强", "大"})
	if err != nil || len(first) != 1 {
		t.Errorf("first alignment: %v, %v", first, err)
	}
}

// Where alignments are without number the work stays bounded, and says so.
func TestManyAlignments(t *testing.T) {
	f := &Finder{Tables: &Tables{}}
	src, dst := f.Source(strings.Repeat("，a", 60)), f.Target(strings.Repeat("。。", 60))
	if lists, cut, err := f.Edits(src, dst); err != nil || cut || len(lists) != 1 {
		t.Errorf("%d lists, %t, %v", len(lists), cut, err)
	}
	f.Tables.classes = map[string]string{"甲": "Aa01", "乙": "Aa01"} // costs without rounding
	lists, cut, err := f.Edits(f.Source(strings.Repeat("甲", 40)), f.Target(strings.Repeat("乙", 30)))
	if err != nil || !cut || len(lists) != 1 || lists[0][0].Type != Replaced {
		t.Errorf("%v, %t, %v, want one replacement, of some of 800 million alignments", lists, cut, err)
	}
	if _, _, err := f.AppendBlock(nil, strings.Repeat("甲", 3000), []string{strings.Repeat("乙", 3000)}); err != ErrLong {
		t.Errorf("3,000 characters: %v", err)
	}
}

func TestSimplify(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abc é": "abc é", "學習說話": "学习说话", "乾燥的乾隆": "干燥的乾隆", "一目瞭然": "一目了然", "瞭望": "瞭望", "豈": "岂", "\u4e00\ufe00後": "一\ufe00后",
	} {
		if got := Simplify(text); got != want {
			t.Errorf("Simplify(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(what, want string) {
		t.Helper()
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	fails("an empty folder", "none of cilin.txt")
	file(cilinFile, "Aa01A01= \xc8\xcb \xca\xbf\r\nAa02A01= \xce\xd2\r\n") // 人 士, 我 in GBK
	file(confusionFile, "人 入 八 入口\n人们 人门\n")
	file(vocabularyFile, "[UNK]\nab\n##c\n")
	d, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(d.Names(), " "); got != "pinyin cilin confusion" || !d.HasVocabulary() {
		t.Errorf("tables %s", got)
	}
	if d.classes["士"] != "Aa01" || d.classes["我"] != "Aa02" || !d.confusions['人']['八'] || d.confusions['人']['口'] {
		t.Errorf("classes %v, confusions %v", d.classes, d.confusions)
	}
	f := &Finder{Options{Words: true}, d}
	for text, want := range map[string]string{
		"我abc,abd": "我 ab ##c , abd", strings.Repeat("a", 101): "[UNK]", "a\u0001b": "ab",
	} {
		if got := strings.Join(f.Source(text), " "); got != want {
			t.Errorf("pieces of %q: %s, want %s", text, got, want)
		}
	}
	if err := f.Check(); err != nil {
		t.Error(err)
	}
	if err := (&Finder{Options{Words: true}, &Tables{}}).Check(); err == nil {
		t.Error("pieces without a vocabulary")
	}
	file(cilinFile, "人 士\n")
	fails("a line without a code", "cilin.txt:1: \"人\" is no code")
	file(cilinFile, "Aa01 \xff\xff\n")
	fails("another encoding", "neither UTF-8 nor GBK")
}

func FuzzEdits(f *testing.F) {
	f.Add("他去学校了", "他了去学校")
	f.Add("很大的大的房子", "很大的房子")
	f.Add("", "a")
	f.Fuzz(func(t *testing.T, source, target string) {
		if len(source) > 60 || len(target) > 60 {
			return
		}
		find := &Finder{Tables: &Tables{}}
		src, dst := find.Source(source), find.Target(target)
		lists, _, err := find.Edits(src, dst)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			// Edits, from the last to the first, make the target of the source.
			got := src
			for k := len(list) - 1; k >= 0; k-- {
				e := list[k]
				if e.From < 0 || e.To < e.From || e.To > len(src) || k > 0 && list[k-1].To > e.From {
					t.Fatalf("%q to %q: edits %v", source, target, list)
				}
				text := strings.Fields(e.Text)
				if e.Type == Redundant {
					text = nil
				}
				got = append(append(append([]string(nil), got[:e.From]...), text...), got[e.To:]...)
			}
			if strings.Join(got, "") != strings.Join(dst, "") {
				t.Fatalf("%q to %q: edits %v make %q", source, target, list, got)
			}
		}
	})
}
