package card

const (
	vqaLicence   = "questions and annotations CC BY 4.0; images under the terms of Flickr, each with its own licence"
	vqaCitation  = "Y. Goyal, T. Khot, D. Summers-Stay, D. Batra, D. Parikh: Making the V in VQA Matter. CVPR 2017, arXiv 1612.00837"
	hyperpelt15  = "notes on the HyperPELT paper, section 15"
	gqaCounts    = "the hub's card of Mineru/GQA; the same in notes on the HyperPELT paper, section 15"
	vgCounts     = "public tables of the corpus's release 1.2; the same in notes on the HyperPELT paper, section 15"
	flickrImages = "images of Flickr30k"
	nlvr2Counts  = "the paper; with 6,970 that are not released they are the 107,292 of the corpus's page"
)

// visionCards are of questions and statements about images.
var visionCards = []Card{
	{
		Name: "vqav2", Also: []string{"vqav2/results"}, Title: "VQA v2", Home: "https://visualqa.org/download.html",
		Licence: vqaLicence, Citation: vqaCitation,
		Files: append([]File{
			{Pattern: "v2_OpenEnded_mscoco_train2014_questions.json", What: "questions of train2014"},
			{Pattern: "v2_mscoco_train2014_annotations.json", What: "their answers, ten each"},
			{Pattern: "v2_OpenEnded_mscoco_val2014_questions.json", What: "questions of val2014"},
			{Pattern: "v2_mscoco_val2014_annotations.json", What: "their answers, ten each"},
			{Pattern: "v2_OpenEnded_mscoco_test2015_questions.json", What: "questions without answers", Optional: true},
			{Pattern: "v2_OpenEnded_mscoco_test-dev2015_questions.json", What: "a part of them", Optional: true},
		}, cocoImages...),
		Counts: []Count{
			{Split: "train2014", Rows: 443757, Source: hyperpelt15},
			{Split: "val2014", Rows: 214354, Source: hyperpelt15},
		},
		Traps:  "questions without an annotation, annotations without a question, ids twice, empty questions, annotations in another order",
		Sample: "vqav2",
	},
	{
		Name: "okvqa", Also: []string{"okvqa/stemmed"}, Title: "OK-VQA 1.1", Home: "https://okvqa.allenai.org/download.html",
		Licence:  "questions and annotations by their authors' terms; images under the terms of Flickr",
		Citation: "K. Marino, M. Rastegari, A. Farhadi, R. Mottaghi: OK-VQA: A Visual Question Answering Benchmark Requiring External Knowledge. CVPR 2019, arXiv 1906.00067",
		Files: append([]File{
			{Pattern: "OpenEnded_mscoco_train2014_questions.json", What: "questions of train2014"},
			{Pattern: "mscoco_train2014_annotations.json", What: "their answers, ten each"},
			{Pattern: "OpenEnded_mscoco_val2014_questions.json", What: "questions of val2014"},
			{Pattern: "mscoco_val2014_annotations.json", What: "their answers, ten each"},
		}, cocoImages...),
		Counts: []Count{
			{Split: "train2014", Rows: 9009, Source: hyperpelt15},
			{Split: "val2014", Rows: 5046, Source: hyperpelt15},
		},
		Traps:  "answers are there raw and stemmed: okvqa reads raw_answer, okvqa/stemmed reads answer",
		Sample: "okvqa",
	},
	{
		Name: "gqa", Title: "GQA, balanced questions", Home: "https://cs.stanford.edu/people/dorarad/gqa/download.html",
		Licence:  "CC BY 4.0; images of Visual Genome under their own terms",
		Citation: "D. A. Hudson, C. D. Manning: GQA: A New Dataset for Real-World Visual Reasoning and Compositional Question Answering. CVPR 2019, arXiv 1902.09506",
		Files: []File{
			{Pattern: "train_balanced_questions.json", What: "questions of train"},
			{Pattern: "val_balanced_questions.json", What: "questions of val"},
			{Pattern: "testdev_balanced_questions.json", What: "questions of testdev"},
			{Pattern: "images/", What: "images", Optional: true},
		},
		Counts: []Count{
			{Split: "train", Rows: 943000, Source: gqaCounts},
			{Split: "val", Rows: 132062, Source: gqaCounts},
			{Split: "testdev", Rows: 12578, Source: gqaCounts},
		},
		Traps:  "all questions of a split are not read beside its balanced ones; files of several gigabytes that are one object, ids twice, questions without an answer",
		Sample: "gqa",
	},
	{
		Name: "vgqa", Title: "Visual Genome question answering", Home: "https://homes.cs.washington.edu/~ranjay/visualgenome/api.html",
		Licence:  "CC BY 4.0",
		Citation: "R. Krishna, Y. Zhu, O. Groth, J. Johnson, K. Hata, J. Kravitz, S. Chen, Y. Kalantidis, L.-J. Li, D. A. Shamma, M. S. Bernstein, L. Fei-Fei: Visual Genome. IJCV 123 (2017), arXiv 1602.07332",
		Files: []File{
			{Pattern: "question_answers.json", What: "questions and answers by image"},
			{Pattern: "image_data.json", What: "which images are COCO's", Optional: true},
			{Pattern: "VG_100K/", What: "images", Optional: true},
		},
		Counts: []Count{{Split: "all", Rows: 1445322, Source: vgCounts}},
		Traps:  "no splits; answers have a capital and a full stop; half of the images are COCO's, some of its val and test",
		Sample: "vgqa",
	},
	{
		Name: "nlvr2", Title: "NLVR2", Home: "https://lil.nlp.cornell.edu/nlvr/",
		Licence:  "CC BY 4.0; images under the terms of their sites",
		Citation: "A. Suhr, S. Zhou, A. Zhang, I. Zhang, H. Bai, Y. Artzi: A Corpus for Reasoning about Natural Language Grounded in Photographs. ACL 2019, arXiv 1811.00491",
		Files: []File{
			{Pattern: "train.json", What: "JSON lines, whatever the name says"},
			{Pattern: "dev.json", What: "validation"},
			{Pattern: "test1.json", What: "public test"},
		},
		Counts: []Count{
			{Split: "train", Rows: 86373, Source: nlvr2Counts},
			{Split: "dev", Rows: 6982, Source: nlvr2Counts},
			{Split: "test1", Rows: 6967, Source: nlvr2Counts},
		},
		Traps:  "balanced and unbalanced subsets are not read beside the split that they are of; two images a row, named by the sentence's id without its last part",
		Sample: "nlvr2",
	},
	{
		Name: "snli-ve", Title: "SNLI-VE", Home: "https://github.com/necla-ml/SNLI-VE",
		Licence:  "CC BY-SA 4.0 (SNLI); " + flickrImages + " for research and education only",
		Citation: "N. Xie, F. Lai, D. Doran, A. Kadav: Visual Entailment: A Novel Task for Fine-Grained Image Understanding. arXiv 1901.06706",
		Files: []File{
			{Pattern: "snli_ve_train.jsonl", What: "train"},
			{Pattern: "snli_ve_dev.jsonl", What: "validation"},
			{Pattern: "snli_ve_test.jsonl", What: "test"},
			{Pattern: "flickr30k-images/", What: flickrImages, Optional: true},
		},
		Counts: []Count{
			{Split: "train", Rows: 529527, Source: hyperpelt15},
			{Split: "dev", Rows: 17858, Source: hyperpelt15},
			{Split: "test", Rows: 17901, Source: hyperpelt15},
		},
		Traps:  "gold label - is no label; the caption that was the premise is meta, not a field",
		Sample: "snli-ve",
	},
	{
		Name: "e-snli-ve", Title: "e-SNLI-VE-2.0", Home: "https://github.com/virginie-do/e-SNLI-VE",
		Licence:  "not stated",
		Citation: "V. Do, O.-M. Camburu, Z. Akata, T. Lukasiewicz: e-SNLI-VE: Corrected Visual-Textual Entailment with Natural Language Explanations. arXiv 2004.03744",
		Files:    []File{{Pattern: "gt_labels.csv", What: "relabelled pairs"}},
		Traps:    "labels differ from SNLI-VE's: another corpus; pairs that occur twice are kept",
		Sample:   "snli-ve",
	},
	{
		Name: "scienceqa", Title: "ScienceQA", Home: "https://scienceqa.github.io",
		Licence:  "CC BY-NC-SA 4.0",
		Citation: "P. Lu, S. Mishra, T. Xia, L. Qiu, K.-W. Chang, S.-C. Zhu, O. Tafjord, P. Clark, A. Kalyan: Learn to Explain: Multimodal Reasoning via Thought Chains for Science Question Answering. NeurIPS 2022, arXiv 2209.09513",
		Files: []File{
			{Pattern: "problems.json", What: "questions of all splits by id"},
			{Pattern: "pid_splits.json", What: "ids of splits, mini splits among them", Optional: true},
		},
		Counts: []Count{
			{Split: "train", Rows: 12726, Source: "counted in pid_splits.json (notes on the LLaMA-Adapter paper, section 2.3)"},
			{Split: "val", Rows: 4241, Source: "counted in pid_splits.json"},
			{Split: "test", Rows: 4241, Source: "counted in pid_splits.json"},
		},
		Traps:  "answers that are no choice, ids twice, a file that begins inside an entry",
		Sample: "scienceqa",
	},
	{
		Name: "coco/results", Also: []string{"pascal50s/results", "spice"}, Title: "captions that systems hand in", Home: cocoHome,
		Licence: "that of the system", Citation: cocoCitation,
		Files: []File{{Pattern: "captions_*_results.json", What: "captions by image id"}},
		Traps: "image ids more than once are kept; ids may be numbers or names", Sample: "coco/results",
	},
}
