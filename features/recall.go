package features

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/store"
)

// Files of a part.
const (
	gridFile = "grid.arrow"
	sumsFile = "images.sha256" // beside it: of the image of each row
)

// A memory finds features by what an image's file holds, in parts that were
// made by the same network in the same way: an image may stand in several
// corpora under several names. What is found has the bits that would be made, for
// what an image gives does not depend on the images beside it.
type memory struct {
	group string
	meta  string // description of how the features are made

	mu    sync.Mutex
	seen  map[store.Key]bool
	where map[string]memoryRow // by digest
	open  *memoryPart          // the part that was used last
}

type memoryRow struct {
	part store.Key
	row  int
}

type memoryPart struct {
	key  store.Key
	file *store.File
	rows *vectors.File
}

// recall returns the memory of a run, with what has been committed so far.
func (e *Extract) recall(ctx context.Context, t *pipeline.Task, x *Extractor) (m *memory, put func(), err error) {
	meta, err := x.spec.Metadata()
	if err != nil {
		return nil, nil, err
	}
	name := sha256.Sum256(fmt.Appendf(nil, "%s %d %s\n%s", e.Kind(), e.Version(), t.Env.Numerics, meta[MetadataKey]))
	group := hex.EncodeToString(name[:])
	v, release, err := t.Share(ctx, "features "+group, func(context.Context) (any, func(), error) {
		m := &memory{group: group, meta: meta[MetadataKey], seen: map[store.Key]bool{}, where: map[string]memoryRow{}}
		return m, m.close, nil
	})
	if err != nil {
		return nil, nil, err
	}
	m = v.(*memory)
	m.refresh(ctx, t)
	return m, release, nil
}

// refresh takes in parts that are new. One that cannot be read is passed over.
func (m *memory) refresh(ctx context.Context, t *pipeline.Task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys, err := t.Remembered(m.group)
	if err != nil {
		return
	}
	for _, key := range keys {
		if m.seen[key] || ctx.Err() != nil {
			continue
		}
		m.seen[key] = true
		f, err := t.OpenRemembered(ctx, key, sumsFile)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		if f.Close() != nil || err != nil {
			continue
		}
		for row, sum := range strings.Fields(string(text)) {
			if _, ok := m.where[sum]; !ok {
				m.where[sum] = memoryRow{key, row}
			}
		}
	}
}

// find returns the features of an image, nil if they are not known.
func (m *memory) find(ctx context.Context, t *pipeline.Task, r *imageRef) *vectors.Row {
	if r.Sum == "" || r.Reason != "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.where[r.Sum]
	if !ok {
		return nil
	}
	row := new(vectors.Row)
	if m.use(ctx, t, at.part) != nil || at.row >= m.open.rows.Len() || m.open.rows.Read(at.row, row) != nil {
		delete(m.where, r.Sum)
		return nil
	}
	return row
}

// use opens a part, if it is not the one that is open.
func (m *memory) use(ctx context.Context, t *pipeline.Task, key store.Key) error {
	if m.open != nil && m.open.key == key {
		return nil
	}
	m.shut()
	f, err := t.OpenRemembered(ctx, key, gridFile)
	if err != nil {
		return err
	}
	rows, err := vectors.Open(f, f.Size())
	if err == nil && rows.Options().Metadata[MetadataKey] != m.meta {
		err = ErrNoSpec
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	m.open = &memoryPart{key, f, rows}
	return nil
}

// leave writes the digests of the images of a part's rows and adds the part to
// the memory.
func (m *memory) leave(t *pipeline.Task, sums []string) error {
	if slices.Contains(sums, "") {
		return nil
	}
	if err := side(t, sumsFile, []byte(strings.Join(sums, "\n")+"\n")); err != nil {
		return err
	}
	t.Remember(m.group)
	return nil
}

func (m *memory) shut() {
	if m.open != nil {
		_ = m.open.file.Close() // of which only was read
		m.open = nil
	}
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut()
}
