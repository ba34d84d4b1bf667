package preprocess

import (
	"path"
	"strings"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/adgen"
	"espalier/preprocess/corpus/gec"
	"espalier/preprocess/corpus/kdconv"
	"espalier/preprocess/corpus/lcsts"
	"espalier/preprocess/corpus/lot"
	"espalier/preprocess/corpus/matinf"
	"espalier/preprocess/corpus/paraphrase"
	"espalier/preprocess/corpus/zhihu"
	"espalier/preprocess/corpus/zhtext"
)

// chineseReaders read the sets of SkillNet-NLG and their neighbours, and corpora
// of grammatical error correction.
var chineseReaders = []*reader{
	of("adgen", `^(train|dev|test)\.jsonl?$`, adgen.Format),
	within(1, of("kdconv", `^(train|dev|test)\.json$`, kdconv.Format)),
	lcstsReader(),
	of("csl", `^(train|dev|test|csl)(\.[a-z_]+)?\.jsonl?$`, lcsts.Articles("csl")),
	of("matinf", `^(train|dev|test)\.csv$`, matinf.Format),
	nlpccReader(),
	of("nlpcc2018/train", `^data\.train$`, gec.Train),
	of("m2", `^.*(\.m2(\.char|\.word)?|gold\.\d+|source_gold)$`, gec.M2("m2")),
	of("m2/errant", `^.*\.m2$`, gec.M2("errant")),
	of("m2/m2scorer", `^source_gold$`, gec.M2("m2scorer")),
	of("m2/jfleg", `^.*\.m2$`, gec.M2("jfleg")),
	of("m2/cherrant", `^.*\.m2\.(char|word)$`, gec.M2("cherrant")),
	of("mucgec", `^MuCGEC_(dev|test|train).*\.txt$`, gec.MuCGEC),
	parallel("gec", `^.*\.src$`),
	parallel("gec/jfleg", `^(dev|test)\.src$`),
	zhihuReader(),
	plain("outgen", of("lot/outgen", `^((train|val|dev|test|outgen).*)\.jsonl$`, lot.OutGen)),
	plain("plotcom", of("lot/plotcom", `^((train|val|dev|test|plotcom).*)\.jsonl$`, lot.PlotCom)),
	plain("clozet", of("lot/clozet", `^((train|val|dev|test|clozet).*)\.jsonl$`, lot.ClozeT)),
	plain("senpos", of("lot/senpos", `^((train|val|dev|test|senpos).*)\.jsonl$`, lot.SenPos)),
	plain("en", of("paws-x/en", `^(train|dev_2k|test_2k)\.tsv$`, paraphrase.PAWSX("en"))),
	plain("zh", of("paws-x/zh", `^(translated_train|dev_2k|test_2k)\.tsv$`, paraphrase.PAWSX("zh"))),
	of("pkupb", `^.*(paraphrase|pkupb|PKU).*\.txt$`, paraphrase.PKU),
	plain("book_review", of("book_review", `^(train|dev|test)\.tsv$`, zhtext.Reviews("book_review"))),
	plain("chnsenticorp", of("chnsenticorp", `^(train|dev|test)\.tsv$`, zhtext.Reviews("chnsenticorp"))),
	of("news-commentary", `^news-commentary.*\.txt$`, zhtext.News),
	plain("zh-summ", of("zh-summ", `^(train|dev|test)\.json$`, zhtext.Sentences)),
}

// lcstsReader reads the three parts, or CPT's JSON lines.
func lcstsReader() *reader {
	const files = `^PART_I{1,3}\.txt$`
	parts, articles := of("lcsts", files, lcsts.Format), of("lcsts", files, lcsts.Articles("lcsts"))
	r := pick("lcsts", files, func(src *corpus.Source) (*reader, error) {
		c, err := firstByte(src)
		if c == '{' || c == '[' {
			return articles, err
		}
		return parts, err
	})
	r.says = func(name string, _ bool) []string {
		part, _, _ := strings.Cut(name, ".")
		return []string{part}
	}
	return r
}

// nlpccReader reads the test set, with its gold edits if they are there.
func nlpccReader() *reader {
	const files = `^source\.txt$`
	gold, plain := of("nlpcc2018", files, gec.Gold), of("nlpcc2018", files, gec.Sentences)
	r := pick("nlpcc2018", files, func(src *corpus.Source) (*reader, error) {
		if len(src.Joined) > 0 {
			return gold, nil
		}
		return plain, nil
	})
	r.joins = func(string) [][]string { return [][]string{{"gold.01"}} }
	return r
}

// parallel reads sources with the corrected sentences beside them: of dev.src,
// dev.trg or dev.ref0, dev.ref1 and so on.
func parallel(name, files string) *reader {
	corpusName := path.Base(name)
	r := of(name, files, gec.Parallel(corpusName))
	r.joins = func(file string) [][]string {
		stem := strings.TrimSuffix(file, ".src")
		return [][]string{{stem + ".trg", stem + ".tgt", stem + ".ref0"}, {stem + ".ref1"}, {stem + ".ref2"}, {stem + ".ref3"}}
	}
	return r
}

// zhihuReader reads lines, with a file of topics if there is one, or columns.
func zhihuReader() *reader {
	const files = `^((train|val|dev|test)_label\.txt|(train|val|dev|test)\.json)$`
	lines, topics, columns := of("zhihu", files, zhihu.Lines), of("zhihu", files, zhihu.WithTopics), of("zhihu", files, zhihu.Columns)
	r := pick("zhihu", files, func(src *corpus.Source) (*reader, error) {
		c, err := firstByte(src)
		switch {
		case c == '{':
			return columns, err
		case len(src.Joined) > 0:
			return topics, err
		}
		return lines, err
	})
	r.joins = func(name string) [][]string {
		if !strings.HasSuffix(name, "_label.txt") {
			return nil
		}
		return [][]string{{strings.Replace(name, "_label.", "_topic.", 1)}}
	}
	return r
}
