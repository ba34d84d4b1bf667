package sample

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// visionMakers are corpora of questions and statements about images.
var visionMakers = []maker{
	{"vqav2", 240, scenes(nil, vqaDocuments("v2_OpenEnded_mscoco_", "v2_mscoco_", false))},
	{"okvqa", 240, scenes(nil, vqaDocuments("OpenEnded_mscoco_", "mscoco_", true))},
	{"gqa", 240, scenes(func(c *COCO, i int) string { return fmt.Sprintf("images/%d.jpg", c.entries[i].id) }, gqaDocuments)},
	{"vgqa", 240, scenes(func(c *COCO, i int) string { return fmt.Sprintf("VG_100K/%d.jpg", c.entries[i].id) }, vgqaDocuments)},
	{"nlvr2", 240, scenes(nlvrName, nlvrDocuments)},
	{"snli-ve", 240, scenes(func(c *COCO, i int) string { return fmt.Sprintf("flickr30k-images/%d.jpg", flickrID(c, i)) }, snliveDocuments)},
	{"scienceqa", 120, scenes(func(c *COCO, i int) string { return fmt.Sprintf("%s/%d/image.png", c.third(i), 2*i+1) }, scienceDocuments)},
}

// scenes makes miniatures of scenes; a nil name is COCO's.
func scenes(name func(c *COCO, i int) string, docs func(c *COCO) []Document) func(n int, seed uint64) (Miniature, error) {
	if name == nil {
		name = (*COCO).Name
	}
	return func(n int, seed uint64) (Miniature, error) {
		c, err := New(n, seed)
		if err != nil {
			return nil, err
		}
		return &pictured{c, name, docs}, nil
	}
}

// third is the split of image i among three.
func (c *COCO) third(i int) string {
	if s := c.entries[i].split; s != "restval" {
		return s
	}
	return "train"
}

// doc is a file of JSON.
func doc(name string, v func() any) Document {
	return Document{name, func(w io.Writer) error { return json.NewEncoder(w).Encode(v()) }}
}

// lineDoc is a file of JSON lines.
func lineDoc(name string, lines func(put func(v any))) Document {
	return Document{name, func(w io.Writer) (err error) {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		lines(func(v any) {
			if err == nil {
				err = e.Encode(v)
			}
		})
		return err
	}}
}

// Purposes of random numbers beside COCO's own.
const forQuestions = 100

// A member is a name and a value of a JSON object whose order is kept.
type member struct {
	name  string
	value any
}

type ordered []member

// MarshalJSON writes the members in their order.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b []byte
	for i, m := range o {
		b = append(b, "{,"[min(i, 1)])
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	if len(o) == 0 {
		b = append(b, '{')
	}
	return append(b, '}'), nil
}

// questionsPerImage is the number of questions asked of an image.
const questionsPerImage = 3

// vqaDocuments are questions and, in another order, annotations.
func vqaDocuments(questions, annotations string, raw bool) func(c *COCO) []Document {
	return func(c *COCO) (docs []Document) {
		for _, folder := range []string{"train2014", "val2014"} {
			head := ordered{{"info", ordered{{"description", "a miniature"}, {"version", "2.0"}, {"year", 2024}}}, {"task_type", "Open-Ended"}, {"data_type", "mscoco"}, {"data_subtype", folder}}
			docs = append(docs,
				doc(questions+folder+"_questions.json", func() any {
					var list []ordered
					c.eachQuestion(folder, func(i, id int, q question) {
						list = append(list, ordered{{"image_id", c.entries[i].id}, {"question", q.text}, {"question_id", id}})
					})
					return append(slices.Clone(head), member{"questions", list})
				}),
				doc(annotations+folder+"_annotations.json", func() any {
					var list []ordered
					c.eachQuestion(folder, func(i, id int, q question) { list = append(list, c.annotation(i, id, q, raw)) })
					r := stream(c.seed, folder)
					r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
					return append(slices.Clone(head), member{"annotations", list})
				}))
		}
		return docs
	}
}

func (c *COCO) eachQuestion(folder string, do func(i, id int, q question)) {
	for i := range c.entries {
		if c.folder(i) != folder {
			continue
		}
		for k, q := range ask(c.random(i, forQuestions), c.scene(i), questionsPerImage) {
			do(i, c.entries[i].id*1000+k, q)
		}
	}
}

