package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"espalier/pipeline/store"
)

// A Planned is what a run would do with one node.
type Planned struct {
	Stage     string           `json:"stage"` // the node's name
	Kind      string           `json:"kind"`
	Key       store.Key        `json:"key"`   // "" if an input cannot be read
	State     State            `json:"state"` // cached, partial, pending, rejected, running, refused or blocked
	Why       []string         `json:"why,omitempty"`
	Parts     int              `json:"parts"`      // -1 if not planned yet, 0 for stages without parts
	PartsDone int              `json:"parts_done"` // committed
	Digest    string           `json:"digest,omitempty"`
	Rows      int64            `json:"rows"`
	Bytes     int64            `json:"bytes"`
	Dead      int64            `json:"dead"`
	Path      string           `json:"path"`            // folder of the output; for raw files their root
	Owner     string           `json:"owner,omitempty"` // who is making it, such as "host:1234"
	Progress  string           `json:"progress,omitempty"`
	Inputs    []store.InputRef `json:"inputs,omitempty"`
	Mixture   []Share          `json:"mixture,omitempty"` // of a Mixer whose inputs are there
	Memory    int64            `json:"memory,omitempty"`  // bytes, of a Sizer that is to run and whose inputs are there
	Err       error            `json:"-"`                 // why it is refused or rejected
}

// A Sizer is a stage that knows from its inputs how much memory the tensors of
// its work take at most.
type Sizer interface {
	Memory(ctx context.Context, inputs map[string]*Input) (bytes int64, err error)
}

// A Mixer is a stage that draws from several inputs. Its mixture follows from its
// parameters and the manifests of its inputs.
type Mixer interface {
	Mixture(inputs map[string]*store.Manifest) []Share
}

// A Share is what a Mixer takes of one input.
type Share struct {
	Input    string  `json:"input"`
	Examples int64   `json:"examples"`
	Share    float64 `json:"share"`  // of all draws
	Epochs   float64 `json:"epochs"` // how often each example is met, on average
}

// Plan says what Run would do and why: for a pending node, which parameter or
// input changed since the last output of the node of that name. It hashes raw
// files and writes nothing to the store, unless o.PlanParts is set.
func Plan(ctx context.Context, g Graph, o Options) ([]Planned, error) {
	return inspect(ctx, g, o, true)
}

// Status is Plan without the reasons.
func Status(ctx context.Context, g Graph, o Options) ([]Planned, error) {
	o.PlanParts = false
	return inspect(ctx, g, o, false)
}

func inspect(ctx context.Context, g Graph, o Options, why bool) ([]Planned, error) {
	e, err := newEngine(&g, o)
	if err != nil {
		return nil, err
	}
	if err := e.resolve(ctx); err != nil {
		return nil, err
	}
	var root *store.Root
	if why && o.Job != "" {
		if root, err = e.s.Root(o.Job, o.Set); err != nil && !errors.Is(err, store.ErrMissing) {
			e.log.Warn("reasons are not known", "error", err)
		}
	}
	var planned []Planned
	for _, n := range e.nodes {
		p, err := e.plan(ctx, n)
		if err != nil {
			return nil, err
		}
		if why {
			p.Why = append(p.Why, e.why(n, &p, root)...)
			p.Memory = e.memory(ctx, n, &p)
		}
		planned = append(planned, p)
	}
	return planned, ctx.Err()
}

// memory asks a Sizer that is to run; 0 is not known.
func (e *engine) memory(ctx context.Context, n *node, p *Planned) int64 {
	sizer, ok := n.Stage.(Sizer)
	if !ok || p.State == Cached || p.State == Blocked || p.State == Refused || !n.ready() {
		return 0
	}
	inputs := make(map[string]*Input, len(n.ins))
	for _, in := range n.ins {
		from := in.from
		inputs[in.name] = &Input{
			Name: in.name, Node: from.Name, Key: from.key, Manifest: from.manifest,
			open: func(name string) (*store.File, error) { return e.s.OpenFile(ctx, from.manifest, name) },
		}
	}
	bytes, err := sizer.Memory(ctx, inputs)
	if err != nil {
		e.log.Warn("memory is not known", "stage", n.Name, "error", err)
	}
	return bytes
}

