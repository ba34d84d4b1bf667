package sample

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// englishMakers are English corpora of text, of n rows of train and a fifth of it
// of the other splits.
var englishMakers = []maker{
	{"glue", 200, glueFiles},
	{"superglue", 100, superglueFiles},
	{"boolq", 100, boolqFiles},
	{"imdb", 100, imdbFiles},
	{"trec", 200, trecFiles},
	{"sst", 200, sstFiles},
	{"paws", 200, pawsFiles},
	{"quora", 100, quoraFiles},
	{"snli", 200, snliFiles},
	{"squad", 100, squadFiles},
	{"common_gen", 100, commonGenFiles},
}

// Words of made-up English sentences.
var (
	enWho   = []string{"the boy", "the old man", "a nurse", "my neighbour", "the engineer", "a small dog", "the singer", "her sister", "the judge", "a traveller"}
	enVerb  = []string{"sees", "paints", "finds", "buys", "forgets", "carries", "likes", "describes", "repairs", "sells"}
	enWhat  = []string{"the red ring", "a blue star", "the green square", "a broken box", "the yellow heart", "a pink diamond", "the café's \"special\"", "two black discs", "an orange ball", "the last train"}
	enWhere = []string{"on the beach", "in the kitchen", "near the station", "in a field", "at night", "by the sea", "on the table", "in 1984", "without a word", "in front of the school"}
)

