package preprocess

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/alpaca"
	"espalier/preprocess/corpus/coco"
	"espalier/preprocess/corpus/gqa"
	"espalier/preprocess/corpus/nlvr"
	"espalier/preprocess/corpus/scienceqa"
	"espalier/preprocess/corpus/snlive"
	"espalier/preprocess/corpus/vgqa"
	"espalier/preprocess/corpus/vqa"
)

// visionReaders read what is asked and said of images, and instructions.
var visionReaders = []*reader{
	of("coco/results", `^captions_.*_results\.json$`, coco.Results("coco")),
	of("pascal50s/results", `^pascal_cands[A-Z]\.json$`, coco.Results("pascal50s")),
	of("spice", `^.*input.*\.json$`, coco.Spice),
	questions("vqav2", `^(v2_OpenEnded_mscoco_[a-z0-9-]+_)?questions\.json$`, "answer"),
	of("vqav2/results", `^.*OpenEnded_mscoco_.*results\.json$`, vqa.Results),
	questions("okvqa", `^OpenEnded_mscoco_(train|val)2014_questions\.json$`, "raw_answer"),
	questions("okvqa/stemmed", `^OpenEnded_mscoco_(train|val)2014_questions\.json$`, "answer"),
	rather(`_balanced_`, of("gqa", `^((train|val|testdev|test|challenge|submission)_(balanced|all)_)?questions(_?\d+)?\.json$`, gqa.Format)),
	of("vgqa", `^question_answers\.json$`, vgqa.Format),
	rather(`^(train|dev|test1|test2|test)\.json$`, of("nlvr2", `^((balanced|unbalanced)_)?(train|dev|test1|test2|test)\.json$`, nlvr.Format)),
	of("snli-ve", `^snli_ve_(train|dev|test)\.jsonl$`, snlive.Format),
	of("e-snli-ve", `^(esnlive|e-snli-ve|gt_labels).*\.csv$`, snlive.Explained),
	selecting(of("scienceqa", `^problems\.json$`, scienceqa.Format)),
	of("alpaca", `^alpaca(_data)?(_cleaned)?\.json$`, alpaca.Format("alpaca")),
	of("alpaca/en", `^alpaca_en(_demo)?\.json$`, alpaca.Format("alpaca-en")),
	of("alpaca/zh", `^alpaca_zh(_demo)?\.json$`, alpaca.Format("alpaca-zh")),
	of("alpaca/seed", `^seed_tasks\.jsonl$`, alpaca.Seeds),
	of("dolly", `^(databricks-dolly-15k\.jsonl|dolly\.json)$`, alpaca.Dolly),
}

// questions makes the reader of questions, to which annotations are joined if
// there are any.
func questions(name, files, answer string) *reader {
	with, without := of(name, files, vqa.Annotated(name0(name), answer)), of(name, files, vqa.Questions(name0(name)))
	r := pick(name, files, func(src *corpus.Source) (*reader, error) {
		if len(src.Joined) > 0 {
			return with, nil
		}
		return without, nil
	})
	r.joins = func(name string) [][]string { return [][]string{vqa.AnnotationNames(name)} }
	return r
}
