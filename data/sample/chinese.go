package sample

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// textMakers are corpora without images.
var textMakers = []maker{
	{"alpaca", 200, alpacaFiles},
	{"adgen", 200, adgenFiles},
	{"lcsts", 200, lcstsFiles},
	{"kdconv", 60, kdconvFiles},
	{"matinf", 200, matinfFiles},
	{"nlpcc2018", 200, nlpccFiles},
	{"m2", 100, m2Files},
	{"zhihu", 200, zhihuFiles},
	{"lot", 100, lotFiles},
	{"pkupb", 400, pkupbFiles},
	{"paws-x", 200, pawsxFiles},
	{"book_review", 100, reviewFiles("book_review")},
	{"chnsenticorp", 100, reviewFiles("chnsenticorp")},
	{"news-commentary", 100, newsFiles},
	{"zh-summ", 100, summFiles},
}

// Words of made-up Chinese sentences: who, what they do, to what, where.
var (
	zhWho   = []string{"\u6211", "\u4ed6", "\u5979", "\u5c0f\u660e", "\u8001\u5e08", "\u5988\u5988", "\u670b\u53cb", "\u533b\u751f", "\u5b69\u5b50"}
	zhVerb  = []string{"\u770b\u89c1", "\u559c\u6b22", "\u4e70\u4e86", "\u753b\u4e86", "\u627e\u5230", "\u9001\u6765", "\u5fd8\u8bb0", "\u5e26\u7740"}
	zhCol   = []string{"\u7ea2\u8272", "\u6a59\u8272", "\u9ec4\u8272", "\u7eff\u8272", "\u84dd\u8272", "\u7d2b\u8272", "\u7c89\u8272", "\u9ed1\u8272"}
	zhThing = []string{"\u5706\u5708", "\u65b9\u5757", "\u4e09\u89d2", "\u661f\u661f", "\u6212\u6307", "\u5341\u5b57", "\u83f1\u5f62", "\u7231\u5fc3"}
	zhWhere = []string{"\u5728\u5bb6\u91cc", "\u5728\u5b66\u6821", "\u5728\u6d77\u8fb9", "\u5728\u8349\u5730\u4e0a", "\u5728\u5929\u4e0a", "\u5728\u684c\u5b50\u4e0a"}
	zhStyle = []string{"\u7b80\u7ea6", "\u590d\u53e4", "\u6f6e\u6d41", "\u4f18\u96c5", "\u751c\u7f8e"}
)

// words is a sentence in words, without its full stop.
func zhWords(r *rand.Rand) []string {
	w := []string{one(r, zhWho)}
	if r.IntN(2) == 0 {
		w = append(w, one(r, zhWhere))
	}
	return append(w, one(r, zhVerb), one(r, zhCol), "\u7684", one(r, zhThing))
}

// zhText is some sentences, joined by commas, with a full stop.
func zhText(r *rand.Rand, from, to int) string {
	list := make([]string, from+r.IntN(to-from+1))
	for i := range list {
		list[i] = strings.Join(zhWords(r), "")
	}
	return strings.Join(list, "\uff0c") + "\u3002"
}

// rowsOf makes files of rows: n in the first, a tenth of it in the others.
func rowsOf(n int, seed uint64, names []string, write func(b *strings.Builder, r *rand.Rand, rows int, name string)) (written, error) {
	if n < 1 || n > 10_000_000 {
		return nil, fmt.Errorf("rows: %d, want 1 to 10000000", n)
	}
	var docs written
	for i, name := range names {
		rows := n
		if i > 0 {
			rows = max(n/10, 2)
		}
		docs = append(docs, text(name, func(r *rand.Rand, b *strings.Builder) { write(b, r, rows, name) }, seed))
	}
	return docs, nil
}

// jsonRows makes files of JSON lines.
func jsonRows(n int, seed uint64, names []string, row func(r *rand.Rand, i int) any) (Miniature, error) {
	return rowsOf(n, seed, names, func(b *strings.Builder, r *rand.Rand, rows int, _ string) {
		for i := range rows {
			putJSON(b, row(r, i))
		}
	})
}

func putJSON(b *strings.Builder, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("sample: a row that is no JSON")
	}
}

