package features

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"espalier/features/bottomup"
	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// Formats of region features.
const (
	TSV    = "tsv"    // of bottom-up attention
	LXMERT = "lxmert" // TSV of LXMERT
	Arrays = "arrays" // NPY or NPZ files, one an image
)

// Import turns region features that others made into vector shards.
//
// Inputs: raw (the files), and examples, whose images the rows are then named
// after and limited to: a row belongs to the example whose key, file stem or
// number at the end of the file stem is the row's id. The output is
// regions.arrow shards; boxes are relative to the image, clipped to [0, 1].
// A bad row is a dead letter, and so is a good one of an image that had one.
type Import struct {
	Format string `yaml:"format" json:"format" doc:"tsv (bottom-up attention, default), lxmert or arrays (NPY or NPZ, one file an image)"`
	DType  string `yaml:"dtype" json:"dtype" doc:"float32 (default) or float16"`
	// Features and Boxes are folders of arrays below the root of raw.
	Features   string `yaml:"features" json:"features" doc:"arrays: folder of the features; default att"`
	Boxes      string `yaml:"boxes" json:"boxes" doc:"arrays: folder of the boxes relative to the image; default box_relative"`
	Key        string `yaml:"array" json:"array" doc:"arrays: name of the array in an NPZ file; default feat"`
	PartImages int    `yaml:"part_images" json:"part_images" doc:"arrays: mean number of images of a part; default 2000"`
}

// Kind is "features/import".
func (*Import) Kind() string { return "features/import" }

// Version is raised when equal files would give other rows.
func (*Import) Version() int { return 1 }

// Check fills in defaults and reports every fault.
func (m *Import) Check() error {
	m.Format = cmp.Or(m.Format, TSV)
	m.DType = cmp.Or(m.DType, Float32)
	m.Features = cmp.Or(m.Features, "att")
	m.Boxes = cmp.Or(m.Boxes, "box_relative")
	m.Key = cmp.Or(m.Key, "feat")
	m.PartImages = cmp.Or(m.PartImages, 2000)
	var errs []error
	if m.Format != TSV && m.Format != LXMERT && m.Format != Arrays {
		errs = append(errs, fmt.Errorf("format: %q, want %s, %s or %s", m.Format, TSV, LXMERT, Arrays))
	}
	if m.DType != Float16 && m.DType != Float32 {
		errs = append(errs, fmt.Errorf("dtype: %q, want float16 or float32", m.DType))
	}
	if m.PartImages < 1 {
		errs = append(errs, fmt.Errorf("part_images: %d, want at least 1", m.PartImages))
	}
	return errors.Join(errs...)
}

// arrayPair is the two files of one image.
type arrayPair struct {
	ID       string `json:"id"`
	Features string `json:"features"`
	Boxes    string `json:"boxes,omitempty"`
}

// importSlice is the work of a part: one TSV, or some images' arrays.
type importSlice struct {
	File   string      `json:"file,omitempty"`
	Arrays []arrayPair `json:"arrays,omitempty"`
}

// namesFile is the side file of the plan: the rows that examples want, each
// under all its ids.
const namesFile = "names.json"

// Plan makes a part of each TSV, or cuts the arrays where the hash of an id
// says so.
func (m *Import) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	raw := t.In["raw"]
	if raw == nil {
		return nil, errors.New("features/import: no input named raw")
	}
	sums := map[string]string{}
	for _, f := range raw.Manifest.Files {
		if s := strings.ToLower(path.Ext(f.Name)); s == ".h5" || s == ".hdf5" {
			return nil, &pipeline.RefusedError{File: f.Name, Offset: -1, Reason: bottomup.ErrHDF5.Error()}
		}
		sums[f.Name] = f.SHA256
	}
	names, err := m.names(t)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	if err := side(t, namesFile, text); err != nil {
		return nil, err
	}
	joined := sha256.Sum256(text)
	var parts []pipeline.Part
	add := func(s importSlice) error {
		h := sha256.New()
		fmt.Fprintf(h, "names %x\n%q %s\n", joined, s.File, sums[s.File])
		for _, a := range s.Arrays {
			fmt.Fprintf(h, "%q %q %s %q %s\n", a.ID, a.Features, sums[a.Features], a.Boxes, sums[a.Boxes])
		}
		slice, err := json.Marshal(s)
		parts = append(parts, pipeline.Part{Index: len(parts), ID: hex.EncodeToString(h.Sum(nil)), Slice: slice})
		return err
	}
	if m.Format != Arrays {
		for _, f := range raw.Manifest.Files {
			if strings.Contains(path.Base(f.Name), ".tsv") {
				if err := add(importSlice{File: f.Name}); err != nil {
					return nil, err
				}
			}
		}
	} else if err := m.planArrays(raw, sums, add); err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("features/import: no files of format %s among %d", m.Format, len(raw.Manifest.Files))
	}
	return parts, ctx.Err()
}