func (c *COCO) annotation(i, id int, q question, raw bool) ordered {
	list, sure := answers(c.random(i, forQuestions+1+uint64(id%1000)), q)
	var all []ordered
	for k, a := range list {
		x := ordered{{"answer", a}, {"answer_confidence", sure[k]}, {"answer_id", k + 1}}
		if raw {
			x = ordered{{"answer_id", k + 1}, {"raw_answer", a}, {"answer_confidence", sure[k]}, {"answer", strings.TrimSuffix(a, "e")}}
		}
		all = append(all, x)
	}
	x := ordered{{"question_type", q.begins}, {"answers", all}, {"image_id", c.entries[i].id}, {"answer_type", q.kind}, {"question_id", id}}
	if !raw {
		x = append(x, member{"multiple_choice_answer", q.answer})
	}
	return x
}

func gqaDocuments(c *COCO) (docs []Document) {
	for _, s := range []struct{ file, split string }{{"train", "train"}, {"val", "val"}, {"testdev", "test"}} {
		docs = append(docs, doc(s.file+"_balanced_questions.json", func() any {
			var out ordered
			for i := range c.entries {
				if c.third(i) != s.split {
					continue
				}
				for k, q := range ask(c.random(i, forQuestions), c.scene(i), questionsPerImage) {
					full := "It is " + q.answer + "."
					out = append(out, member{fmt.Sprintf("%08d", c.entries[i].id*10+k), ordered{
						{"imageId", fmt.Sprint(c.entries[i].id)},
						{"question", q.text},
						{"answer", q.answer},
						{"fullAnswer", full},
						{"isBalanced", true},
						{"types", ordered{{"structural", q.structural}, {"semantic", "attr"}}},
						{"groups", ordered{{"global", nil}}},
						{"entailed", []string{}},
					}})
				}
			}
			return out
		}))
	}
	return docs
}

func vgqaDocuments(c *COCO) []Document {
	return []Document{
		doc("question_answers.json", func() any {
			var out []ordered
			for i := range c.entries {
				id := c.entries[i].id
				var qas []ordered
				for k, q := range ask(c.random(i, forQuestions), c.scene(i), questionsPerImage) {
					answer := strings.ToUpper(q.answer[:1]) + q.answer[1:] + "."
					qas = append(qas, ordered{{"a_objects", []string{}}, {"question", q.text}, {"image_id", id}, {"qa_id", id*100 + k}, {"answer", answer}, {"q_objects", []string{}}})
				}
				out = append(out, ordered{{"id", id}, {"qas", qas}})
			}
			return out
		}),
		doc("image_data.json", func() any {
			var out []ordered
			for i := range c.entries {
				s := c.scene(i)
				out = append(out, ordered{{"image_id", c.entries[i].id}, {"width", s.w}, {"height", s.h}, {"coco_id", nil}, {"flickr_id", nil}})
			}
			return out
		}),
	}
}

// nlvrSplit is the split of a pair of images: of ten pairs eight are train.
func nlvrSplit(_ *COCO, i int) string {
	switch i / 2 % 10 {
	case 3:
		return "dev"
	case 7:
		return "test1"
	}
	return "train"
}

func nlvrName(c *COCO, i int) string {
	return fmt.Sprintf("%s/%s-%d-0-img%d.png", nlvrSplit(c, i), nlvrSplit(c, i), i/2, i%2)
}

func nlvrDocuments(c *COCO) (docs []Document) {
	for _, split := range []string{"train", "dev", "test1"} {
		docs = append(docs, lineDoc(split+".json", func(put func(any)) {
			for i := 0; i+1 < len(c.entries); i += 2 {
				if nlvrSplit(c, i) != split {
					continue
				}
				r := c.random(i, forQuestions)
				left, right := c.scene(i), c.scene(i+1)
				shape := r.IntN(shapes)
				if r.IntN(3) > 0 {
					shape = one(r, left.objects).shape
				}
				has := func(s *scene) bool {
					return slices.ContainsFunc(s.objects, func(o object) bool { return o.shape == shape })
				}
				sentence, truth := fmt.Sprintf("The left image shows a %s.", shapeNames[shape]), has(left)
				switch r.IntN(3) {
				case 0:
					sentence, truth = fmt.Sprintf("Both images show a %s.", shapeNames[shape]), has(left) && has(right)
				case 1:
					sentence, truth = fmt.Sprintf("There is a %s in one of the images.", shapeNames[shape]), has(left) || has(right)
				}
				label := "False"
				if truth {
					label = "True"
				}
				put(ordered{{"validation", ordered{{"7", label}}}, {"sentence", sentence}, {"label", label}, {"synset", shapeNames[shape]}, {"identifier", fmt.Sprintf("%s-%d-0-0", split, i/2)}})
			}
		}))
	}
	return docs
}