// enText is a sentence.
func enText(r *rand.Rand) string {
	s := one(r, enWho) + " " + one(r, enVerb) + " " + one(r, enWhat)
	if r.IntN(3) > 0 {
		s += " " + one(r, enWhere)
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// enQuestion is a question.
func enQuestion(r *rand.Rand) string {
	return one(r, []string{"Who", "Why does anyone think that he", "When was it that she"}) + " " + one(r, enVerb) + " " + one(r, enWhat) + "?"
}

// enPassage is some sentences.
func enPassage(r *rand.Rand, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = enText(r)
	}
	return strings.Join(list, " ")
}

// A part of a corpus: its name, its rows, and whether they have labels.
type portion struct {
	name     string
	rows     int
	labelled bool
}

// portions are train, and two others of a fifth of its rows.
func portions(n int, validation string) []portion {
	few := max(n/5, 1)
	return []portion{{"train", n, true}, {validation, few, true}, {"test", few, false}}
}

// enRows is a file of rows under a head.
func enRows(name, head string, seed uint64, n int, row func(i int, r *rand.Rand) string) Document {
	return text(name, func(r *rand.Rand, b *strings.Builder) {
		b.WriteString(head)
		for i := range n {
			b.WriteString(row(i, r) + "\n")
		}
	}, seed)
}

// jsonOf is a row of JSON lines.
func jsonOf(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("sample: a row that is no JSON")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func tabbed(cells ...string) string { return strings.Join(cells, "\t") }

func glueFiles(n int, seed uint64) (Miniature, error) {
	var out written
	two := func(r *rand.Rand) (string, string) { return enText(r), enText(r) }
	number := func(i int) string { return fmt.Sprint(i) }
	// Tables whose columns are the row's number, two texts, and the label.
	pairs := func(folder, validation string, columns [3]string, labels []string, texts func(r *rand.Rand) (string, string)) {
		for _, p := range portions(n, validation) {
			head := tabbed("index", columns[0], columns[1])
			if p.labelled {
				head = tabbed(head, columns[2])
			}
			out = append(out, enRows(folder+"/"+p.name+".tsv", head+"\n", seed, p.rows, func(i int, r *rand.Rand) string {
				a, b := texts(r)
				if !p.labelled {
					return tabbed(number(i), a, b)
				}
				return tabbed(number(i), a, b, one(r, labels))
			}))
		}
	}
	entailment := []string{"entailment", "not_entailment"}
	pairs("RTE", "dev", [3]string{"sentence1", "sentence2", "label"}, entailment, two)
	pairs("WNLI", "dev", [3]string{"sentence1", "sentence2", "label"}, []string{"0", "1"}, two)
	pairs("QNLI", "dev", [3]string{"question", "sentence", "label"}, entailment, func(r *rand.Rand) (string, string) { return enQuestion(r), enText(r) })
	three := []string{"entailment", "neutral", "contradiction"}
	for _, p := range []portion{{"train", n, true}, {"dev_matched", max(n/5, 1), true}, {"dev_mismatched", max(n/5, 1), true}, {"test_matched", max(n/5, 1), false}, {"test_mismatched", max(n/5, 1), false}} {
		head := tabbed("index", "promptID", "pairID", "genre", "sentence1", "sentence2")
		if p.labelled {
			head = tabbed(head, "label1", "gold_label")
		}
		out = append(out, enRows("MNLI/"+p.name+".tsv", head+"\n", seed, p.rows, func(i int, r *rand.Rand) string {
			row := tabbed(number(i), number(9*i), number(9*i)+"n", "fiction", enText(r), enText(r))
			if p.labelled {
				label := one(r, three)
				row = tabbed(row, label, label)
			}
			return row
		}))
	}
	for _, p := range portions(n, "dev") {
		bare := func(folder, head string, unlabelled, labelled func(i int, r *rand.Rand) string) {
			row := labelled
			if !p.labelled {
				row = unlabelled
			} else if folder == "CoLA" {
				head = ""
			}
			out = append(out, enRows(folder+"/"+p.name+".tsv", head, seed, p.rows, row))
		}
		indexed := func(i int, r *rand.Rand) string { return tabbed(number(i), enText(r)) }
		bare("CoLA", "index\tsentence\n", indexed, func(_ int, r *rand.Rand) string {
			label := one(r, []string{"0\t*", "1\t"})
			return tabbed("gj04", label, enText(r))
		})
		sst := "index\tsentence\n"
		qqp := "id\tquestion1\tquestion2\n"
		stsb := "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"
		if p.labelled {
			sst, qqp, stsb = "sentence\tlabel\n", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n", stsb+"\tscore"
		}
		bare("SST-2", sst, indexed, func(_ int, r *rand.Rand) string {
			return strings.ToLower(enText(r)) + " \t" + one(r, []string{"0", "1"})
		})
		bare("QQP", qqp, func(i int, r *rand.Rand) string { return tabbed(number(i), enQuestion(r), enQuestion(r)) },
			func(i int, r *rand.Rand) string {
				return tabbed(number(7*i), number(14*i+1), number(14*i+2), enQuestion(r), enQuestion(r), one(r, []string{"0", "1"}))
			})
		similar := func(i int, r *rand.Rand) string {
			return tabbed(number(i), "main-captions", "MSRvid", "2012test", number(i), "none", "none", enText(r), enText(r))
		}
		bare("STS-B", stsb+"\n", similar, func(i int, r *rand.Rand) string {
			return tabbed(similar(i, r), one(r, []string{"0.000", "1.400", "2.5", "3.800", "5.000"}))
		})
	}
	const mrpcHead = "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
	mrpc := func(i int, r *rand.Rand) string {
		return tabbed(one(r, []string{"0", "1"}), number(10*i+1), number(10*i+2), enText(r), enText(r)) + "\r"
	}
	out = append(out, enRows("MRPC/msr_paraphrase_train.txt", mrpcHead, seed, n, mrpc), enRows("MRPC/msr_paraphrase_test.txt", mrpcHead, seed, max(n/5, 1), mrpc),
		enRows("MRPC/mrpc_dev_ids.tsv", "", seed, max(n/10, 1), func(i int, _ *rand.Rand) string { return tabbed(number(100*i+1), number(100*i+2)) }),
		enRows("AX/ax.tsv", "index\tsentence1\tsentence2\n", seed, n, func(i int, r *rand.Rand) string { return tabbed(number(i), enText(r), enText(r)) }))
	return out, nil
}

// An enObject is a JSON object; encoding/json writes its members sorted by name.
type enObject = map[string]any

func superglueFiles(n int, seed uint64) (Miniature, error) {
	var out written
	add := func(folder string, label func(r *rand.Rand) any, row func(i int, r *rand.Rand) enObject) {
		for _, p := range portions(n, "val") {
			out = append(out, enRows(folder+"/"+p.name+".jsonl", "", seed, p.rows, func(i int, r *rand.Rand) string {
				o := row(i, r)
				o["idx"] = i
				if p.labelled && label != nil {
					o["label"] = label(r)
				}
				return jsonOf(o)
			}))
		}
	}
	truth := func(r *rand.Rand) any { return r.IntN(2) == 0 }
	entailment := func(r *rand.Rand) any { return one(r, []string{"entailment", "not_entailment"}) }
	inference := func(_ int, r *rand.Rand) enObject { return enObject{"premise": enText(r), "hypothesis": enText(r)} }
	add("BoolQ", truth, func(_ int, r *rand.Rand) enObject {
		return enObject{"question": strings.ToLower(strings.TrimSuffix(enQuestion(r), "?")), "passage": enPassage(r, 4)}
	})
	add("CB", func(r *rand.Rand) any { return one(r, []string{"entailment", "contradiction", "neutral"}) }, inference)
	add("COPA", func(r *rand.Rand) any { return r.IntN(2) }, func(_ int, r *rand.Rand) enObject {
		return enObject{"premise": enText(r), "choice1": enText(r), "choice2": enText(r), "question": one(r, []string{"cause", "effect"})}
	})
	add("RTE", entailment, inference)
	add("WiC", truth, func(_ int, r *rand.Rand) enObject {
		word := one(r, []string{"ring", "train", "judge", "box"})
		return enObject{"word": word, "sentence1": "The " + word + " is here.", "sentence2": "A " + word + " is there.", "start1": 4, "end1": 4 + len(word), "start2": 2, "end2": 2 + len(word), "version": 1.1}
	})
	add("WSC", truth, func(_ int, r *rand.Rand) enObject {
		return enObject{"text": "Ann asked Mary because she knew the answer.", "target": enObject{"span1_index": 0, "span1_text": "Ann", "span2_index": 4, "span2_text": "she"}}
	})
	for _, p := range portions(n, "val") {
		answers := func(first int, r *rand.Rand) (list []enObject) {
			for k := range 2 + r.IntN(3) {
				a := enObject{"text": one(r, enWhat), "idx": first + k}
				if p.labelled {
					a["label"] = r.IntN(2)
				}
				list = append(list, a)
			}
			return list
		}
		out = append(out, enRows("MultiRC/"+p.name+".jsonl", "", seed, p.rows, func(i int, r *rand.Rand) string {
			var questions []enObject
			for k := range 1 + r.IntN(2) {
				questions = append(questions, enObject{"question": enQuestion(r), "idx": 2*i + k, "answers": answers(10*(2*i+k), r)})
			}
			return jsonOf(enObject{"idx": i, "version": 1.1, "passage": enObject{"text": enPassage(r, 3), "questions": questions}})
		}), enRows("ReCoRD/"+p.name+".jsonl", "", seed, p.rows, func(i int, r *rand.Rand) string {
			name, other := one(r, []string{"Zoë", "Ann", "Tom"}), one(r, []string{"Paris", "Rome"})
			query := enObject{"query": "@placeholder was in the news.", "idx": i}
			letters := len([]rune(name))
			if p.labelled {
				query["answers"] = []enObject{{"start": 0, "end": letters - 1, "text": name}}
			}
			text := name + " went to " + other + ". " + enText(r) + "\n@highlight\n" + enText(r)
			place := letters + len(" went to ")
			return jsonOf(enObject{"idx": i, "source": "made up", "qas": []enObject{query}, "passage": enObject{
				"text": text, "entities": []enObject{{"start": place, "end": place + len(other) - 1}, {"start": 0, "end": letters - 1}},
			}})
		}))
	}
	out = append(out, enRows("AX-b/AX-b.jsonl", "", seed, n, func(i int, r *rand.Rand) string {
		return jsonOf(enObject{"idx": fmt.Sprint(i), "label": entailment(r), "sentence1": enText(r), "sentence2": enText(r), "logic": "Negation"})
	}), enRows("AX-g/AX-g.jsonl", "", seed, n, func(i int, r *rand.Rand) string {
		return jsonOf(enObject{"idx": i, "label": entailment(r), "premise": enText(r), "hypothesis": enText(r), "pair_id": 100 + i})
	}))
	return out, nil
}

func boolqFiles(n int, seed uint64) (Miniature, error) {
	row := func(_ int, r *rand.Rand) string {
		return jsonOf(enObject{"question": strings.ToLower(enQuestion(r)), "title": "Made up", "answer": r.IntN(2) == 0, "passage": enPassage(r, 4)})
	}
	return written{enRows("train.jsonl", "", seed, n, row), enRows("dev.jsonl", "", seed, max(n/5, 1), row)}, nil
}

func imdbFiles(n int, seed uint64) (Miniature, error) {
	var out written
	for _, split := range []string{"train", "test"} {
		for _, class := range []string{"pos", "neg"} {
			for i := range max(n/2, 1) {
				rating := 1 + i%4
				opinion := "I did not like it."
				if class == "pos" {
					rating, opinion = 7+i%4, "I liked it."
				}
				name := fmt.Sprintf("aclImdb/%s/%s/%d_%d.txt", split, class, i, rating)
				out = append(out, text(name, func(r *rand.Rand, b *strings.Builder) {
					b.WriteString(enPassage(r, 3) + "<br /><br />" + opinion)
				}, seed))
			}
		}
	}
	return out, nil
}

func trecFiles(n int, seed uint64) (Miniature, error) {
	row := func(_ int, r *rand.Rand) string {
		q := strings.TrimSuffix(enQuestion(r), "?") + " ?"
		q = strings.ReplaceAll(q, "é", "\xe9") // the files are Latin-1
		return one(r, []string{"DESC:manner", "ENTY:animal", "ABBR:exp", "HUM:ind", "NUM:date", "LOC:city"}) + " " + q
	}
	return written{enRows("train_5500.label", "", seed, n, row), enRows("TREC_10.label", "", seed, max(n/5, 1), row)}, nil
}

func sstFiles(n int, seed uint64) (Miniature, error) {
	var out written
	few := max(n/5, 1)
	classes := map[string]int{"binary": 2, "fine": 5}
	for _, kind := range []string{"binary", "fine"} {
		row := func(_ int, r *rand.Rand) string {
			return fmt.Sprint(r.IntN(classes[kind]), " ", strings.ToLower(enText(r)))
		}
		out = append(out, enRows("stsa."+kind+".train", "", seed, n, row), enRows("stsa."+kind+".dev", "", seed, few, row), enRows("stsa."+kind+".test", "", seed, few, row))
	}
	row := func(_ int, r *rand.Rand) string { return fmt.Sprint(r.IntN(6), " ", enQuestion(r)) }
	return append(out, enRows("TREC.train.all", "", seed, n, row), enRows("TREC.test.all", "", seed, few, row)), nil
}

func pawsFiles(n int, seed uint64) (Miniature, error) {
	var out written
	for _, p := range portions(n, "dev") {
		out = append(out, enRows("final/"+p.name+".tsv", "id\tsentence1\tsentence2\tlabel\n", seed, p.rows, func(i int, r *rand.Rand) string {
			words := strings.Fields(enText(r))
			a := strings.Join(words, " ")
			slices.Reverse(words)
			return tabbed(fmt.Sprint(i+1), a, strings.Join(words, " "), one(r, []string{"0", "1"}))
		}))
	}
	return out, nil
}

func quoraFiles(n int, seed uint64) (Miniature, error) {
	return written{enRows("quora_paraphrase.tsv", "", seed, n, func(i int, r *rand.Rand) string {
		return tabbed(one(r, []string{"0", "1"}), enQuestion(r), enQuestion(r), fmt.Sprint(50000+i))
	})}, nil
}

func snliFiles(n int, seed uint64) (Miniature, error) {
	var out written
	for _, p := range portions(n, "dev") {
		out = append(out, enRows("snli_1.0_"+p.name+".jsonl", "", seed, p.rows, func(i int, r *rand.Rand) string {
			gold := one(r, []string{"entailment", "neutral", "contradiction", "entailment", "neutral", "contradiction", "-"})
			labels := []string{gold}
			if gold == "-" {
				labels = []string{"neutral", "entailment"}
			}
			caption := fmt.Sprintf("%d.jpg#%d", 1000+i/3, i%5)
			return jsonOf(enObject{"annotator_labels": labels, "captionID": caption, "gold_label": gold, "pairID": fmt.Sprintf("%sr%d", caption, i), "sentence1": enText(r), "sentence2": enText(r)})
		}))
	}
	return out, nil
}

func squadFiles(n int, seed uint64) (Miniature, error) {
	var out written
	for _, version := range []string{"v1.1", "v2.0"} {
		for _, p := range portions(n, "dev")[:2] {
			name := p.name + "-" + version + ".json"
			out = append(out, Document{name, func(w io.Writer) error {
				r := stream(seed, name)
				var articles []enObject
				for i := 0; i < p.rows; {
					var paragraphs []enObject
					for range 2 {
						context := enPassage(r, 3)
						var questions []enObject
						for k := range 3 {
							if i == p.rows {
								break
							}
							words := strings.Fields(context)
							answer := words[r.IntN(len(words))]
							q := enObject{"id": fmt.Sprintf("%s%06d", p.name, i), "question": enQuestion(r)}
							at := len([]rune(context[:strings.Index(context, answer)]))
							q["answers"] = []enObject{{"text": answer, "answer_start": at}}
							if version == "v2.0" {
								if q["is_impossible"] = k == 2; k == 2 {
									q["answers"], q["plausible_answers"] = []enObject{}, q["answers"]
								}
							}
							questions = append(questions, q)
							i++
						}
						if len(questions) > 0 {
							paragraphs = append(paragraphs, enObject{"context": context, "qas": questions})
						}
					}
					articles = append(articles, enObject{"title": fmt.Sprintf("Article_%d", len(articles)), "paragraphs": paragraphs})
				}
				_, err := io.WriteString(w, jsonOf(enObject{"version": strings.TrimPrefix(version, "v"), "data": articles}))
				return err
			}})
		}
	}
	return out, nil
}

func commonGenFiles(n int, seed uint64) (Miniature, error) {
	concepts := []string{"field", "look", "stand", "dog", "run", "mountain", "ski", "drill", "team"}
	row := func(references bool) func(int, *rand.Rand) string {
		return func(_ int, r *rand.Rand) string {
			i := r.IntN(len(concepts) - 3)
			o := enObject{"concept_set": strings.Join(concepts[i:i+3], "#")}
			if references {
				o["scene"] = []string{enText(r), enText(r)}
			}
			return jsonOf(o)
		}
	}
	few := max(n/5, 1)
	return written{enRows("commongen.train.jsonl", "", seed, n, row(true)), enRows("commongen.dev.jsonl", "", seed, few, row(true)), enRows("commongen.test_noref.jsonl", "", seed, few, row(false))}, nil
}
