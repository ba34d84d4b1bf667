package card

const (
	skillnet6 = "notes on the SkillNet-NLG paper, section 6"
	lotHome   = "https://github.com/thu-coai/LOT-LongLM"
	lotPaper  = "J. Guan, Z. Feng, Y. Chen, R. He, X. Mao, C. Fan, M. Huang: LOT: A Story-Centric Benchmark for Evaluating Chinese Long Text Understanding and Generation. TACL 2022, arXiv 2108.12960"
	pawsx     = "Y. Yang, Y. Zhang, C. Tar, J. Baldridge: PAWS-X: A Cross-lingual Adversarial Dataset for Paraphrase Identification. EMNLP 2019, arXiv 1908.11828"
	uer       = "https://github.com/dbiir/UER-py"
)

// chineseCards are of Chinese sets and of grammatical error correction.
var chineseCards = []Card{
	{
		Name: "lcsts", Title: "LCSTS, short texts and summaries", Home: "http://icrc.hitsz.edu.cn/Article/show/139.html",
		Licence:  "research use, by application",
		Citation: "B. Hu, Q. Chen, F. Zhu: LCSTS: A Large Scale Chinese Short Text Summarization Dataset. EMNLP 2015, arXiv 1506.05865",
		Files: []File{
			{Pattern: "PART_I.txt", What: "pairs for training"},
			{Pattern: "PART_II.txt", What: "scored pairs", Optional: true},
			{Pattern: "PART_III.txt", What: "scored pairs for the test: those of label 3 and more"},
		},
		Counts: []Count{
			{Split: "PART_I", Rows: 2400591, Source: skillnet6},
			{Split: "PART_II", Rows: 10666, Source: skillnet6},
			{Split: "PART_III", Rows: 1106, Source: skillnet6},
		},
		Traps:  "looks like XML and is not: nothing is escaped; documents without an end, blocks of several lines, ids twice",
		Sample: "lcsts",
	},
	{
		Name: "csl", Title: "CSL, abstracts and titles, in CPT's layout", Home: "https://github.com/fastnlp/CPT",
		Licence: "research use", Citation: "Y. Li, Y. Zhang, Z. Zhao, L. Shen, W. Liu, W. Mao, H. Zhang: CSL: A Large-scale Chinese Scientific Literature Dataset. COLING 2022, arXiv 2209.05034",
		Files: []File{{Pattern: "*.jsonl", What: "article and summarization a line"}},
		Traps: "none known", Sample: "lcsts",
	},
	{
		Name: "adgen", Title: "AdGen, advertisements from tags", Home: "https://github.com/ZhihongShao/Planning-based-Hierarchical-Variational-Model",
		Licence:  "research use",
		Citation: "Z. Shao, M. Huang, J. Wen, W. Xu, X. Zhu: Long and Diverse Text Generation with Planning-based Hierarchical Variational Model. EMNLP 2019, arXiv 1908.06605",
		Files: []File{
			{Pattern: "train.json", What: "train"},
			{Pattern: "dev.json", What: "validation"},
			{Pattern: "test.json", What: "test", Optional: true},
		},
		Counts: []Count{
			{Split: "train", Rows: 114599, Source: skillnet6},
			{Split: "dev", Rows: 1070, Source: skillnet6},
			{Split: "test", Rows: 3127, Source: skillnet6},
		},
		Traps:  "three layouts; lines, arrays and objects over several lines whatever the name says; tags without a value",
		Sample: "adgen",
	},
	{
		Name: "kdconv", Title: "KdConv, dialogues driven by knowledge", Home: "https://github.com/thu-coai/KdConv",
		Licence:  "Apache-2.0",
		Citation: "H. Zhou, C. Zheng, K. Huang, M. Huang, X. Zhu: KdConv: A Chinese Multi-domain Dialogue Dataset Towards Multi-turn Knowledge-driven Conversation. ACL 2020, arXiv 2004.04100",
		Files: []File{
			{Pattern: "*/train.json", What: "dialogues of film, music and travel"},
			{Pattern: "*/dev.json", What: "validation"},
			{Pattern: "*/test.json", What: "test"},
		},
		Counts: []Count{
			{Split: "dev", Rows: 8871, Source: skillnet6},
			{Split: "test", Rows: 9287, Source: skillnet6},
		},
		Traps:  "the domain is the folder's name; a row an utterance after the first, with all before it",
		Sample: "kdconv",
	},
	{
		Name: "matinf", Title: "MATINF, maternal and infant questions", Home: "https://github.com/WHUIR/MATINF",
		Licence:  "research use, by application",
		Citation: "C. Xu, J. Pei, H. Wu, Y. Liu, C. Li: MATINF: A Jointly Labeled Large-Scale Dataset for Classification, Question Answering and Summarization. ACL 2020, arXiv 2004.12302",
		Files: []File{
			{Pattern: "train.csv", What: "train"},
			{Pattern: "dev.csv", What: "validation"},
			{Pattern: "test.csv", What: "test"},
		},
		Traps:  "quoted fields with commas and line ends, a byte order mark, quotes that are never closed, ids twice",
		Sample: "matinf",
	},
	{
		Name: "nlpcc2018", Title: "NLPCC-2018 GEC, test set", Home: "http://tcci.ccf.org.cn/conference/2018/taskdata.php",
		Licence:  "terms of the shared task",
		Citation: "Y. Zhao, N. Jiang, W. Sun, X. Wan: Overview of the NLPCC 2018 Shared Task: Grammatical Error Correction. NLPCC 2018",
		Files: []File{
			{Pattern: "source.txt", What: "sentences"},
			{Pattern: "gold.01", What: "edits of both annotators, M2", Optional: true},
		},
		Counts: []Count{{Split: "test", Rows: 2000, Source: skillnet6}},
		Traps:  "a byte order mark; the edits are over words, the sentences are not segmented",
		Sample: "nlpcc2018",
	},
	{
		Name: "nlpcc2018/train", Title: "NLPCC-2018 GEC, training file", Home: "http://tcci.ccf.org.cn/conference/2018/taskdata.php",
		Licence:  "terms of the shared task",
		Citation: "Y. Zhao, N. Jiang, W. Sun, X. Wan: Overview of the NLPCC 2018 Shared Task: Grammatical Error Correction. NLPCC 2018",
		Files:    []File{{Pattern: "data.train", What: "sentences with their corrections"}},
		Counts:   []Count{{Split: "train", Rows: 717241, Source: skillnet6}},
		Traps:    "the number of corrections may be wrong; blanks between words go; some corrections say that nothing is wrong",
		Sample:   "nlpcc2018",
	},
	{
		Name: "zhihu", Title: "ZhiHu essays by topic", Home: "https://github.com/libing125/CTEG",
		Licence:  "research use",
		Citation: "X. Feng, M. Liu, J. Liu, B. Qin, Y. Sun, T. Liu: Topic-to-Essay Generation with Neural Networks. IJCAI 2018",
		Files: []File{
			{Pattern: "*_label.txt", What: "topics and essay a line", Optional: true},
			{Pattern: "*_topic.txt", What: "topics a line", Optional: true},
			{Pattern: "test.json", What: "columns of topics and essays"},
		},
		Counts: []Count{{Split: "test", Rows: 2176, Source: "counted in test.json"}},
		Traps:  "two layouts; words are segmented in one and not in the other",
		Sample: "zhihu",
	},
	{
		Name: "lot/outgen", Title: "OutGen of LOT, stories from outlines", Home: lotHome, Licence: "not stated", Citation: lotPaper,
		Files: []File{
			{Pattern: "train.jsonl", What: "train"},
			{Pattern: "val.jsonl", What: "validation"},
			{Pattern: "test.jsonl", What: "test"},
		},
		Counts: []Count{
			{Split: "train", Rows: 1456, Source: skillnet6},
			{Split: "val", Rows: 242, Source: skillnet6},
			{Split: "test", Rows: 729, Source: skillnet6},
		},
		Traps: "none known", Sample: "lot",
	},
	{
		Name: "lot/plotcom", Also: []string{"lot/clozet", "lot/senpos"}, Title: "the other tasks of LOT", Home: lotHome, Licence: "not stated", Citation: lotPaper,
		Files:  []File{{Pattern: "*.jsonl", What: "one task in one folder"}},
		Traps:  "labels are texts in one task and numbers in another",
		Sample: "lot",
	},
	{
		Name: "pkupb", Title: "PKU Paraphrase Bank", Home: "https://github.com/pkucoli/PKU-Paraphrase-Bank",
		Licence:  "research use",
		Citation: "B. Zhang, W. Sun, X. Wan, Z. Guo: PKU Paraphrase Bank: A Sentence-Level Paraphrase Corpus for Chinese. NLPCC 2019",
		Files:    []File{{Pattern: "*araphrase*.txt", What: "pairs, a line each"}},
		Counts:   []Count{{Split: "all", Rows: 509832, Source: skillnet6}},
		Traps:    "lines with more or fewer than two columns; no splits",
		Sample:   "pkupb",
	},
	{
		Name: "paws-x/zh", Title: "PAWS-X, Chinese", Home: "https://github.com/google-research-datasets/paws",
		Licence: "free for any purpose, with attribution", Citation: pawsx,
		Files: []File{
			{Pattern: "translated_train.tsv", What: "machine translations"},
			{Pattern: "dev_2k.tsv", What: "validation"},
			{Pattern: "test_2k.tsv", What: "test"},
		},
		Counts: []Count{
			{Split: "train", Rows: 49401, Source: "the hub's card of google/xtreme, PAWS-X.zh"},
			{Split: "dev", Rows: 2000, Source: "the hub's card of google/xtreme, PAWS-X.zh"},
			{Split: "test", Rows: 2000, Source: "the hub's card of google/xtreme, PAWS-X.zh"},
		},
		Traps:  "bare quotes; ids are not unique, so that a row's key is its number",
		Sample: "paws-x",
	},
	{
		Name: "paws-x/en", Title: "PAWS-X, English", Home: "https://github.com/google-research-datasets/paws",
		Licence: "free for any purpose, with attribution", Citation: pawsx,
		Files: []File{
			{Pattern: "train.tsv", What: "train"},
			{Pattern: "dev_2k.tsv", What: "validation"},
			{Pattern: "test_2k.tsv", What: "test"},
		},
		Counts: []Count{
			{Split: "train", Rows: 49401, Source: "the paper; the hub's google/xtreme leaves rows out and has 49,175"},
			{Split: "dev", Rows: 2000, Source: "the paper"},
			{Split: "test", Rows: 2000, Source: "the paper"},
		},
		Traps:  "bare quotes; ids are not unique, so that a row's key is its number",
		Sample: "paws-x",
	},
	{
		Name: "m2", Also: []string{"m2/errant", "m2/m2scorer", "m2/jfleg", "m2/cherrant"}, Title: "M2 files of any corpus of corrections", Home: "https://www.comp.nus.edu.sg/~nlp/conll14st.html",
		Licence:  "that of the corpus",
		Citation: "D. Dahlmeier, H. T. Ng: Better Evaluation for Grammatical Error Correction. NAACL 2012",
		Files:    []File{{Pattern: "*.m2", What: "sentences with the edits of one or more annotators"}},
		Traps:    "edits past the sentence, without a sentence or with fields missing go one by one, the sentence stays; several empty lines; CR LF",
		Sample:   "m2",
	},
	{
		Name: "mucgec", Title: "MuCGEC, several corrections a sentence", Home: "https://github.com/HillZhang1999/MuCGEC",
		Licence:  "research use",
		Citation: "Y. Zhang, Z. Li, Z. Bao, J. Li, B. Zhang, C. Li, F. Huang, M. Zhang: MuCGEC: a Multi-Reference Multi-Source Evaluation Dataset for Chinese Grammatical Error Correction. NAACL 2022, arXiv 2204.10994",
		Files:    []File{{Pattern: "MuCGEC_dev.txt", What: "sentences with their corrections"}},
		Traps:    "any number of corrections, none included; ids twice",
		Sample:   "mucgec",
	},
	{
		Name: "gec", Also: []string{"gec/jfleg"}, Title: "sentences with corrected sentences in files beside them", Home: "https://github.com/keisks/jfleg",
		Licence: "that of the corpus", Citation: "C. Napoles, K. Sakaguchi, J. Tetreault: JFLEG: A Fluency Corpus and Benchmark for Grammatical Error Correction. EACL 2017, arXiv 1702.04066",
		Files: []File{
			{Pattern: "*.src", What: "sentences"},
			{Pattern: "*.ref0", What: "corrected sentences, line by line, or .trg", Optional: true},
		},
		Traps:  "files of other numbers of lines",
		Sample: "m2",
	},
	{
		Name: "book_review", Also: []string{"chnsenticorp"}, Title: "labelled reviews", Home: uer, Licence: "Apache-2.0 repository", Citation: "Z. Zhao et al.: UER: An Open-Source Toolkit for Pre-training Models. EMNLP 2019, arXiv 1909.05658",
		Files: []File{
			{Pattern: "train.tsv", What: "train"},
			{Pattern: "dev.tsv", What: "validation"},
			{Pattern: "test.tsv", What: "test"},
		},
		Traps: "bare quotes", Sample: "book_review",
	},
	{
		Name: "news-commentary", Title: "News Commentary, English and Chinese", Home: "https://www.statmt.org/wmt18/", Licence: "free for research", Citation: "J. Tiedemann: Parallel Data, Tools and Interfaces in OPUS. LREC 2012",
		Files: []File{{Pattern: "news-commentary*.txt", What: "pairs, a line each"}},
		Traps: "bare quotes", Sample: "news-commentary",
	},
	{
		Name: "zh-summ", Title: "abstracts with labelled sentences", Home: "https://github.com/yongzhuo/Pytorch-NLU", Licence: "Apache-2.0 repository", Citation: "the repository",
		Files: []File{
			{Pattern: "train.json", What: "JSON lines, whatever the name says"},
			{Pattern: "dev.json", What: "validation"},
		},
		Traps: "called LCSTS by its README, which it is not", Sample: "zh-summ",
	},
}