// plan looks at one node whose inputs were looked at.
func (e *engine) plan(ctx context.Context, n *node) (Planned, error) {
	p := Planned{Stage: n.Name, Kind: n.Stage.Kind(), Key: n.key, State: Pending, Path: e.dir(n)}
	for _, in := range n.ins {
		ref := store.InputRef{Name: in.name, Key: in.from.key}
		if in.from.manifest != nil {
			ref.Digest = in.from.manifest.Digest
		}
		p.Inputs = append(p.Inputs, ref)
	}
	splitter, parted := n.Stage.(Splitter)
	if parted {
		p.Parts = -1
	}
	if mixer, ok := n.Stage.(Mixer); ok && n.ready() {
		inputs := make(map[string]*store.Manifest, len(n.ins))
		for _, in := range n.ins {
			inputs[in.name] = in.from.manifest
		}
		p.Mixture = mixer.Mixture(inputs)
	}
	switch {
	case errors.Is(n.err, errBlocked):
		p.State = Blocked
		return p, nil
	case n.err != nil:
		p.State, p.Err, p.Why = Refused, n.err, []string{n.err.Error()}
		return p, nil
	case n.files != nil:
		m := n.manifestOfFiles()
		n.manifest = &m
		p.State = Cached
		p.output(&m)
		return p, nil
	}
	m, err := e.s.Manifest(n.key)
	var damage []store.Damage
	switch {
	case err == nil:
		if damage = e.s.Check(ctx, m, false); len(damage) == 0 {
			n.manifest = m
			p.State = Cached
			p.output(m)
			if err := e.judge(n, m); err != nil {
				p.State, p.Err, p.Why = Rejected, err, []string{err.Error()}
			}
		} else {
			p.Why = []string{"damaged: " + damage[0].String()}
		}
	case errors.Is(err, store.ErrDamaged):
		p.Why = []string{err.Error()}
	case !errors.Is(err, store.ErrMissing):
		return p, err
	}
	if parted {
		if err := e.planParts(ctx, n, splitter, &p); err != nil {
			return p, err
		}
	}
	if p.State == Pending || p.State == Partial {
		if h, err := e.s.Holder(n.key); err == nil && h != nil {
			p.State, p.Owner, p.Progress = Running, h.String(), h.Progress
		}
		if step, ok := e.s.HasCheckpoint(n.key); ok {
			p.Why = append(p.Why, fmt.Sprintf("resumes at step %d", step))
		}
	}
	return p, ctx.Err()
}

func (p *Planned) output(m *store.Manifest) {
	p.Digest, p.Rows, p.Bytes, p.Dead = m.Digest, m.Rows, m.Bytes(), m.Dead
}

// planParts counts the parts of a node.
func (e *engine) planParts(ctx context.Context, n *node, sp Splitter, p *Planned) error {
	plan, err := e.s.ReadPlan(n.key)
	if errors.Is(err, store.ErrMissing) && e.o.PlanParts && n.ready() {
		if plan, err = e.sharedPlan(ctx, n, sp); err != nil {
			if onlyRefusals(err) {
				p.State, p.Err, p.Why = Refused, err, []string{err.Error()}
				return nil
			}
			return err
		}
	}
	if err != nil {
		return nil // not planned yet
	}
	p.Parts = len(plan.Parts)
	for _, q := range plan.Parts {
		if e.s.HasPart(q.Key) {
			p.PartsDone++
			continue
		}
		if p.State == Pending || p.State == Partial {
			if h, err := e.s.Holder(q.Key); err == nil && h != nil {
				p.Owner = h.String()
			}
		}
	}
	if p.State == Pending && p.PartsDone > 0 {
		p.State = Partial
	}
	if p.State == Partial && p.Owner != "" {
		p.State = Running
	}
	return nil
}

// ready reports whether all inputs of a node are there.
func (n *node) ready() bool {
	for _, in := range n.ins {
		if in.from.manifest == nil {
			return false
		}
	}
	return true
}

