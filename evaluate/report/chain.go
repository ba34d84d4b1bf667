package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

// A step is one output of the chain that led to the report.
type step struct {
	Kind   string
	Key    string // the whole key; the page's anchors
	Short  string
	Digest string // the first digits
	Rows   string
	Files  string
	From   []link
	Params string
}

// A link is one input of a step.
type link struct{ Name, Kind, Key, Short string }

// chain describes manifests, parents first.
func chain(ms []*store.Manifest) []step {
	kinds := make(map[store.Key]string)
	var out []step
	for _, m := range ms {
		kinds[m.Key] = m.Kind
		s := step{Kind: m.Kind, Key: string(m.Key), Short: m.Key.Short(), Digest: store.Key(m.Digest).Short(), Params: params(m.Params)}
		if m.Rows > 0 {
			s.Rows = grouped(m.Rows)
		}
		var size int64
		for _, f := range m.Files {
			size += f.Bytes
		}
		s.Files = fmt.Sprintf("%s, %s", count(len(m.Files), "file"), bytesText(size))
		if m.Numerics != "" {
			s.Params = strings.TrimPrefix(s.Params+"; numerics "+m.Numerics, "; ")
		}
		for _, in := range m.Inputs {
			s.From = append(s.From, link{in.Name, kinds[in.Key], string(in.Key), in.Key.Short()})
		}
		if m.Kind == pipeline.FilesKind {
			s.Params = ""
		}
		out = append(out, s)
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", grouped(int64(n)), what)
}

// bytesText writes a size in powers of 1,000.
func bytesText(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	f, u := float64(n), 0
	for f >= 999.5 && u < len(units)-1 {
		f /= 1000
		u++
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", f, units[u])
}

// params writes the fields of a stage that are set, in order of their names.
func params(raw json.RawMessage) string {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	if dec.Decode(&m) != nil {
		return ""
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if s := plain(m[k]); s != "" {
			parts = append(parts, k+": "+s)
		}
	}
	return strings.Join(parts, "; ")
}