func adgenFiles(n int, seed uint64) (Miniature, error) {
	return jsonRows(n, seed, []string{"train.json", "dev.json", "test.json"}, func(r *rand.Rand, _ int) any {
		colour, thing, style := one(r, zhCol), one(r, zhThing), one(r, zhStyle)
		tags := "\u7c7b\u578b#" + thing + "*\u989c\u8272#" + colour + "*\u98ce\u683c#" + style
		if r.IntN(3) == 0 {
			tags += "*\u98ce\u683c#" + one(r, zhStyle)
		}
		return ordered{{"content", tags}, {"summary", "\u8fd9\u4e2a" + colour + "\u7684" + thing + "\u5f88" + style + "\uff0c" + zhText(r, 1, 3)}}
	})
}

// lcstsFiles are the three parts, and CSL's lines.
func lcstsFiles(n int, seed uint64) (Miniature, error) {
	docs, err := rowsOf(n, seed, []string{"PART_I.txt", "PART_II.txt", "PART_III.txt"}, func(b *strings.Builder, r *rand.Rand, rows int, name string) {
		for i := range rows {
			short := zhText(r, 3, 6)
			summary, _, _ := strings.Cut(short, "\uff0c")
			fmt.Fprintf(b, "<doc id=%d>\n", i)
			if name != "PART_I.txt" {
				fmt.Fprintf(b, "    <human_label>%d</human_label>\n", 1+r.IntN(5))
			}
			fmt.Fprintf(b, "    <summary>\n        %s\n    </summary>\n    <short_text>\n        %s\n    </short_text>\n</doc>\n", summary, short)
		}
	})
	if err != nil {
		return nil, err
	}
	csl, err := rowsOf(max(n/10, 2), seed, []string{"csl.jsonl"}, func(b *strings.Builder, r *rand.Rand, rows int, _ string) {
		for range rows {
			article := zhText(r, 4, 8)
			title, _, _ := strings.Cut(article, "\uff0c")
			putJSON(b, ordered{{"summarization", title}, {"article", article}})
		}
	})
	return append(docs, csl...), err
}

func kdconvFiles(n int, seed uint64) (Miniature, error) {
	var names []string
	for _, domain := range []string{"film", "music", "travel"} {
		for _, split := range []string{"train", "dev", "test"} {
			names = append(names, domain+"/"+split+".json")
		}
	}
	return rowsOf(n, seed, names, func(b *strings.Builder, r *rand.Rand, rows int, name string) {
		b.WriteString("[\n")
		for i := range rows {
			thing := one(r, zhCol) + "\u7684" + one(r, zhThing)
			messages := []ordered{{{"message", "\u4f60\u77e5\u9053" + thing + "\u5417\uff1f"}}}
			for range 2 + r.IntN(6) {
				m := ordered{{"message", zhText(r, 1, 2)}}
				if r.IntN(2) == 0 {
					m = append(ordered{{"attrs", []ordered{{{"attrname", "Information"}, {"attrvalue", zhText(r, 1, 1)}, {"name", thing}}}}}, m...)
				}
				messages = append(messages, m)
			}
			if i > 0 {
				b.WriteString(",")
			}
			putJSON(b, ordered{{"messages", messages}, {"name", thing}})
		}
		b.WriteString("]\n")
	})
}

func matinfFiles(n int, seed uint64) (Miniature, error) {
	return rowsOf(n, seed, []string{"train.csv", "dev.csv", "test.csv"}, func(b *strings.Builder, r *rand.Rand, rows int, _ string) {
		b.WriteString("id,question,description,answer,class\n")
		for i := range rows {
			quoted := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
			question := strings.Join(zhWords(r), "") + "\u600e\u4e48\u529e\uff1f"
			description := zhText(r, 1, 3)
			switch r.IntN(4) {
			case 0:
				description = quoted(description + "\n" + zhText(r, 1, 1))
			case 1:
				description = quoted(`\u4ed6\u8bf4"` + strings.Join(zhWords(r), "") + `", ` + zhText(r, 1, 1))
			}
			fmt.Fprintf(b, "%d,%s,%s,%s,%s\n", 1000+7*i, question, description, zhText(r, 1, 2), one(r, []string{"0-1\u5c81", "1-2\u5c81", "2-3\u5c81"}))
		}
	})
}

