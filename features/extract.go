package features

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"espalier/features/raster"
	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/store"
)

// batchImages is the number of images that go through the network at once.
const batchImages = 8

// Extract makes features of images with a CLIP image tower.
//
// Inputs: images (files, tar archives or Parquet tables of them, or a sample); examples, whose column image then says
// which images are wanted and what they are called; weights (a weights file, or
// the files of a sharded one). Without weights a random network of the same
// kind stands in, and the output says so. The output is grid.arrow shards of
// vectors, their ids the examples' image, else the lines of List, else the
// names of the files. An image that cannot be decoded is a dead letter.
//
// Parts are runs of images, sorted by id, whose borders are set by a hash of
// the id: one image more or less, or another content, re-does one part.
type Extract struct {
	Spec `yaml:",inline"`
	List []string `yaml:"list" json:"list,omitempty" doc:"ids of the images to take, in this order; default all"`
	// PartImages is the mean number of images of a part.
	PartImages int `yaml:"part_images" json:"part_images" doc:"mean number of images of a part; default 200"`
	MaxPixels  int `yaml:"max_pixels" json:"max_pixels" doc:"images that declare more pixels are dead letters; default 178956970, as Pillow"`

	open Opener // nil means the processor
}

// Kind is "features/extract".
func (*Extract) Kind() string { return "features/extract" }

// Version is raised when equal images would give other features.
func (*Extract) Version() int { return 4 }

// Numeric reports that Extract computes on a device.
func (*Extract) Numeric() bool { return true }

// Check fills in defaults and reports every fault.
func (e *Extract) Check() error {
	errs := []error{e.Spec.Check()}
	e.PartImages = cmp.Or(e.PartImages, 200)
	e.MaxPixels = cmp.Or(e.MaxPixels, raster.MaxPixels)
	if e.PartImages < 1 {
		errs = append(errs, fmt.Errorf("part_images: %d, want at least 1", e.PartImages))
	}
	if e.MaxPixels < 1 {
		errs = append(errs, fmt.Errorf("max_pixels: %d, want at least 1", e.MaxPixels))
	}
	return errors.Join(errs...)
}

// slice is the work of a part.
type slice struct {
	Weights string     `json:"weights,omitempty"` // digest
	Images  []imageRef `json:"images"`
}

// Plan lists the images and cuts the list where the hash of an id says so.
func (e *Extract) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	images := t.In["images"]
	if images == nil {
		return nil, errors.New("features/extract: no input named images")
	}
	entries, members, err := unpack(ctx, images)
	if err != nil {
		return nil, err
	}
	files := newFinder(entries)
	refs, err := e.refs(t, entries, members)
	if err != nil {
		return nil, err
	}
	if len(refs) == 0 {
		return nil, errors.New("features/extract: no images")
	}
	weights := ""
	if in := t.In["weights"]; in != nil {
		weights = inputDigest(in)
	}
	var parts []pipeline.Part
	from := 0
	for i := range refs {
		refs[i].File, refs[i].Reason = files.find(refs[i].ID)
		refs[i].Sum = files.sums[refs[i].File]
		if m, ok := members[refs[i].File]; ok {
			refs[i].In = &m
			if m.None {
				refs[i].Reason = "the row has no bytes"
			}
		}
		if i+1 < len(refs) && !border(refs[i].ID, e.PartImages) {
			continue
		}
		p, err := newPart(len(parts), slice{weights, refs[from : i+1]}, files)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
		from = i + 1
	}
	return parts, ctx.Err()
}

// refs lists the images that are wanted.
func (e *Extract) refs(t *pipeline.Task, files []store.FileEntry, members map[string]place) ([]imageRef, error) {
	var refs []imageRef
	if len(e.List) > 0 {
		seen := map[string]bool{}
		for _, id := range e.List {
			if !seen[id] {
				seen[id] = true
				refs = append(refs, imageRef{ID: id})
			}
		}
		return refs, nil
	}
	if ex := t.In["examples"]; ex != nil {
		return imagesOf(ex)
	}
	for _, f := range files {
		if isImageName(f.Name) || members[f.Name].Row {
			refs = append(refs, imageRef{ID: f.Name})
		}
	}
	slices.SortFunc(refs, func(a, b imageRef) int {
		if x, y := members[a.ID], members[b.ID]; x.Row && y.Row && x.File == y.File {
			return cmp.Compare(x.At, y.At) // as they are read fastest
		}
		return strings.Compare(a.ID, b.ID)
	})
	return refs, nil
}

// border reports whether a part ends behind an image.
func border(id string, mean int) bool {
	h := fnv.New64a()
	h.Write([]byte(id))
	sum := sha256.Sum256(h.Sum(nil)) // FNV's low bits are poor
	return binary.LittleEndian.Uint64(sum[:])%uint64(mean) == 0
}

