package evaluate

import (
	"context"
	"fmt"
	"strings"

	"espalier/evaluate/input"
	"espalier/evaluate/squad"
	"espalier/evaluate/stats"
)

// A family is a metric as users name it; it gives one or more values. Its
// statistics of single examples add up: the values of a set are a function of
// their sum.
type family interface {
	names() []string // of the values
	variant() string // what exactly is computed
	width() int      // statistics an example
	// prepare looks at the whole corpus and returns a function that makes one
	// goroutine's scorer, which sets the statistics of an example.
	prepare(ctx context.Context, c *corpus) (func() scorer, error)
	// total computes the values of a set of n examples from summed statistics.
	total(sum, values []float64)
	// one computes the values of example i; NaN where there is none.
	one(i int, row, values []float64)
	// seen returns what the metric sees of example i: the pieces of the
	// prediction and of the references.
	seen(ctx context.Context, c *corpus) (func(i int) (pred []string, refs [][]string), error)
}

// listSeparator stands between the texts of an attribute that is a list.
const listSeparator = input.ListSeparator

// needsReferences tells families that compare from those that score
// predictions alone.
func needsReferences(f family) bool {
	s, ok := f.(*setFamily)
	return !ok || !s.free
}

// A scorer sets the statistics of example i.
type scorer func(i int, row []float64)

// An entry of the list of families.
type entry struct {
	name      string
	reference string // tool that it equals
	options   string
	needs     string // files beside predictions and references
	make      func(s *spec, r *Request) (family, error)
}