// why says what changed since the last output of the node of that name.
func (e *engine) why(n *node, p *Planned, root *store.Root) []string {
	if p.State == Cached || p.State == Rejected || n.key == "" || len(p.Why) > 0 {
		return nil
	}
	var last store.Key
	if root != nil && root.Nodes[n.Name].Kind == n.Stage.Kind() {
		last = root.Nodes[n.Name].Made
	}
	if last == "" {
		if last = lastKey(e.s, n.Name, n.Stage.Kind(), e.o.Job); last == "" {
			last = lastKey(e.s, n.Name, n.Stage.Kind(), "")
		}
	}
	switch {
	case last == "":
		return []string{"never made"}
	case last == n.key:
		return []string{"its output is gone"}
	}
	old, err := e.s.Manifest(last)
	if err != nil {
		return []string{fmt.Sprintf("another key than its last output %s, which is gone", last.Short())}
	}
	var out []string
	if v := n.Stage.Version(); old.Version != v {
		out = append(out, fmt.Sprintf("version %d -> %d", old.Version, v))
	}
	if old.Numerics != n.numerics {
		out = append(out, fmt.Sprintf("numerics %s -> %s", old.Numerics, n.numerics))
	}
	out = append(out, changes(old.Params, n.params, n.changed)...)
	return append(out, e.changedInputs(old, n)...)
}

// changedInputs compares the inputs of an old output with those of now.
func (e *engine) changedInputs(old *store.Manifest, n *node) []string {
	was := make(map[string]store.Key)
	for _, in := range old.Inputs {
		was[in.Name] = in.Key
	}
	var out []string
	for _, in := range n.ins {
		key, ok := was[in.name]
		delete(was, in.name)
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("input %s is new", in.name))
		case key == in.from.key:
		case in.from.listing != nil:
			out = append(out, fmt.Sprintf("input %s: %s", in.name, e.changedFiles(key, in.from.listing)))
		default:
			out = append(out, fmt.Sprintf("input %s: %s %s -> %s", in.name, in.from.Name, key.Short(), in.from.key.Short()))
		}
	}
	for _, name := range sortedKeys(was) {
		out = append(out, fmt.Sprintf("input %s is no longer there", name))
	}
	return out
}

// changedFiles says how raw files differ from those of an old output.
func (e *engine) changedFiles(key store.Key, now *listing) string {
	old, err := e.s.Manifest(key)
	if err != nil {
		return "other files than before"
	}
	was := make(map[string]string, len(old.Files))
	for _, f := range old.Files {
		was[f.Name] = f.SHA256
	}
	var changed, added, removed []string
	for _, f := range now.entries {
		sha, ok := was[f.Name]
		delete(was, f.Name)
		switch {
		case !ok:
			added = append(added, f.Name)
		case sha != f.SHA256:
			changed = append(changed, f.Name)
		}
	}
	removed = sortedKeys(was)
	var out []string
	for _, x := range []struct {
		what  string
		names []string
	}{{"changed", changed}, {"added", added}, {"removed", removed}} {
		switch len(x.names) {
		case 0:
		case 1, 2, 3:
			out = append(out, strings.Join(x.names, ", ")+" "+x.what)
		default:
			out = append(out, fmt.Sprintf("%d files %s (%s, ...)", len(x.names), x.what, x.names[0]))
		}
	}
	return strings.Join(out, "; ")
}

// Verify re-digests every output of the graph that exists and every raw file,
// whatever the digest cache says, and returns all that is damaged or missing.
// The next run makes damaged outputs anew; a changed raw file is no damage,
// but a file that cannot be read is.
func Verify(ctx context.Context, g Graph, o Options) ([]store.Damage, error) {
	e, err := newEngine(&g, o)
	if err != nil {
		return nil, err
	}
	if err := e.resolve(ctx); err != nil {
		return nil, err
	}
	var (
		keys  []store.Key
		found []store.Damage
	)
	for _, n := range e.nodes {
		switch {
		case n.listing != nil:
			for _, f := range n.listing.entries {
				d, ok, err := e.s.VerifyFile(ctx, filepath.Join(n.listing.root, filepath.FromSlash(f.Name)), f)
				if err != nil {
					return found, err
				}
				if !ok {
					d.Key, d.Kind = n.key, FilesKind
					found = append(found, d)
				}
			}
		case n.err != nil && !errors.Is(n.err, errBlocked):
			for _, r := range refusals(n.err) {
				found = append(found, store.Damage{Kind: n.Stage.Kind(), File: r.File, Path: r.File, Problem: "missing", Detail: r.Reason})
			}
		case n.key != "":
			keys = append(keys, n.key)
		}
	}
	if len(keys) == 0 {
		return found, nil
	}
	more, err := e.s.Verify(ctx, keys...)
	return append(found, more...), err
}
