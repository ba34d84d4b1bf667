package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/evaluate"
	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/trainer/prediction"
)

// A page is all that the three files of a report say.
type page struct {
	Title   string
	Verdict []string
	Remarks []string

	Metrics []string
	Sets    []*set
	About   string // of all sets, if they have the same
	Main    *set
	Metric  string // of the figure
	Strip   figure

	Sizes      []size
	Paper      *paper
	Curves     []figure
	Groups     []pictures
	Anatomy    []fact
	Vocabulary []fact
	Codes      []code
	Model      []fact
	Chain      []step
}

// A set is the scores of one input.
type set struct {
	Input string
	Name  string // for people, see axesOf
	About string
	Rows  map[string]score.Row // of the whole split, by metric
	Each  map[string]float64   // of every example, by id: the page's metric
	N     int64
	Mean  bool // N counts runs, not examples
}

// A fact is one line of a list of facts.
type fact struct{ Name, Value, Note string }

// collect reads the inputs.
func (r *Report) collect(ctx context.Context, t *pipeline.Task) (*page, error) {
	ancestors, err := t.Ancestors()
	if err != nil {
		return nil, err
	}
	byKey := make(map[store.Key]*store.Manifest)
	for _, m := range ancestors {
		byKey[m.Key] = m
	}
	p := &page{Title: r.Title, Remarks: append(slices.Clone(r.Remarks), untrained(ancestors)...), Metric: r.Metric, Chain: chain(ancestors)}
	names := r.scoreInputs(t)
	if len(names) == 0 {
		return nil, errors.New("evaluate/report: no inputs with scores")
	}
	for _, name := range names {
		s, err := r.readSet(ctx, t.In[name], name, byKey)
		if err != nil {
			return nil, err
		}
		p.Sets = append(p.Sets, s)
		if s.Input == r.main(names) {
			p.Main = s
		}
	}
	tellApart(p.Sets)
	if p.Main == nil {
		return nil, fmt.Errorf("evaluate/report: main: no input named %s", r.Main)
	}
	if len(p.Sets) > 1 && !slices.ContainsFunc(p.Sets, func(s *set) bool { return s.About != p.Sets[0].About }) {
		p.About = p.Sets[0].About
	}
	p.Metrics = metricsOf(p.Sets)
	p.Verdict = r.verdict(p)
	p.Strip = strip(p)
	if p.Sizes, err = sizes(ctx, t); err != nil {
		return nil, err
	}
	if r.Paper != "" {
		p.Paper = comparison(r.Paper, p)
	}
	if in := t.In[modelInput]; in != nil {
		if p.Curves, err = curves(ctx, in); err != nil {
			return nil, err
		}
		if p.Model, err = modelFacts(in); err != nil {
			return nil, err
		}
	}
	if in := t.In[vocabInput]; in != nil {
		if p.Vocabulary, p.Codes, err = vocabFacts(in); err != nil {
			return nil, err
		}
	}
	return p, r.captions(ctx, t, p)
}

// untrained says which image features come from a network that was never
// trained.
func untrained(ms []*store.Manifest) (remarks []string) {
	for _, m := range ms {
		if net := m.Notes["network"]; strings.HasPrefix(net, "random ") {
			remark := "The image features come from an untrained network that stands in for CLIP: " + net + "."
			if !slices.Contains(remarks, remark) {
				remarks = append(remarks, remark)
			}
		}
	}
	return remarks
}

// readSet reads one input of scores.
func (r *Report) readSet(ctx context.Context, in *pipeline.Input, name string, byKey map[store.Key]*store.Manifest) (*set, error) {
	rows, err := evaluate.ReadScores(ctx, in, true)
	if err != nil {
		return nil, err
	}
	s := &set{Input: name, Name: axesOf(name), About: about(in.Manifest, byKey), Mean: in.Manifest.Kind == (*evaluate.Aggregate)(nil).Kind(), Rows: make(map[string]score.Row), Each: make(map[string]float64)}
	for _, row := range rows {
		switch {
		case row.ID == "":
			if old, ok := s.Rows[row.Metric]; ok {
				return nil, fmt.Errorf("evaluate/report: input %s holds two scores %s (%v and %v): give them rows of their own", name, row.Metric, old.Tags, row.Tags)
			}
			s.Rows[row.Metric] = row
			s.N = max(s.N, row.N)
		case row.Metric == r.Metric:
			s.Each[row.ID] = row.Value
		}
	}
	if len(s.Rows) == 0 {
		return nil, fmt.Errorf("evaluate/report: input %s holds no scores", name)
	}
	return s, nil
}