// spoiled is a sentence with a mistake, and the edit that corrects it: a word
// left out, doubled or replaced.
func spoiled(r *rand.Rand, words []string) (bad []string, edit string) {
	at := r.IntN(len(words))
	switch r.IntN(3) {
	case 0:
		return slices.Delete(slices.Clone(words), at, at+1), fmt.Sprintf("%d %d|||M|||%s", at, at, words[at])
	case 1:
		return slices.Insert(slices.Clone(words), at, words[at]), fmt.Sprintf("%d %d|||R|||-NONE-", at, at+1)
	}
	bad = slices.Clone(words)
	bad[at] = one(r, zhThing) + "\u4e86"
	return bad, fmt.Sprintf("%d %d|||S|||%s", at, at+1, words[at])
}

// nlpccFiles are the training file, the test set and its edits, which tell the
// same sentences.
func nlpccFiles(n int, seed uint64) (Miniature, error) {
	tests := func(b *strings.Builder, rows int, put func(bad []string, edit string)) {
		r := stream(seed, "test")
		for range rows {
			words := append(zhWords(r), "\u3002")
			if r.IntN(8) == 0 {
				put(words, "")
				continue
			}
			bad, edit := spoiled(r, words)
			put(bad, edit)
		}
	}
	return rowsOf(n, seed, []string{"data.train", "source.txt", "gold.01"}, func(b *strings.Builder, r *rand.Rand, rows int, name string) {
		switch name {
		case "data.train":
			for i := range rows {
				words := append(zhWords(r), "\u3002")
				good := strings.Join(words, " ")
				if r.IntN(5) == 0 {
					fmt.Fprintf(b, "%d\t0\t%s\n", i+1, good)
					continue
				}
				bad, _ := spoiled(r, words)
				fmt.Fprintf(b, "%d\t1\t%s\t%s\n", i+1, strings.Join(bad, " "), good)
			}
		case "source.txt":
			b.WriteString("\ufeff")
			tests(b, rows, func(bad []string, _ string) { b.WriteString(strings.Join(bad, "") + "\n") })
		default:
			tests(b, rows, func(bad []string, edit string) {
				b.WriteString("S " + strings.Join(bad, " ") + "\n")
				if edit != "" {
					fmt.Fprintf(b, "A %s|||REQUIRED|||-NONE-|||0\n", edit)
				}
				b.WriteString("\n")
			})
		}
	})
}

// m2Files are an M2 file of two annotators, and sentences with corrected ones in
// files beside them.
func m2Files(n int, seed uint64) (Miniature, error) {
	who := []string{"A cat", "The dog", "My friend", "She", "The teacher"}
	verb := [][2]string{{"likes", "like"}, {"sees", "see"}, {"buys", "buy"}, {"draws", "draw"}}
	row := func(r *rand.Rand) (bad, good []string, at int) {
		v := one(r, verb)
		good = append(strings.Fields(one(r, who)), v[0], "a", one(r, colourNames[:]), one(r, shapeNames[:]), ".")
		at = slices.Index(good, v[0])
		bad = slices.Clone(good)
		bad[at] = v[1]
		return bad, good, at
	}
	return rowsOf(n, seed, []string{"corpus.m2", "dev.src", "dev.ref0", "dev.ref1"}, func(b *strings.Builder, r *rand.Rand, rows int, name string) {
		if name != "corpus.m2" {
			r = stream(seed, "dev")
		}
		for range rows {
			bad, good, at := row(r)
			switch name {
			case "corpus.m2":
				fmt.Fprintf(b, "S %s\nA %d %d|||R:VERB:SVA|||%s|||REQUIRED|||-NONE-|||0\n", strings.Join(bad, " "), at, at+1, good[at])
				if r.IntN(3) == 0 {
					b.WriteString("A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1\n")
				}
				b.WriteString("\n")
			case "dev.src":
				b.WriteString(strings.Join(bad, " ") + "\n")
			case "dev.ref0":
				b.WriteString(strings.Join(good, " ") + "\n")
			default:
				b.WriteString(strings.Join(good[:len(good)-1], " ") + " !\n")
			}
		}
	})
}

var zhTopics = []string{"\u751f\u6d3b", "\u6210\u957f", "\u5fc3\u7406\u5b66", "\u5927\u5b66", "\u65c5\u884c", "\u7535\u5f71"}

