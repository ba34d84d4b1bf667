package pipeline

import (
	"fmt"

	"espalier/pipeline/store"
)

// Ancestors returns the manifests of the task's inputs and of all that they
// were made from, each once, parents before what was made from them, for
// stages that tell how a number came to be. Everything in them follows from
// the keys of the inputs; the names that a job gives its stages do not, and
// are not part of a manifest. An ancestor whose output was removed from the
// store is an error.
func (t *Task) Ancestors() ([]*store.Manifest, error) { return t.engine.ancestors() }

func (s *taskState) ancestors() ([]*store.Manifest, error) {
	var out []*store.Manifest
	seen := make(map[store.Key]bool)
	var walk func(n *node) error
	walk = func(n *node) error {
		for _, in := range n.ins {
			from := in.from
			if seen[from.key] {
				continue
			}
			seen[from.key] = true
			if err := walk(from); err != nil {
				return err
			}
			m := from.manifest
			if m == nil {
				var err error
				if m, err = s.engine.s.Manifest(from.key); err != nil {
					return fmt.Errorf("stage %s, from which %s was made: %w", from.Name, n.Name, err)
				}
			}
			out = append(out, m)
		}
		return nil
	}
	return out, walk(s.node)
}
