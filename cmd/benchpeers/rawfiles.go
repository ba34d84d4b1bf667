package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Rows of the generated raw files.
const (
	qqpRows   = 400_000
	cocoRows  = 120_000
	vqaRows   = 400_000
	adgenRows = 400_000
)

// A raw is a file that is being generated.
type raw struct {
	*bufio.Writer
	f *os.File
}

func createRaw(dir, name string) (raw, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return raw{}, err
	}
	f, err := os.Create(path)
	return raw{bufio.NewWriterSize(f, 1<<20), f}, err
}

func (r raw) close() error {
	err := r.Flush()
	if e := r.f.Close(); err == nil {
		err = e
	}
	return err
}

// oddWords are what raw questions have and readers stumble on.
var oddWords = []string{`"quoted"`, "what's", "café", "C++", "中文", "x=1,000", "\u2028", `"`}

// makeQQP writes QQP/train.tsv, in which a row now and then ends early.
func makeQQP(dir string) error {
	w, err := createRaw(dir, "QQP/train.tsv")
	if err != nil {
		return err
	}
	l := newLexicon(22, 20000)
	w.WriteString("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n")
	for i := range qqpRows {
		first := l.sentence(4, 18)
		if i%9 == 0 {
			first = strings.Replace(first, " ", " "+oddWords[l.r.IntN(len(oddWords))]+" ", 1)
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%s?", i, 2*i+1, 2*i+2, capital(first))
		if i%130_000 != 77_777 {
			duplicate := 0
			if l.r.Float64() < 0.37 {
				duplicate = 1
			}
			fmt.Fprintf(w, "\t%s?\t%d", capital(l.sentence(4, 18)), duplicate)
		}
		w.WriteByte('\n')
	}
	return w.close()
}

// makeCOCO writes dataset_coco.json, Karpathy's layout, with five captions an
// image.
func makeCOCO(dir string) error {
	w, err := createRaw(dir, "dataset_coco.json")
	if err != nil {
		return err
	}
	l := newLexicon(23, 20000)
	splits := []string{"train", "train", "train", "train", "restval", "val", "test"}
	w.WriteString(`{"images": [`)
	id := 0
	for i := range cocoRows {
		split := splits[i%len(splits)]
		folder := "val2014"
		if split == "train" {
			folder = "train2014"
		}
		if i > 0 {
			w.WriteString(", ")
		}
		fmt.Fprintf(w, `{"filepath": "%s", "sentids": [%d, %d, %d, %d, %d], "filename": "COCO_%s_%012d.jpg", "imgid": %d, "split": "%s", "sentences": [`,
			folder, id, id+1, id+2, id+3, id+4, folder, 9+4*i, i, split)
		for k := range 5 {
			text := l.sentence(7, 14)
			end := "."
			if id%3 > 0 {
				end = ". "
			}
			if k > 0 {
				w.WriteString(", ")
			}
			fmt.Fprintf(w, `{"tokens": ["%s"], "raw": "%s%s", "imgid": %d, "sentid": %d}`, strings.ReplaceAll(text, " ", `", "`), capital(text), end, i, id)
			id++
		}
		fmt.Fprintf(w, `], "cocoid": %d}`, 9+4*i)
	}
	w.WriteString(`], "dataset": "coco"}`)
	return w.close()
}

const vqaHead = `"info": {"description": "This is v2.0 of the VQA dataset.", "version": "2.0", "year": 2017}, "license": {"url": "x", "name": "CC BY 4.0"}, ` +
	`"data_subtype": "train2014", "data_type": "mscoco"`

// makeVQA writes questions and annotations, ten answers a question.
func makeVQA(dir string) error {
	q, err := createRaw(dir, "v2_OpenEnded_mscoco_train2014_questions.json")
	if err != nil {
		return err
	}
	a, err := createRaw(dir, "v2_mscoco_train2014_annotations.json")
	if err != nil {
		return err
	}
	l := newLexicon(24, 20000)
	fmt.Fprintf(q, `{%s, "task_type": "Open-Ended", "questions": [`, vqaHead)
	fmt.Fprintf(a, `{%s, "annotations": [`, vqaHead)
	weights := []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4}
	for i := range vqaRows {
		image := 9 + 4*(i/3)
		id := image*1000 + i%3
		if i > 0 {
			q.WriteString(", ")
			a.WriteString(", ")
		}
		fmt.Fprintf(q, `{"image_id": %d, "question": "%s?", "question_id": %d}`, image, capital(l.sentence(4, 9)), id)
		choices := []string{"yes", "no", l.word(), "2", l.sentence(1, 3)}
		count := map[string]int{}
		var answers []string
		most := ""
		for range 10 {
			x := choices[weights[l.r.IntN(len(weights))]]
			answers = append(answers, x)
			if count[x]++; count[x] > count[most] {
				most = x
			}
		}
		fmt.Fprintf(a, `{"question_type": "what", "multiple_choice_answer": "%s", "answers": [`, most)
		for k, x := range answers {
			if k > 0 {
				a.WriteString(", ")
			}
			sure := "yes"
			if k%4 == 0 {
				sure = "maybe"
			}
			fmt.Fprintf(a, `{"answer": "%s", "answer_confidence": "%s", "answer_id": %d}`, x, sure, k+1)
		}
		fmt.Fprintf(a, `], "image_id": %d, "answer_type": "other", "question_id": %d}`, image, id)
	}
	q.WriteString("]}")
	a.WriteString("]}")
	err = q.close()
	if e := a.close(); err == nil {
		err = e
	}
	return err
}

// makeADGEN writes adgen/train.json, JSON lines of Chinese text.
func makeADGEN(dir string) error {
	w, err := createRaw(dir, "adgen/train.json")
	if err != nil {
		return err
	}
	l := newLexicon(25, 3000)
	for range adgenRows {
		w.WriteString(`{"content": "`)
		for k := range 4 + l.r.IntN(6) {
			if k > 0 {
				w.WriteByte('*')
			}
			w.WriteString(l.han(2, 3) + "#" + l.han(1, 4))
		}
		w.WriteString(`", "summary": "`)
		for k := range 5 + l.r.IntN(5) {
			if k > 0 {
				w.WriteString("，")
			}
			w.WriteString(l.han(4, 18))
		}
		w.WriteString("。\"}\n")
	}
	return w.close()
}