// planArrays pairs the files of the two folders by their stems.
func (m *Import) planArrays(raw *pipeline.Input, sums map[string]string, add func(importSlice) error) error {
	var s importSlice
	for _, f := range raw.Manifest.Files { // sorted
		rest, ok := strings.CutPrefix(f.Name, m.Features+"/")
		ext := path.Ext(rest)
		if !ok || ext != ".npy" && ext != ".npz" {
			continue
		}
		a := arrayPair{ID: strings.TrimSuffix(rest, ext), Features: f.Name}
		for _, e := range []string{".npy", ".npz"} {
			if b := m.Boxes + "/" + a.ID + e; sums[b] != "" {
				a.Boxes = b
				break
			}
		}
		s.Arrays = append(s.Arrays, a)
		if border(a.ID, m.PartImages) {
			if err := add(s); err != nil {
				return err
			}
			s = importSlice{}
		}
	}
	if len(s.Arrays) == 0 {
		return nil
	}
	return add(s)
}

func side(t *pipeline.Task, name string, text []byte) error {
	f, err := t.Out.Side(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Close(0)
}

// keyedImage is what Import reads of an example.
type keyedImage struct {
	Key   string  `parquet:"key"`
	Image *string `parquet:"image,optional"`
}

// names maps the ids that a row may have to images; empty without examples. An
// id that fits two images names neither.
func (m *Import) names(t *pipeline.Task) (map[string]string, error) {
	names := map[string]string{}
	in := t.In["examples"]
	if in == nil {
		return names, nil
	}
	put := func(id, image string) {
		if have, ok := names[id]; ok && have != image {
			image = ""
		}
		names[id] = image
	}
	for _, e := range in.Manifest.Files {
		if !strings.HasPrefix(e.Schema, "example/") {
			continue
		}
		if err := eachRow(in, e, func(x keyedImage) {
			if x.Image == nil {
				return
			}
			stem := strings.TrimSuffix(path.Base(*x.Image), path.Ext(*x.Image))
			ids := map[string]bool{x.Key: true, stem: true, trailingNumber(stem): true}
			delete(ids, "")
			for id := range ids {
				put(id, *x.Image)
			}
		}); err != nil {
			return nil, fmt.Errorf("input %s: %s: %w", in.Name, e.Name, err)
		}
	}
	return names, nil
}

// trailingNumber is the number that a name ends with, without leading zeros.
func trailingNumber(s string) string {
	digits := s[len(strings.TrimRight(s, "0123456789")):]
	if digits == "" {
		return ""
	}
	return cmp.Or(strings.TrimLeft(digits, "0"), "0")
}

// eachRow calls each for every row of a shard.
func eachRow[T any](in *pipeline.Input, e store.FileEntry, each func(T)) (err error) {
	f, err := in.Open(e.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := shard.Open[T](f, f.Size())
	if err != nil {
		return err
	}
	for x, err := range r.All() {
		if err != nil {
			return err
		}
		each(x)
	}
	return nil
}

// Run imports one part.
func (m *Import) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) error {
	var s importSlice
	if err := json.Unmarshal(p.Slice, &s); err != nil {
		return fmt.Errorf("slice of part %d: %w", p.Index, err)
	}
	w := &regionWriter{m: m, t: t, names: map[string]string{}, seen: map[string]bool{}}
	f, err := t.OpenSide(namesFile)
	if err != nil {
		return err
	}
	err = json.NewDecoder(io.NewSectionReader(f, 0, f.Size())).Decode(&w.names)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", namesFile, err)
	}
	if s.File != "" {
		err = m.runTSV(ctx, t, s.File, w)
	} else {
		err = m.runArrays(ctx, t, s.Arrays, w)
	}
	if err != nil {
		return err
	}
	return w.close()
}

func (m *Import) runTSV(ctx context.Context, t *pipeline.Task, name string, w *regionWriter) (err error) {
	f, err := t.In["raw"].Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t.Meter.Expect(f.Size(), "bytes")
	layout := bottomup.BottomUp
	if m.Format == LXMERT {
		layout = bottomup.LXMERT
	}
	at := int64(0)
	begin := func(x bottomup.Fault) error {
		t.RowsIn(name, 1)
		t.Meter.Add(x.Offset - at)
		at = x.Offset
		return ctx.Err()
	}
	return bottomup.ReadTSV(io.NewSectionReader(f, 0, f.Size()), layout, func(r *bottomup.Row, x bottomup.Fault) error {
		if err := begin(x); err != nil {
			return err
		}
		row := vectors.Row{ID: r.ID, Count: r.Count, Dim: r.Dim, Values: r.Features, Boxes: r.Relative()}
		return w.put(&row, func(reason string) error {
			x.Reason = reason
			return deadLine(t, name, x)
		})
	}, func(x bottomup.Fault) error {
		if err := begin(x); err != nil {
			return err
		}
		return deadLine(t, name, x)
	})
}

func deadLine(t *pipeline.Task, name string, x bottomup.Fault) error {
	line, offset := x.Line, x.Offset
	return t.Dead(pipeline.DeadLetter{File: name, Line: &line, Offset: &offset, Field: x.Field, Reason: x.Reason, Raw: []byte(x.ID)})
}

