package pipeline

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"

	"espalier/pipeline/store"
)

// lineage appends OpenLineage run events to a file: START when a node begins
// its work, then COMPLETE, FAIL or ABORT.
// See the OpenLineage specification, version 2-0-2, RunEvent.
type lineage struct {
	r      *recorder
	path   string
	failed bool
}

const (
	lineageProducer = "https://espalier.invalid/pipeline"
	lineageSchema   = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
)

type lineageEvent struct {
	EventType string           `json:"eventType"`
	EventTime string           `json:"eventTime"`
	Producer  string           `json:"producer"`
	SchemaURL string           `json:"schemaURL"`
	Run       lineageRun       `json:"run"`
	Job       lineageJob       `json:"job"`
	Inputs    []lineageDataset `json:"inputs"`
	Outputs   []lineageDataset `json:"outputs"`
}

type lineageRun struct {
	ID     string         `json:"runId"` // a UUID, the same for START and its end
	Facets map[string]any `json:"facets,omitempty"`
}

type lineageJob struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type lineageDataset struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Facets    map[string]any `json:"facets,omitempty"`
}

func (l *lineage) start(n *node) {
	if l != nil {
		l.event("START", n)
	}
}

// end is called for every node; those that had no work to do have no events.
func (l *lineage) end(n *node) {
	if l == nil {
		return
	}
	if _, began := l.r.start[n]; !began {
		return
	}
	switch n.state {
	case Done, Cached:
		l.event("COMPLETE", n)
	case Interrupted:
		l.event("ABORT", n)
	default:
		l.event("FAIL", n)
	}
}

func (l *lineage) event(kind string, n *node) {
	namespace := "file://" + l.r.e.s.Dir()
	ev := lineageEvent{
		EventType: kind, EventTime: stamp(l.r.e.now()), Producer: lineageProducer, SchemaURL: lineageSchema,
		Run:    lineageRun{ID: uuidOf(l.r.run + "\x00" + n.Name)},
		Job:    lineageJob{Namespace: "espalier", Name: n.Name},
		Inputs: []lineageDataset{}, Outputs: []lineageDataset{},
	}
	if n.runErr != nil && kind != "START" {
		ev.Run.Facets = map[string]any{"errorMessage": map[string]any{
			"_producer": lineageProducer, "_schemaURL": "https://openlineage.io/spec/facets/1-0-1/ErrorMessageRunFacet.json",
			"message": n.runErr.Error(), "programmingLanguage": "Go",
		}}
	}
	for _, in := range n.ins {
		ev.Inputs = append(ev.Inputs, dataset(namespace, in.from.key, in.from.manifest))
	}
	if n.key != "" {
		ev.Outputs = append(ev.Outputs, dataset(namespace, n.key, n.manifest))
	}
	if err := l.append(ev); err != nil && !l.failed {
		l.failed = true
		l.r.e.log.Warn("lineage not written", "error", err)
	}
}

func dataset(namespace string, key store.Key, m *store.Manifest) lineageDataset {
	d := lineageDataset{Namespace: namespace, Name: "outputs/" + string(key)}
	if m != nil {
		d.Facets = map[string]any{"version": map[string]any{
			"_producer": lineageProducer, "_schemaURL": "https://openlineage.io/spec/facets/1-0-1/DatasetVersionDatasetFacet.json",
			"datasetVersion": m.Digest,
		}}
	}
	return d
}

// append writes one line with one write, so that runners can share the file.
func (l *lineage) append(ev lineageEvent) error {
	text, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(text, '\n'))
	return err
}

// uuidOf returns a UUID of version 8 (RFC 9562) made of a name.
func uuidOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
