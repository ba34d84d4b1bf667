package sample

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// otherMakers are corpora that are near others: captions under Flickr's names,
// what systems hand in, and other layouts of the same rows.
var otherMakers = []maker{
	{"flickr8k", 100, scenes(func(c *COCO, i int) string { return "Flicker8k_Dataset/" + flickrFile(c, i) }, flickrDocuments("Flickr8k.token.txt", true))},
	{"flickr30k", 100, scenes(func(c *COCO, i int) string { return "flickr30k-images/" + flickrFile(c, i) }, flickrDocuments("results_20130124.token", false))},
	{"coco/results", 100, handedIn("captions_val2014_model_results.json", "caption")},
	{"pascal50s/results", 100, handedIn("pascal_candsA.json", "caption")},
	{"spice", 100, handedIn("spice_input.json", "test")},
	{"vqav2/results", 100, handedIn("v2_OpenEnded_mscoco_val2014_model_results.json", "answer")},
	{"mucgec", 100, muCGECFiles},
	{"alpaca/en", 200, renamed(alpacaFiles, "alpaca_data.json", "alpaca_en.json")},
	{"alpaca/zh", 200, renamed(alpacaFiles, "alpaca_data.json", "alpaca_zh.json")},
	{"m2/errant", 100, renamed(m2Files, "corpus.m2", "dev.m2")},
	{"m2/m2scorer", 100, renamed(m2Files, "corpus.m2", "source_gold")},
	{"m2/jfleg", 100, renamed(m2Files, "corpus.m2", "test.m2")},
	{"m2/cherrant", 100, renamed(m2Files, "corpus.m2", "dev.m2.char")},
	{"gec/jfleg", 100, renamed(m2Files, "dev.src", "dev.src", "dev.ref0", "dev.ref0", "dev.ref1", "dev.ref1")},
}

// renamed keeps some files of another miniature, given by old and new names.
func renamed(of func(n int, seed uint64) (Miniature, error), names ...string) func(n int, seed uint64) (Miniature, error) {
	return func(n int, seed uint64) (Miniature, error) {
		m, err := of(n, seed)
		if err != nil {
			return nil, err
		}
		var docs written
		for i := 0; i+1 < len(names); i += 2 {
			at := slices.IndexFunc(m.Documents(), func(d Document) bool { return d.Name == names[i] })
			if at < 0 {
				return nil, fmt.Errorf("sample: no file %s", names[i])
			}
			docs = append(docs, Document{names[i+1], m.Documents()[at].Write})
		}
		return docs, nil
	}
}

// flickrFile is the name that Flickr gave an image.
func flickrFile(c *COCO, i int) string {
	return fmt.Sprintf("%d_%010x.jpg", flickrID(c, i), c.random(i, forQuestions).Uint64()>>24)
}

// flickrDocuments are a token file and, of Flickr8k, the lists of the splits.
func flickrDocuments(name string, splits bool) func(c *COCO) []Document {
	return func(c *COCO) []Document {
		docs := []Document{{name, func(w io.Writer) error {
			for i := range c.entries {
				for k, text := range c.captions(i, c.scene(i)) {
					if _, err := fmt.Fprintf(w, "%s#%d\t%s\n", flickrFile(c, i), k, text.raw); err != nil {
						return err
					}
				}
			}
			return nil
		}}}
		if !splits {
			return docs
		}
		for _, s := range [][2]string{{"train", "train"}, {"dev", "val"}, {"test", "test"}} {
			docs = append(docs, Document{"Flickr_8k." + s[0] + "Images.txt", func(w io.Writer) error {
				for i := range c.entries {
					if c.third(i) != s[1] {
						continue
					}
					if _, err := fmt.Fprintln(w, flickrFile(c, i)); err != nil {
						return err
					}
				}
				return nil
			}})
		}
		return docs
	}
}

// handedIn makes a file of what a system says of images, or answers.
func handedIn(name, member string) func(n int, seed uint64) (Miniature, error) {
	return func(n int, seed uint64) (Miniature, error) {
		c, err := New(max(n, 20), seed)
		if err != nil {
			return nil, err
		}
		return written{doc(name, func() any {
			var list []ordered
			for i := range c.entries {
				said := c.captions(i, c.scene(i))
				id := c.entries[i].id
				switch member {
				case "answer":
					for k, q := range ask(c.random(i, forQuestions), c.scene(i), questionsPerImage) {
						given, _ := answers(c.random(i, forQuestions+1+uint64(k)), q)
						list = append(list, ordered{{"question_id", id*1000 + k}, {"answer", given[0]}})
					}
				case "test":
					var refs []string
					for _, r := range said[1:] {
						refs = append(refs, r.raw)
					}
					list = append(list, ordered{{"image_id", id}, {"test", said[0].raw}, {"refs", refs}})
				default:
					list = append(list, ordered{{"image_id", id}, {"caption", said[0].raw}})
				}
			}
			return list
		})}, nil
	}
}

// muCGECFiles are sentences with any number of corrections, none included.
func muCGECFiles(n int, seed uint64) (Miniature, error) {
	return rowsOf(n, seed, []string{"MuCGEC_dev.txt"}, func(b *strings.Builder, r *rand.Rand, rows int, _ string) {
		for i := range rows {
			words := append(zhWords(r), "\u3002")
			bad, _ := spoiled(r, words)
			fmt.Fprintf(b, "%d\t%s", i+1, strings.Join(bad, ""))
			for k := range r.IntN(4) {
				fmt.Fprintf(b, "\t%s%s", strings.Join(words[:len(words)-1], ""), []string{"\u3002", "\uff01", "\uff1f"}[k])
			}
			b.WriteString("\n")
		}
	})
}
