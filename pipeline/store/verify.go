package store

import "context"

// A Damage is one file that is not what its manifest says.
type Damage struct {
	Key     Key    `json:"key"`
	Kind    string `json:"kind"`
	Part    bool   `json:"part"` // the manifest is of a part
	File    string `json:"file"` // its name in the manifest; "" if the manifest itself is damaged
	Path    string `json:"path"`
	Problem string `json:"problem"` // "missing", "size", "digest", "manifest"
	Detail  string `json:"detail"`
}

// Verify re-digests the files of the given outputs, or of all outputs and
// parts if none are given, whatever the digest cache says, and returns all
// that is damaged or missing. The next run rebuilds it.
func (s *Store) Verify(ctx context.Context, keys ...Key) ([]Damage, error) {
	panic("store: unfinished")
}
