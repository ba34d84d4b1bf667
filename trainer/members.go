package trainer

import (
	"errors"
	"fmt"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/preprocess/split"
	"espalier/tokenize/tokens"
)

// A membership says to which split examples belong, whatever split they were
// published in: what preprocess/split stages drew.
type membership struct {
	of map[string]string // by id
}

// isMembers reports whether an input is the output of a preprocess/split stage.
func isMembers(in *pipeline.Input) bool {
	for _, e := range in.Manifest.Files {
		if e.Schema == split.Schema {
			return true
		}
	}
	return false
}

// readMembers reads all memberships among the inputs of a task. An example that
// is in two of them has to be in the same split of both.
func readMembers(t *pipeline.Task) (m membership, err error) {
	m.of = map[string]string{}
	var files closer
	defer func() { err = errors.Join(err, files.Close()) }()
	for _, in := range t.In {
		if !isMembers(in) {
			continue
		}
		var entries []store.FileEntry
		for _, e := range in.Manifest.Files {
			if e.Schema == split.Schema {
				entries = append(entries, e)
			}
		}
		shards, err := openShards[split.Member](in, entries, &files)
		if err != nil {
			return m, err
		}
		for _, s := range shards {
			for row, err := range s.All() {
				if err != nil {
					return m, fmt.Errorf("input %s: %w", in.Name, err)
				}
				if was, ok := m.of[row.ID]; ok && was != row.Split {
					return m, fmt.Errorf("input %s: %s is in split %s, and in %s of another input", in.Name, row.ID, row.Split, was)
				}
				m.of[row.ID] = row.Split
			}
		}
	}
	return m, nil
}

// A selection is the token shards that have a split's rows, and which of their
// examples these are; nil: all.
type selection struct {
	files []store.FileEntry
	keep  func(id string) bool
}

// choose selects a split of token shards. If a membership has the split for the
// corpus and task of the shards, it decides alone; else the split is that of the
// shards, without what a membership moved elsewhere.
func (m membership) choose(in *pipeline.Input, name string) (s selection, err error) {
	if len(m.of) == 0 {
		s.files, err = published(in, name)
		return s, err
	}
	var all []store.FileEntry
	for _, e := range in.Manifest.Files {
		if e.Schema == tokens.Schema {
			all = append(all, e)
		}
	}
	if m.covers(taskPrefix(in, all), name) {
		return selection{all, func(id string) bool { return example.SameSplit(m.of[id], name) }}, nil
	}
	if s.files, err = published(in, name); err != nil {
		return s, err
	}
	s.keep = func(id string) bool {
		to, moved := m.of[id]
		return !moved || example.SameSplit(to, name)
	}
	return s, nil
}

// published returns the shards of a split as it was published. MNLI, which has
// two of validation and test, means the matched one.
func published(in *pipeline.Input, name string) ([]store.FileEntry, error) {
	_, files, err := splitShards(in, name)
	if err != nil {
		if matched := in.Shards(example.Standard(name) + "_matched"); len(matched) > 0 {
			return matched, nil
		}
	}
	return files, err
}

// covers reports whether there are members of a split whose ids have a prefix.
func (m membership) covers(prefix, name string) bool {
	for id, to := range m.of {
		if strings.HasPrefix(id, prefix) && example.SameSplit(to, name) {
			return true
		}
	}
	return false
}

// taskPrefix is what all ids of an input begin with: corpus and task.
func taskPrefix(in *pipeline.Input, files []store.FileEntry) string {
	row, err := firstRow(in, files)
	if err != nil {
		return ""
	}
	parts := strings.SplitN(row.ID, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/") + "/"
}