// families are all metrics, in the order of the list that users see.
func families() []entry {
	return []entry{
		{"bleu", "pycocoevalcap 1.2, BLEU-1 to BLEU-4", "tok=ptb|none, ref=closest|shortest|average", "", newBLEU},
		{"rouge-l", "pycocoevalcap 1.2", "tok=ptb|none", "", newRouge},
		{"cider", "pycocoevalcap 1.2 (the CIDEr-D formula); plain=true: vrama91/cider", "tok=ptb|none, plain=false|true, sigma=6", "--df FILE for document frequencies from elsewhere", newCIDEr},
		{"meteor", "METEOR 1.5 as pycocoevalcap 1.2; without its tables modules exact and stem", "tok=ptb|none", "--meteor-data DIR for synonyms, paraphrases, function words", newMETEOR},
		{"spice", "SPICE 1.0 from tuples that the files give; captions are not parsed", "", "tuples; --meteor-data DIR for synsets", newSPICE},
		{"sacrebleu", "sacrebleu 2.6.0 BLEU", "tok=13a|zh|intl|char|none, lc, smooth=exp|floor|add-k|none, value, eff, order=4", "", newSacreBLEU},
		{"chrf", "sacrebleu 2.6.0 chrF; word=2: chrF++", "char=6, word=0, beta=2, lc, space, eps", "", newChrF},
		{"ter", "sacrebleu 2.6.0 TER", "norm, punct=true, asian, case", "", newTER},
		{"rouge-score", "google rouge_score 0.1.2: rouge1, rouge2, rougeL, rougeLsum", "stem, parts, aggregate=mean|bootstrap, seed=0", "", newRougeScore},
		{"rouge", "pltrdy's rouge 1.0.1: rouge-1, rouge-2, rouge-l", "seg=blank|char, excl=yes|no, empty=refuse|zero|stop", "", newPltrdy(false)},
		{"rouge-zh", "rouge 1.0.1 on separated characters", "seg=char|blank, excl=yes|no, empty=refuse|zero|stop", "", newPltrdy(true)},
		{"nltk-bleu", "NLTK 3.10.4 corpus_bleu", "method=0..7, order=4, seg=blank|char, reweigh, only", "", newNLTK},
		{"nltk-gleu", "NLTK 3.10.4 corpus_gleu", "seg=blank|char", "", newGLEU},
		{"distinct", "Distinct-1 to Distinct-4, n-grams within a text", "seg=blank|char", "no references", newDistinct},
		{"maxmatch", "nusnlp/m2scorer (commit cb874a7)", "unchanged=2, ignorecase=false, beta=0.5", "references in M2", newMaxMatch},
		{"errant", "ERRANT 3.0.2 errant_compare", "mode=correction|detection|tokens|typed, single, multi, skip=TYPE/TYPE, cat=1|2|3, beta=0.5", "both in M2", newErrant},
		{"cherrant", "ChERRANT parallel_to_m2 (characters), compare_m2_for_evaluation", "as errant; strategy=all|first, simplified=true, bpe=false", "both in M2, or texts and --source FILE; --cherrant-data DIR", newCherrant},
		{"accuracy", "scikit-learn 1.9.1", "", "", newAccuracy},
		{"f1", "scikit-learn 1.9.1; labels=A/B/C: over fixed labels (T5, jiant)", "average=binary|macro|micro|weighted, pos=1, labels", "", newF1},
		{"matthews", "scikit-learn 1.9.1", "", "", newMatthews},
		{"pearson", "SciPy 1.17.1", "float=64|32", "", newCorrelation("pearson")},
		{"spearman", "SciPy 1.17.1", "float=64|32", "", newCorrelation("spearman")},
		{"squad", "SQuAD 1.1 official script", "", "", newAnswers("squad", "squad-1.1 official script", 100, answerWords, squad.V1)},
		{"squad2", "SQuAD 2.0 official script: all, HasAns, NoAns", "threshold=1", "no_answer_probability of predictions for a threshold", newSquad2},
		{"squad2-best", "SQuAD 2.0 official script: best threshold", "", "no_answer_probability of predictions", newSquad2Best},
		{"record", "SuperGLUE ReCoRD", "", "", newAnswers("record", "super_glue record_evaluation", 1, answerWords, squad.V1)},
		{"cmrc", "CMRC 2018 script, version 5", "", "", newCMRC},
		{"drcd", "DRCD: SQuAD 1.1 script, characters", "", "", newAnswers("drcd", "drcd: squad-1.1 script|characters", 100, squad.Characters, squad.DRCD)},
		{"multirc", "SuperGLUE MultiRC", "", "ids that end in /ANSWER", newMultiRC},
		{"glue", "GLUE leaderboard: every task's metrics and their average", "average=tasks|values, form=labels|t5", "ids TASK/ID", newBoard(glueBoard)},
		{"superglue", "SuperGLUE leaderboard: every task's metrics and their average", "average=tasks|values, cb=present|fixed", "ids TASK/ID", newBoard(superGLUEBoard)},
		{"vqa", "GT-Vision-Lab/VQA evaluation; also OK-VQA", "version=2021|2016|always|min3, types=answer|all|none", "answer_type, question_type of annotations for types", newVQA},
		{"gqa", "GQA eval.py: accuracy, by type; consistency, validity, plausibility, grounding", "types=all|none|more, choices=FILE, scenes=FILE, attentions=FILE", "types, isBalanced, entailed of questions", newGQA},
		{"gqa-distribution", "GQA eval.py: distance of the answers' distributions", "", "groups, isBalanced of questions", newGQADistribution},
		{"snli-ve", "SNLI-VE: accuracy, by label", "", "", newVE},
		{"nlvr2", "NLVR2: accuracy, consistency", "", "ids SPLIT-SET-PAIR-SENTENCE", newNLVR2},
		{"scienceqa", "lupantech/ScienceQA (commit 2cbf831)", "topics=false", "problems.json, or answer, subject, grade, hint, image", newScienceQA},
		{"scienceqa-rationale", "lupantech/ScienceQA: BLEU-1, BLEU-4, ROUGE-L of explanations", "", "problems.json, or lecture, solution", newRationale},
	}
}

// An About describes one metric.
type About struct {
	Name      string `json:"metric"`
	Reference string `json:"reference"`
	Options   string `json:"options"`
	Needs     string `json:"needs"`
}

// List describes all metrics.
func List() []About {
	var out []About
	for _, e := range families() {
		out = append(out, About{e.name, e.reference, e.options, e.needs})
	}
	return out
}

func newFamily(text string, r *Request) (family, error) {
	s, err := parseSpec(text)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range families() {
		if e.name == s.name {
			f, err := e.make(s, r)
			if err != nil {
				return nil, fmt.Errorf("metric %s: %w", text, err)
			}
			return f, s.check()
		}
		names = append(names, e.name)
	}
	return nil, fmt.Errorf("no metric %s; there are %s", s.name, strings.Join(names, ", "))
}

// A measured is what one family found.
type measured struct {
	family family
	rows   *stats.Matrix
}