func zhihuFiles(n int, seed uint64) (Miniature, error) {
	topicsOf := func(r *rand.Rand) []string {
		order := r.Perm(len(zhTopics))[:1+r.IntN(3)]
		out := make([]string, len(order))
		for i, k := range order {
			out[i] = zhTopics[k]
		}
		return out
	}
	return rowsOf(n, seed, []string{"train_label.txt", "train_topic.txt", "val_label.txt", "val_topic.txt", "test.json"}, func(b *strings.Builder, r *rand.Rand, rows int, name string) {
		if split, _, ok := strings.Cut(name, "_"); ok {
			r = stream(seed, split) // labels and topics tell the same rows
			if split == "train" {
				rows = n
			}
		}
		var topics, contents []string
		for range rows {
			list, essay := topicsOf(r), zhText(r, 3, 6)
			switch {
			case strings.HasSuffix(name, "_label.txt"):
				b.WriteString("[BOS]" + strings.Join(list, "#") + "[SEP]" + essay + "[EOS]\n")
			case strings.HasSuffix(name, "_topic.txt"):
				b.WriteString("[CLS][SEP]" + strings.Join(list, "[SEP]") + "\n")
			default:
				topics = append(topics, strings.Join(list, "\u3001")+"\u3002")
				contents = append(contents, strings.Join(append(zhWords(r), "\u3002"), " "))
			}
		}
		if name == "test.json" {
			putJSON(b, ordered{{"length", len(topics)}, {"content", contents}, {"topic", topics}})
		}
	})
}

// lotFiles have a folder for each task.
func lotFiles(n int, seed uint64) (Miniature, error) {
	var docs written
	for _, task := range []string{"outgen", "plotcom", "clozet", "senpos"} {
		m, err := jsonRows(n, seed, []string{task + "/train.jsonl", task + "/val.jsonl", task + "/test.jsonl"}, func(r *rand.Rand, _ int) any {
			parts := strings.Split(strings.TrimSuffix(zhText(r, 5, 8), "\u3002"), "\uff0c")
			story := strings.Join(parts, "\uff0c") + "\u3002"
			gap := strings.Join(parts[:2], "\uff0c") + "\u3002<MASK>" + strings.Join(parts[3:], "\uff0c") + "\u3002"
			switch task {
			case "outgen":
				outline := slices.Clone(parts)
				r.Shuffle(len(outline), func(i, k int) { outline[i], outline[k] = outline[k], outline[i] })
				return ordered{{"story", story}, {"outline", outline}, {"title", one(r, zhThing)}}
			case "plotcom":
				return ordered{{"story", gap}, {"plot", parts[2] + "\u3002"}}
			case "clozet":
				plots, label := []string{parts[2], strings.Join(zhWords(r), "")}, r.IntN(2)
				return ordered{{"story", gap}, {"plot0", plots[label]}, {"plot1", plots[1-label]}, {"label", fmt.Sprint(label)}}
			}
			label := r.IntN(len(parts) - 1)
			rest := slices.Delete(slices.Clone(parts), label, label+1)
			return ordered{{"story", strings.Join(rest, "[MASK]")}, {"sentence", parts[label]}, {"label", label}}
		})
		if err != nil {
			return nil, err
		}
		docs = append(docs, m.Documents()...)
	}
	return docs, nil
}

// paraphrased says a sentence in another way.
func paraphrased(words []string) string {
	last := len(words) - 3
	return words[0] + "\u628a" + strings.Join(words[last:], "") + strings.Join(words[1:last], "")
}

func pkupbFiles(n int, seed uint64) (Miniature, error) {
	return rowsOf(n, seed, []string{"pku_paraphrase.txt"}, func(b *strings.Builder, r *rand.Rand, rows int, _ string) {
		for range rows {
			w := zhWords(r)
			b.WriteString(strings.Join(w, "") + "\u3002\t" + paraphrased(w) + "\u3002\n")
		}
	})
}