func flickrID(c *COCO, i int) int { return 1_000_000 + 37*c.entries[i].id }

var entailment = []string{"entailment", "neutral", "contradiction"}

func snliveDocuments(c *COCO) (docs []Document) {
	each := func(split string, put func(id, caption, hypothesis, label string, k int)) {
		for i := range c.entries {
			if c.third(i) != split {
				continue
			}
			r, s := c.random(i, forQuestions), c.scene(i)
			caption := c.captions(i, s)[0].raw
			for k := range entailment {
				put(fmt.Sprintf("%d.jpg", flickrID(c, i)), caption, says(r, s, entailment[k]), entailment[k], k)
			}
		}
	}
	for _, x := range []struct{ file, split string }{{"train", "train"}, {"dev", "val"}, {"test", "test"}} {
		docs = append(docs, lineDoc("snli_ve_"+x.file+".jsonl", func(put func(any)) {
			each(x.split, func(id, caption, hypothesis, label string, k int) {
				put(ordered{
					{"Flickr30K_ID", strings.TrimSuffix(id, ".jpg")},
					{"annotator_labels", []string{label}},
					{"captionID", id + "#0"},
					{"gold_label", label},
					{"pairID", fmt.Sprintf("%s#0r1%s", id, label[:1])},
					{"sentence1", caption},
					{"sentence2", hypothesis},
				})
			})
		}))
	}
	return append(docs, Document{"gt_labels.csv", func(w io.Writer) error {
		var b strings.Builder
		b.WriteString("pairID,image_link,sentence2,label\n")
		each("test", func(id, _, hypothesis, label string, _ int) {
			fmt.Fprintf(&b, "%s#0r1%s,images/%s,%s,%s\n", id, label[:1], id, hypothesis, label)
		})
		_, err := io.WriteString(w, b.String())
		return err
	}})
}

// scienceDocuments ask of each image, and as often of none.
func scienceDocuments(c *COCO) []Document {
	return []Document{
		doc("problems.json", func() any {
			var out ordered
			for i := range c.entries {
				r := c.random(i, forQuestions)
				o := one(r, c.scene(i).objects)
				choices := []string{shapeNames[o.shape], shapeNames[(o.shape+1+r.IntN(3))%shapes], shapeNames[(o.shape+4+r.IntN(3))%shapes]}
				answer := r.IntN(3)
				choices[0], choices[answer] = choices[answer], choices[0]
				out = append(out, member{fmt.Sprint(2*i + 1), problem(c.third(i), "Which shape is in the picture?", choices, answer, "Look at the picture.", "image.png", "natural science", "The picture shows a "+choices[answer]+".")})
				a, b := 2+r.IntN(40), 2+r.IntN(40)
				sums := []string{fmt.Sprint(a + b), fmt.Sprint(a + b + 1)}
				right := r.IntN(2)
				sums[0], sums[right] = sums[right], sums[0]
				out = append(out, member{fmt.Sprint(2*i + 2), problem(c.third(i), fmt.Sprintf("How much is %d and %d?", a, b), sums, right, "", nil, "language science", "")})
			}
			return out
		}),
		doc("pid_splits.json", func() any {
			var out ordered
			for _, split := range []string{"train", "val", "test"} {
				var ids []string
				for i := range c.entries {
					if c.third(i) == split {
						ids = append(ids, fmt.Sprint(2*i+1), fmt.Sprint(2*i+2))
					}
				}
				out = append(out, member{split, ids})
			}
			return out
		}),
	}
}

func problem(split, question string, choices []string, answer int, hint string, image any, subject, solution string) ordered {
	lecture := ""
	if solution != "" {
		lecture = "A shape is known by its outline.\nCount its corners."
	}
	return ordered{
		{"question", question},
		{"choices", choices},
		{"answer", answer},
		{"hint", hint},
		{"image", image},
		{"task", "closed choice"},
		{"grade", "grade2"},
		{"subject", subject},
		{"topic", "basics"},
		{"category", "shapes and numbers"},
		{"skill", "Look and count"},
		{"lecture", lecture},
		{"solution", solution},
		{"split", split},
	}
}
