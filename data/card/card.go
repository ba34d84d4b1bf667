// Package card holds what is known of corpora before their files are read: which
// files they come in, under which licence, how to cite them and how many rows
// they have. It reads no files.
package card

import "slices"

// A Card describes one corpus as it is published. Cards are read only.
type Card struct {
	Name     string   // as ingest takes it, such as "coco/karpathy"
	Also     []string // other names that ingest takes for files of its layout
	Title    string
	Home     string // where it is to be had
	Licence  string // of what
	Citation string
	Files    []File
	Counts   []Count
	Traps    string // what is known to go wrong with the files, and is dealt with
	Sample   string // the miniature that data sample makes with the same files, "" if none
}

// A File is one file or folder of a corpus.
type File struct {
	Pattern  string // of its name below the corpus's folder, as path.Match takes it; a folder ends in "/"
	What     string
	Optional bool   // ingest does without it
	Images   int64  // number of images of a folder, or of its unit, 0 if not known
	Unit     string // what a folder has if not images, such as "reviews"
	SHA256   string // if one was published
}

// A Count is the published number of rows of a split.
type Count struct {
	Split  string // as rows carry it, or a native split
	Native bool   // counted in meta, as Karpathy's restval is
	Rows   int64
	Source string
}

const (
	cocoLicence  = "annotations CC BY 4.0; images under the terms of Flickr, each with its own licence"
	cocoCitation = "T.-Y. Lin, M. Maire, S. Belongie, L. Bourdev, R. Girshick, J. Hays, P. Perona, D. Ramanan, C. L. Zitnick, P. Dollár: Microsoft COCO: Common Objects in Context. ECCV 2014, arXiv 1405.0312"
	cocoHome     = "https://cocodataset.org/#download"
	karpathy     = "published size of the split (notes on the HyperPELT paper, sections 10 and 15)"
	bySum        = "the sum of the Karpathy splits drawn from it"
)

// Image folders of COCO 2014.
var cocoImages = []File{
	{Pattern: "train2014/", What: "images of train", Optional: true, Images: 82783},
	{Pattern: "val2014/", What: "images of restval, val and test", Optional: true, Images: 40504},
}

// cards are in the order in which lists show them.
var cards = slices.Concat(captionCards, visionCards, instructCards, chineseCards, glueCards, superglueCards, englishCards)

var captionCards = []Card{
	{
		Name: "coco/karpathy", Title: "COCO captions in Karpathy's splits", Home: "https://cs.stanford.edu/people/karpathy/deepimagesent/",
		Licence:  cocoLicence,
		Citation: cocoCitation + "; splits: A. Karpathy, L. Fei-Fei: Deep Visual-Semantic Alignments for Generating Image Descriptions. CVPR 2015, arXiv 1412.2306",
		Files:    append([]File{{Pattern: "dataset_coco.json", What: "captions, tokens and splits"}}, cocoImages...),
		Counts: []Count{
			{Split: "train", Rows: 113287, Source: karpathy},
			{Split: "restval", Native: true, Rows: 30504, Source: karpathy},
			{Split: "val", Rows: 5000, Source: karpathy},
			{Split: "test", Rows: 5000, Source: karpathy},
		},
		Sample: "coco",
	},
	{
		Name: "coco/captions", Title: "COCO 2014 captions as published", Home: cocoHome,
		Licence: cocoLicence, Citation: cocoCitation + "; X. Chen, H. Fang, T.-Y. Lin, R. Vedantam, S. Gupta, P. Dollár, C. L. Zitnick: Microsoft COCO Captions: Data Collection and Evaluation Server. arXiv 1504.00325",
		Files: append([]File{
			{Pattern: "annotations/captions_train2014.json", What: "captions of train2014"},
			{Pattern: "annotations/captions_val2014.json", What: "captions of val2014"},
			{Pattern: "annotations/instances_train2014.json", What: "objects of train2014", Optional: true},
			{Pattern: "annotations/instances_val2014.json", What: "objects of val2014", Optional: true},
		}, cocoImages...),
		Counts: []Count{
			{Split: "train2014", Rows: 82783, Source: bySum},
			{Split: "val2014", Rows: 40504, Source: bySum},
		},
		Sample: "coco",
	},
	{
		Name: "flickr8k", Title: "Flickr8k captions", Home: "https://forms.illinois.edu/sec/1713398",
		Licence:  "research and education only; images under the terms of Flickr",
		Citation: "M. Hodosh, P. Young, J. Hockenmaier: Framing Image Description as a Ranking Task: Data, Models and Evaluation Metrics. Journal of Artificial Intelligence Research 47 (2013) 853-899",
		Files: []File{
			{Pattern: "Flickr8k.token.txt", What: "captions"},
			{Pattern: "Flickr_8k.trainImages.txt", What: "images of train", Optional: true},
			{Pattern: "Flickr_8k.devImages.txt", What: "images of validation", Optional: true},
			{Pattern: "Flickr_8k.testImages.txt", What: "images of test", Optional: true},
			{Pattern: "Flicker8k_Dataset/", What: "images", Optional: true},
		},
		Counts: []Count{{Split: "all", Rows: 8092, Source: "the paper's number of images"}}, Sample: "flickr8k",
	},
	{
		Name: "flickr30k", Title: "Flickr30k captions", Home: "https://shannon.cs.illinois.edu/DenotationGraph/",
		Licence:  "research and education only; images under the terms of Flickr",
		Citation: "P. Young, A. Lai, M. Hodosh, J. Hockenmaier: From image descriptions to visual denotations. Transactions of the ACL 2 (2014) 67-78",
		Files: []File{
			{Pattern: "results_20130124.token", What: "captions"},
			{Pattern: "flickr30k-images/", What: "images", Optional: true},
		},
		Counts: []Count{{Split: "all", Rows: 31783, Source: "the paper's number of images"}}, Sample: "flickr30k",
	},
}

// All returns every card.
func All() []Card { return slices.Clone(cards) }

// Find returns the card of a corpus.
func Find(name string) (Card, bool) {
	i := slices.IndexFunc(cards, func(c Card) bool { return c.Name == name || slices.Contains(c.Also, name) })
	if i < 0 {
		return Card{}, false
	}
	return cards[i], true
}