// axesOf returns what tells an input such as scores[method=lora,seed=3] from
// its siblings: "lora, seed=3". A name without axes is returned as it is.
func axesOf(name string) string {
	_, inner, ok := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	if !ok {
		return name
	}
	parts := strings.Split(inner, ",")
	for i, part := range parts {
		parts[i] = strings.TrimPrefix(part, "method=")
	}
	return strings.Join(parts, ", ")
}

// tellApart puts the inputs' own names before those of the sets if two of them
// would be alike.
func tellApart(sets []*set) {
	seen := make(map[string]bool)
	alike := false
	for _, s := range sets {
		alike = alike || seen[s.Name]
		seen[s.Name] = true
	}
	for _, s := range sets {
		if base, _, ok := strings.Cut(s.Input, "["); alike && ok {
			s.Name = base + ": " + s.Name
		}
	}
}

// metricsOf lists the metrics of all sets, deviations left out.
func metricsOf(sets []*set) []string {
	order := []string{"bleu-1", "bleu-2", "bleu-3", "bleu-4", "meteor", "rouge-l", "cider"}
	var rest, out []string
	have := make(map[string]bool)
	for _, s := range sets {
		for m := range s.Rows {
			if !have[m] && !strings.HasSuffix(m, evaluate.DeviationSuffix) {
				have[m] = true
				if !slices.Contains(order, m) {
					rest = append(rest, m)
				}
			}
		}
	}
	for _, m := range order {
		if have[m] {
			out = append(out, m)
		}
	}
	slices.Sort(rest)
	return append(out, rest...)
}

// Head is a metric's name over its column; parts of the page's metric, such as
// glue-rte-accuracy of glue, go without its name.
func (p *page) Head(metric string) string {
	if part, ok := strings.CutPrefix(metric, p.Metric+"-"); ok {
		return strings.ReplaceAll(part, "-", " ")
	}
	return label(metric)
}

// Counted says what the last column of the table of scores counts.
func (p *page) Counted() string {
	if slices.ContainsFunc(p.Sets, func(s *set) bool { return !s.Mean }) {
		return "examples"
	}
	return "runs"
}

// Intervals says where those of the scores come from.
func (p *page) Intervals() string {
	if p.Counted() == "runs" {
		return "intervals of Student's t over the runs"
	}
	return "bootstrap intervals"
}

// verdict words the main result.
func (r *Report) verdict(p *page) []string {
	row, ok := p.Main.Rows[r.Metric]
	if !ok {
		return nil
	}
	value := func(name string) (float64, bool) {
		for _, s := range p.Sets {
			if s.Input == name {
				x, ok := s.Rows[r.Metric]
				return x.Value, ok
			}
		}
		return 0, false
	}
	where := " of split " + row.Split
	if row.Split == evaluate.AnySplit {
		where = ""
	}
	out := []string{fmt.Sprintf("%s %s on %d examples%s.", label(r.Metric), short(row.Value), row.N, where)}
	if p.Main.Mean {
		out[0] = fmt.Sprintf("%s %s on average over %d runs%s.", label(r.Metric), short(row.Value), row.N, where)
	}
	if len(p.Sets) > 1 && p.Main.Input != "ours" {
		out[0] = p.Main.Name + ": " + out[0]
	}
	if v, ok := value(r.ceiling()); ok && v > 0 {
		out = append(out, fmt.Sprintf("That is %.0f %% of what one person scores against the others (%.3f).", 100*row.Value/v, v))
	}
	if v, ok := value(r.control()); ok && v > 0 {
		out = append(out, fmt.Sprintf("With the images shuffled the same model scores %.3f: %.1f times less.", v, row.Value/v))
	}
	return out
}