func pawsxFiles(n int, seed uint64) (Miniature, error) {
	var names []string
	for _, x := range []string{"zh/translated_train", "zh/dev_2k", "zh/test_2k", "en/train", "en/dev_2k", "en/test_2k"} {
		names = append(names, "x-final/"+x+".tsv")
	}
	return rowsOf(n, seed, names, func(b *strings.Builder, r *rand.Rand, rows int, name string) {
		b.WriteString("id\tsentence1\tsentence2\tlabel\n")
		for i := range rows {
			w, label := zhWords(r), r.IntN(2)
			first, second := strings.Join(w, ""), paraphrased(w)
			if label == 0 {
				second = one(r, zhWho) + strings.Join(w[1:], "")
			}
			if strings.Contains(name, "/en/") {
				a, c := one(r, shapeNames[:]), one(r, colourNames[:])
				first, second = fmt.Sprintf(`The " %s " is next to the %s one .`, a, c), fmt.Sprintf(`Next to the %s one is the " %s " .`, c, a)
				if label == 0 {
					second = fmt.Sprintf(`The %s one is " %s " .`, c, a)
				}
			}
			fmt.Fprintf(b, "%d\t%s\t%s\t%d\n", i+1, first, second, label)
		}
	})
}

func reviewFiles(name string) func(n int, seed uint64) (Miniature, error) {
	return func(n int, seed uint64) (Miniature, error) {
		return rowsOf(n, seed, []string{name + "/train.tsv", name + "/dev.tsv", name + "/test.tsv"}, func(b *strings.Builder, r *rand.Rand, rows int, _ string) {
			b.WriteString("label\ttext_a\n")
			for range rows {
				label := r.IntN(2)
				fmt.Fprintf(b, "%d\t%s%s\n", label, []string{"\u4e0d\u597d\u3002", "\u5f88\u597d\u3002"}[label], zhText(r, 1, 3))
			}
		})
	}
}

func newsFiles(n int, seed uint64) (Miniature, error) {
	return rowsOf(n, seed, []string{"news-commentary.txt"}, func(b *strings.Builder, r *rand.Rand, rows int, _ string) {
		for range rows {
			c, t := r.IntN(colours), r.IntN(shapes)
			fmt.Fprintf(b, "This is a %s %s.\t\u8fd9\u662f%s\u7684%s\u3002\n", colourNames[c], shapeNames[t], zhCol[c], zhThing[t])
		}
	})
}

func summFiles(n int, seed uint64) (Miniature, error) {
	return jsonRows(n, seed, []string{"zh-summ/train.json", "zh-summ/dev.json"}, func(r *rand.Rand, _ int) any {
		list := make([]string, 3+r.IntN(5))
		labels := make([]int, len(list))
		for i := range list {
			list[i], labels[i] = zhText(r, 1, 1), r.IntN(4)/3
		}
		return ordered{{"label", labels}, {"text", list}}
	})
}

// alpacaFiles are Alpaca's, its seed tasks and Dolly.
func alpacaFiles(n int, seed uint64) (Miniature, error) {
	task := func(r *rand.Rand) (instruction, input, output string) {
		a, b := 1+r.IntN(50), 1+r.IntN(50)
		switch r.IntN(3) {
		case 0:
			return fmt.Sprintf("Add %d and %d.", a, b), "", fmt.Sprint(a + b)
		case 1:
			word := one(r, shapeNames[:])
			return "Write the word in capital letters.", word, strings.ToUpper(word)
		}
		c, s := one(r, colourNames[:]), one(r, shapeNames[:])
		return "Which color is named?", fmt.Sprintf("The %s is %s.", s, c), c
	}
	return rowsOf(n, seed, []string{"alpaca_data.json", "seed_tasks.jsonl", "databricks-dolly-15k.jsonl"}, func(b *strings.Builder, r *rand.Rand, rows int, name string) {
		if name == "alpaca_data.json" {
			b.WriteString("[\n")
		}
		for i := range rows {
			instruction, input, output := task(r)
			switch name {
			case "alpaca_data.json":
				if i > 0 {
					b.WriteString(",")
				}
				putJSON(b, ordered{{"instruction", instruction}, {"input", input}, {"output", output}})
			case "seed_tasks.jsonl":
				putJSON(b, ordered{{"id", fmt.Sprintf("seed_task_%d", i)}, {"name", "made_up"}, {"instruction", instruction}, {"instances", []ordered{{{"input", input}, {"output", output}}}}, {"is_classification", false}})
			default:
				putJSON(b, ordered{{"instruction", instruction}, {"context", input}, {"response", output}, {"category", "open_qa"}})
			}
		}
		if name == "alpaca_data.json" {
			b.WriteString("]\n")
		}
	})
}
