package preprocess

import (
	"strings"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/boolq"
	"espalier/preprocess/corpus/commongen"
	"espalier/preprocess/corpus/glue"
	"espalier/preprocess/corpus/imdb"
	"espalier/preprocess/corpus/paws"
	"espalier/preprocess/corpus/snli"
	"espalier/preprocess/corpus/squad"
	"espalier/preprocess/corpus/superglue"
	"espalier/preprocess/corpus/trec"
)

// Published names of the files of tasks, and of their exports.
const (
	glueFiles = `^(([a-z0-9]+_)?(train|dev|val|validation|test)(_(mis)?matched)?(-\d+-of-\d+)?\.(tsv|jsonl|json|parquet|arrow)|` + corpus.Saved + `)$`
	sgFiles   = `^(([a-z0-9]+_)?(train|dev|val|validation|test)(-\d+-of-\d+)?\.(jsonl|json|parquet|arrow)|` + corpus.Saved + `)$`
)

// englishReaders read the English sets of text.
var englishReaders = []*reader{
	task("CoLA", of("glue/cola", glueFiles, glue.CoLA())),
	task("SST-2", of("glue/sst2", glueFiles, glue.SST2())),
	mrpc,
	task("QQP", of("glue/qqp", glueFiles, glue.QQP())),
	task("STS-B SST-B", of("glue/stsb", glueFiles, glue.STSB())),
	task("MNLI", of("glue/mnli", glueFiles, glue.MNLI())),
	task("QNLI", of("glue/qnli", glueFiles, glue.QNLI())),
	task("RTE", of("glue/rte", glueFiles, glue.RTE())),
	task("WNLI", of("glue/wnli", glueFiles, glue.WNLI())),
	task("AX", of("glue/ax", `^((ax|diagnostic)\.(tsv|jsonl|parquet)|test-\d+-of-\d+\.parquet|`+corpus.Saved+`)$`, glue.AX())),

	plain("BoolQ", of("superglue/boolq", sgFiles, superglue.BoolQ())),
	plain("BoolQ", of("superglue/boolq-numbered", sgFiles, superglue.BoolQNumbered())),
	plain("CB", of("superglue/cb", sgFiles, superglue.CB())),
	plain("COPA", of("superglue/copa", sgFiles, superglue.COPA())),
	plain("MultiRC", of("superglue/multirc", sgFiles, superglue.MultiRC())),
	plain("ReCoRD", of("superglue/record", sgFiles, superglue.ReCoRD())),
	plain("RTE", of("superglue/rte", sgFiles, superglue.RTE())),
	plain("WiC", of("superglue/wic", sgFiles, superglue.WiC())),
	plain("WSC", of("superglue/wsc", sgFiles, superglue.WSC())),
	plain("AX-b axb", of("superglue/axb", `^(AX-b\.(jsonl|parquet)|test-\d+-of-\d+\.parquet|`+corpus.Saved+`)$`, superglue.AXb())),
	plain("AX-g axg", of("superglue/axg", `^(AX-g\.(jsonl|parquet)|test-\d+-of-\d+\.parquet|`+corpus.Saved+`)$`, superglue.AXg())),

	plain("boolq", of("boolq", `^(train|dev)\.jsonl$`, boolq.BoolQ())),
	imdbReader(),
	trecReader(),
	task("trec", of("trec/numbered", `^TREC\.(train|test)\.all$`, trec.Labelled("trec", "trec"))),
	task("sst", of("sst", `^stsa\.binary\.(train|dev|test)$`, trec.Labelled("sst", "sst"))),
	task("sst", of("sst/fine", `^stsa\.fine\.(train|dev|test)$`, trec.Labelled("sst", "sst-fine"))),
	task("final", of("paws", `^(train|dev|test)\.tsv$`, paws.PAWS())),
	task("final", of("paws/numbered", `^(train|dev|test)\.tsv$`, paws.Numbered())),
	task("quora", of("quora", `^quora_paraphrase\.tsv$`, paws.Quora())),
	task("snli_1.0", of("snli", `^snli_1\.0_(train|dev|test)\.jsonl$`, snli.SNLI())),
	plain("squad", of("squad", `^(train|dev)-v1\.1\.json$`, squad.SQuAD())),
	plain("squad2", of("squad2", `^(train|dev)-v2\.0\.json$`, squad.SQuAD2())),
	plain("common_gen", of("common_gen", `^commongen\.(train|dev|test_noref)\.jsonl$`, commongen.CommonGen())),
}

// plain makes a reader look for its files in folders of some names first.
func plain(home string, r *reader) *reader {
	r.home = strings.Fields(home)
	return r
}

// task is plain for files whose encoding may be declared.
func task(home string, r *reader) *reader {
	r.encoded = true
	return plain(home, r)
}

var mrpc = func() *reader {
	own := of("glue/mrpc", `^$`, glue.MRPC())
	exported := of("glue/mrpc", `^$`, glue.MRPCExport())
	files := `^(msr_paraphrase_(train|test)(_original)?\.txt|(train|dev|validation|test)(-\d+-of-\d+)?\.(tsv|csv|jsonl|parquet|arrow)|` + corpus.Saved + `)$`
	r := task("MRPC", pick("glue/mrpc", files, func(src *corpus.Source) (*reader, error) {
		if is, err := glue.IsExport(src); is || err != nil {
			return exported, err
		}
		return own, nil
	}))
	r.joins = func(name string) [][]string {
		if strings.HasPrefix(name, "msr_paraphrase_train") {
			return [][]string{{"mrpc_dev_ids.tsv", "dev_ids.tsv", "dev_ids"}}
		}
		return nil
	}
	r.says = func(name string, joined bool) []string {
		if joined {
			return []string{"train", "validation"}
		}
		return nil
	}
	r.selects = true
	return r
}()

// trecReader reads the files of TREC, of which one does not say that it is the
// test set.
func trecReader() *reader {
	r := task("trec", of("trec", `^(train_5500\.label|TREC_10\.label|TREC\.(train|test))$`, trec.TREC()))
	r.says = func(name string, _ bool) []string {
		if strings.HasPrefix(name, "TREC_10.") {
			return []string{"test"}
		}
		return nil
	}
	return r
}

func imdbReader() *reader {
	r := within(2, of("imdb", `^(train|test)/(pos|neg)/\d+_\d+\.txt$`, imdb.IMDB()))
	r.folders, r.encoded = true, true
	return r
}
