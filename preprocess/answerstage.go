package preprocess

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus/vqa"
	"espalier/preprocess/example"
)

// AnswersFile is the output of Answers that has the vocabulary: a JSON list, an
// answer's place being its number.
const AnswersFile = "label2ans.json"

// TargetsSchema is the schema id of shards of soft targets.
const TargetsSchema = "targets/1"

// A Target is the soft target of a question: the answers of the vocabulary that
// people gave, their numbers and scores. It is empty if they gave none of them.
type Target struct {
	ID      string    `parquet:"id" json:"id"`
	Split   string    `parquet:"split,dict" json:"split"`
	Answers []string  `parquet:"answers,list" json:"answers"`
	Labels  []int32   `parquet:"labels,list" json:"labels"`
	Scores  []float32 `parquet:"scores,list" json:"scores"`
}

// Answers makes the answer vocabulary of its input "examples", questions of VQA
// with the answers of several people, and the soft targets of every question.
// Answers are normalised as the challenge's evaluation does; those that are the
// most frequent of a question Min times or more are in the vocabulary.
type Answers struct {
	Min int64 `yaml:"min" json:"min" doc:"how often an answer must be the most frequent of a question; default 9"`

	normalise func(string) string
}

// NewAnswers returns the stage with what normalises answers: a part of what its
// version stands for.
func NewAnswers(normalise func(string) string) *Answers { return &Answers{normalise: normalise} }

// Kind is "preprocess/answers".
func (*Answers) Kind() string { return "preprocess/answers" }

// Version is raised when equal examples would give other targets.
func (*Answers) Version() int { return 4 }

// Check fills in defaults.
func (s *Answers) Check() error {
	if s.Min = cmp.Or(s.Min, vqa.MinAnswers); s.Min < 1 {
		return fmt.Errorf("min: %d, want at least 1", s.Min)
	}
	return nil
}

// Run counts the answers, then writes the targets.
func (s *Answers) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	in := t.In["examples"]
	if in == nil {
		return errors.New("preprocess/answers: no input named examples")
	}
	counts := vqa.Counts{}
	err := s.each(ctx, in, func(x *example.Head) error {
		if x.Label != nil {
			counts[s.normalise(*x.Label)]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	vocabulary := counts.Vocabulary(s.Min)
	if len(vocabulary) == 0 {
		return fmt.Errorf("preprocess/answers: %s has no answer %d times", in.Node, s.Min)
	}
	number := make(map[string]int32, len(vocabulary))
	for i, a := range vocabulary {
		number[a] = int32(i)
	}
	if err := writeJSON(t.Out, AnswersFile, vocabulary); err != nil {
		return err
	}
	out := newSink[Target](t.Out, TargetsSchema)
	empty := int64(0)
	err = s.each(ctx, in, func(x *example.Head) error {
		row := Target{ID: x.ID, Split: x.Split}
		for _, a := range vqa.SoftAnswers(x.References, s.normalise) {
			if n, ok := number[a.Answer]; ok {
				row.Answers, row.Labels, row.Scores = append(row.Answers, a.Answer), append(row.Labels, n), append(row.Scores, a.Score)
			}
		}
		if len(row.Labels) == 0 {
			empty++
		}
		return out.put(x.Split, row)
	})
	t.Out.Note("answers", strconv.Itoa(len(vocabulary)))
	t.Out.Note("questions_without_target", strconv.FormatInt(empty, 10))
	return errors.Join(err, out.close())
}

// each reads the examples of all splits.
func (s *Answers) each(ctx context.Context, in *pipeline.Input, do func(x *example.Head) error) error {
	for _, split := range in.Manifest.Splits() {
		for _, e := range in.Shards(split) {
			if err := eachHead(ctx, in, e, do); err != nil {
				return err
			}
		}
	}
	return nil
}

func eachHead(ctx context.Context, in *pipeline.Input, e store.FileEntry, do func(x *example.Head) error) (err error) {
	f, err := in.Open(e.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := shard.Open[example.Head](f, f.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	for row, err := range r.All() {
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		if err := do(&row); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func writeJSON(out *store.Writer, name string, v any) error {
	f, err := out.Create(name, "")
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return f.Close(0)
}