func (m *Import) runArrays(ctx context.Context, t *pipeline.Task, pairs []arrayPair, w *regionWriter) error {
	t.Meter.Expect(int64(len(pairs)), "images")
	for _, a := range pairs {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.Rows(1)
		t.Meter.Add(1)
		dead := func(reason string) error {
			return t.Dead(pipeline.DeadLetter{File: a.Features, Reason: reason, Raw: []byte(a.ID)})
		}
		row, reason, err := m.pair(t.In["raw"], a)
		switch {
		case err != nil:
		case reason != "":
			err = dead(reason)
		default:
			err = w.put(row, dead)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pair reads the arrays of one image.
func (m *Import) pair(in *pipeline.Input, a arrayPair) (row *vectors.Row, reason string, err error) {
	if a.Boxes == "" {
		return nil, fmt.Sprintf("no boxes in %s", m.Boxes), nil
	}
	var arrays [2]*bottomup.Array
	for i, name := range []string{a.Features, a.Boxes} {
		data, err := readFile(in, name)
		if err != nil {
			return nil, "", err
		}
		x, err := bottomup.ReadArray(data, m.Key)
		if err != nil {
			return nil, fmt.Sprintf("%s: %v", name, err), nil
		}
		if len(x.Shape) != 2 {
			return nil, fmt.Sprintf("%s: shape %v, want two axes", name, x.Shape), nil
		}
		arrays[i] = x
	}
	f, b := arrays[0], arrays[1]
	if b.Shape[1] != 4 || b.Shape[0] != f.Shape[0] {
		return nil, fmt.Sprintf("boxes of shape %v for features of shape %v", b.Shape, f.Shape), nil
	}
	for i, v := range b.Data {
		if v > 2 || v < -1 {
			return nil, fmt.Sprintf("box coordinate %g: boxes must be relative to the image", v), nil
		}
		b.Data[i] = min(max(v, 0), 1)
	}
	return &vectors.Row{ID: a.ID, Count: f.Shape[0], Dim: f.Shape[1], Values: f.Data, Boxes: b.Data}, "", nil
}

// regionWriter names rows and writes them.
type regionWriter struct {
	m     *Import
	t     *pipeline.Task
	names map[string]string
	seen  map[string]bool
	dim   int
	file  *store.OutFile
	rows  *vectors.Writer
}

// put writes a row, leaves it out if no example wants it, or calls dead.
func (w *regionWriter) put(r *vectors.Row, dead func(reason string) error) error {
	if len(w.names) > 0 {
		image, ok := w.names[r.ID]
		if !ok {
			return nil
		}
		if image == "" {
			return dead("the id fits several images")
		}
		r.ID = image
	}
	if w.seen[r.ID] {
		return dead("the image has features already")
	}
	if r.Count == 0 {
		return dead("no regions")
	}
	if w.rows == nil {
		o := vectors.Options{Dim: r.Dim, Half: w.m.DType == Float16, Metadata: map[string]string{"espalier.regions": w.m.Format}}
		var err error
		if w.file, err = w.t.Out.Create("regions.arrow", o.Schema()); err != nil {
			return err
		}
		if w.rows, err = vectors.NewWriter(w.file, o); err != nil {
			return err
		}
		w.dim = r.Dim
	}
	if r.Dim != w.dim {
		return dead(fmt.Sprintf("features of %d numbers, those before have %d", r.Dim, w.dim))
	}
	for _, list := range [][]float32{r.Values, r.Boxes} {
		for i, v := range list {
			if v != v || v-v != 0 {
				return dead(fmt.Sprintf("value %d is no finite number", i))
			}
		}
	}
	w.seen[r.ID] = true
	return w.rows.Write(r)
}

func (w *regionWriter) close() error {
	if w.rows == nil {
		return nil
	}
	if err := w.rows.Close(); err != nil {
		return err
	}
	return w.file.Close(w.rows.Rows())
}

// Finish refuses an image that two files hold.
func (m *Import) Finish(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	seen := map[string]bool{}
	for i := range parts {
		for _, e := range t.Part(i).Files {
			if e.Schema != vectors.RegionSchema {
				continue
			}
			if err := m.collect(t, i, e.Name, seen); err != nil {
				return err
			}
		}
	}
	t.Out.Note("images", strconv.Itoa(len(seen)))
	t.Out.Note("network", "imported region features, format "+m.Format)
	return ctx.Err()
}

func (m *Import) collect(t *pipeline.Task, part int, name string, seen map[string]bool) (err error) {
	f, err := t.OpenPart(part, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	v, err := vectors.Open(f, f.Size())
	if err != nil {
		return err
	}
	for i := range v.Len() {
		if id := v.ID(i); seen[id] {
			return &pipeline.RefusedError{File: id, Offset: -1, Reason: "the image has features in two files"}
		} else {
			seen[id] = true
		}
	}
	return nil
}