// newPart names a part after all that decides its bytes: ids, files' contents
// and weights.
func newPart(index int, s slice, files *finder) (pipeline.Part, error) {
	h := sha256.New()
	fmt.Fprintf(h, "weights %s\n", s.Weights)
	for _, r := range s.Images {
		fmt.Fprintf(h, "%q %q %q %s %q\n", r.ID, r.Corpus, r.Task, files.sums[r.File], r.Reason)
	}
	text, err := json.Marshal(s)
	return pipeline.Part{Index: index, ID: hex.EncodeToString(h.Sum(nil)), Slice: text}, err
}

// inputDigest is WeightsDigest of an input's files.
func inputDigest(in *pipeline.Input) string {
	sums := map[string]string{}
	for _, f := range in.Manifest.Files {
		sums[f.Name] = f.SHA256
	}
	return joinDigests(sums)
}

// Run extracts the features of one part.
func (e *Extract) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) error {
	var s slice
	if err := json.Unmarshal(p.Slice, &s); err != nil {
		return fmt.Errorf("slice of part %d: %w", p.Index, err)
	}
	t.Meter.Expect(int64(len(s.Images)), "images")
	x, put, err := e.extractor(ctx, t, s.Weights)
	if err != nil {
		return err
	}
	defer put()
	known, forget, err := e.recall(ctx, t, x)
	if err != nil {
		return err
	}
	defer forget()
	w := &gridWriter{t: t, x: x}
	crops, wait := e.crops(ctx, t, &x.spec, s.Images, known)
	defer wait()
	var batch []*crop
	for c := range crops {
		t.Rows(1)
		t.Meter.Add(1)
		if c.err != nil {
			return c.err
		}
		batch = append(batch, c)
		if c.im == nil && c.row == nil {
			// Dead letters keep the order of the images: the rows before them go
			// first.
			if err := w.flush(&batch); err != nil {
				return err
			}
			continue
		}
		if len(batch) == batchImages {
			if err := w.flush(&batch); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.flush(&batch); err != nil {
		return err
	}
	return w.close(known)
}

// gridWriter puts batches through the network and writes their rows. The file
// is created with the first row.
type gridWriter struct {
	t    *pipeline.Task
	x    *Extractor
	file *store.OutFile
	rows *vectors.Writer
	sums []string // of the images of rows
}

// flush empties the batch.
func (w *gridWriter) flush(batch *[]*crop) error {
	defer func() { *batch = (*batch)[:0] }()
	var ims []*raster.Image
	for _, c := range *batch {
		if c.im != nil {
			ims = append(ims, c.im)
		}
	}
	var rows []*vectors.Row
	var reasons []string
	if len(ims) > 0 {
		var err error
		if rows, reasons, err = w.x.Run(ims); err != nil {
			return err
		}
	}
	for _, c := range *batch {
		row, reason := c.row, c.reason
		if c.im != nil {
			row, reason = rows[0], reasons[0]
			rows, reasons = rows[1:], reasons[1:]
		}
		if row == nil {
			if err := w.dead(c.ref, reason); err != nil {
				return err
			}
			continue
		}
		row.ID = c.ref.ID
		if err := w.write(row); err != nil {
			return err
		}
		w.sums = append(w.sums, c.ref.Sum)
	}
	return nil
}

func (w *gridWriter) write(r *vectors.Row) error {
	if w.rows == nil {
		o, err := w.x.Options()
		if err != nil {
			return err
		}
		if w.file, err = w.t.Out.Create(gridFile, o.Schema()); err != nil {
			return err
		}
		if w.rows, err = vectors.NewWriter(w.file, o); err != nil {
			return err
		}
	}
	return w.rows.Write(r)
}

func (w *gridWriter) dead(r imageRef, reason string) error {
	return w.t.Dead(pipeline.DeadLetter{Corpus: r.Corpus, Task: r.Task, File: cmp.Or(r.File, r.ID), Field: "image", Reason: reason, Raw: []byte(r.ID)})
}

func (w *gridWriter) close(known *memory) error {
	if w.rows == nil {
		return nil
	}
	if err := w.rows.Close(); err != nil {
		return err
	}
	if err := w.file.Close(w.rows.Rows()); err != nil {
		return err
	}
	return known.leave(w.t, w.sums)
}

// Finish notes what made the features.
func (e *Extract) Finish(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	spec, err := e.madeWith(t)
	if err != nil {
		return err
	}
	meta, err := spec.Metadata()
	if err != nil {
		return err
	}
	rows := int64(0)
	for i := range parts {
		for _, f := range t.Part(i).Files {
			if f.Schema == vectors.GridSchema {
				rows += f.Rows
			}
		}
	}
	t.Out.Note("features", meta[MetadataKey])
	t.Out.Note("images", strconv.FormatInt(rows, 10))
	t.Out.Note("network", spec.String())
	return nil
}