// label is how a metric is written for people.
func label(metric string) string {
	metric, _, _ = strings.Cut(metric, "/") // a version, as in cider/1
	switch {
	case metric == "cider":
		return "CIDEr"
	case metric == "rouge-l":
		return "ROUGE-L"
	case strings.HasPrefix(metric, "bleu-"), metric == "meteor":
		return strings.ToUpper(metric)
	}
	return metric
}

// about says what was scored, from the parameters of the stages.
func about(m *store.Manifest, byKey map[store.Key]*store.Manifest) string {
	var p struct {
		Candidate, Only, Train string
		Over                   []string
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return ""
	}
	var parts []string
	switch {
	case m.Kind == (*evaluate.Aggregate)(nil).Kind():
		parts = append(parts, "mean over "+strings.Join(p.Over, ", "))
	case p.Candidate == evaluate.FromReferences:
		parts = append(parts, "one reference of each image, scored against its others")
	case p.Candidate == evaluate.FromConstant:
		parts = append(parts, fmt.Sprintf("the same caption for every image, the best of split %s: “%s”", p.Train, m.Notes["constant"]))
	default:
		parts = append(parts, predictor(m, byKey))
	}
	if p.Only != "" {
		parts = append(parts, "only images marked "+p.Only)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// predictor says how the predictions of a measurement were made.
func predictor(m *store.Manifest, byKey map[store.Key]*store.Manifest) string {
	for _, in := range m.Inputs {
		from := byKey[in.Key]
		if in.Name != predictionsInput || from == nil {
			continue
		}
		var p struct {
			Beam    int     `json:"beam"`
			Shuffle *uint64 `json:"shuffle_images"`
		}
		if json.Unmarshal(from.Params, &p) != nil || p.Beam == 0 {
			return ""
		}
		s := "the model, greedy"
		if p.Beam > 1 {
			s = fmt.Sprintf("the model, beam %d", p.Beam)
		}
		if p.Shuffle != nil {
			s += ", each example given another one's image"
		}
		return s
	}
	return ""
}

// captions reads predictions and examples: facts about the captions, and the
// page of pictures.
func (r *Report) captions(ctx context.Context, t *pipeline.Task, p *page) error {
	in := t.In[predictionsInput]
	if in == nil {
		return nil
	}
	texts := make(map[string]string)
	var all []string
	err := each(ctx, in, in.Shards(r.Split), func(row *prediction.Row) error {
		if row.Rank == 0 {
			texts[row.ID] = row.Text
			all = append(all, row.Text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.Anatomy = anatomy(all)
	ex := t.In[examplesInput]
	if ex == nil || *r.Pictures == 0 || len(p.Main.Each) == 0 {
		return nil
	}
	groups := choose(p.Main.Each, texts, *r.Pictures)
	wanted := make(map[string]*picture)
	for _, g := range groups {
		for _, pic := range g.Pictures {
			wanted[pic.ID] = pic
		}
	}
	paths := make(map[string]string)
	err = each(ctx, ex, ex.Shards(r.Split), func(h *example.Head) error {
		if pic := wanted[h.ID]; pic != nil {
			pic.References = h.References
			if h.Image != nil {
				paths[h.ID] = *h.Image
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if images := t.In[imagesInput]; images != nil {
		if err := thumbnails(ctx, images, groups, paths); err != nil {
			return err
		}
	}
	p.Groups = groups
	return nil
}

// each calls f with every row of some shards.
func each[T any](ctx context.Context, in *pipeline.Input, entries []store.FileEntry, f func(*T) error) error {
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := eachOf(in, e, f); err != nil {
			return fmt.Errorf("%s of %s: %w", e.Name, in.Node, err)
		}
	}
	return nil
}

func eachOf[T any](in *pipeline.Input, e store.FileEntry, f func(*T) error) error {
	file, err := in.Open(e.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	rd, err := shard.Open[T](file, file.Size())
	if err != nil {
		return err
	}
	for row, err := range rd.All() {
		if err != nil {
			return err
		}
		if err := f(&row); err != nil {
			return err
		}
	}
	return nil
}
