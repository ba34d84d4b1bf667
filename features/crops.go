package features

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"espalier/features/raster"
	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// A crop is one image on its way.
type crop struct {
	ref    imageRef
	im     *raster.Image // nil if it is dead, or
	row    *vectors.Row  // its features are known
	reason string
	err    error // reading failed for no fault of the image
}

// crops decodes images side by side and gives them in order. At most a few
// batches are in memory. wait ends the work and waits for it.
func (e *Extract) crops(ctx context.Context, t *pipeline.Task, spec *Spec, images []imageRef, known *memory) (out <-chan *crop, wait func()) {
	ctx, cancel := context.WithCancel(ctx)
	workers := max(t.Env.Threads, 1)
	type job struct {
		ref  imageRef
		done chan *crop
	}
	jobs := make(chan job)
	queue := make(chan chan *crop, 2*batchImages)
	ordered := make(chan *crop)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(jobs)
		defer close(queue)
		for _, r := range images {
			j := job{r, make(chan *crop, 1)}
			select {
			case queue <- j.done:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return
			}
		}
	})
	for range workers {
		wg.Go(func() {
			dec := &raster.Decoder{MaxPixels: e.MaxPixels}
			src := &source{in: t.In["images"]}
			defer src.close()
			for j := range jobs {
				if row := known.find(ctx, t, &j.ref); row != nil {
					j.done <- &crop{ref: j.ref, row: row}
					continue
				}
				j.done <- cropOf(src, dec, spec, j.ref)
			}
		})
	}
	wg.Go(func() {
		defer close(ordered)
		for done := range queue {
			select {
			case c := <-done:
				select {
				case ordered <- c:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return ordered, func() { cancel(); wg.Wait() }
}

// cropOf reads and cuts one image.
func cropOf(src *source, dec *raster.Decoder, spec *Spec, r imageRef) *crop {
	c := &crop{ref: r, reason: r.Reason}
	if c.reason != "" {
		return c
	}
	data, err := src.read(&r)
	if err != nil {
		c.err = err
		return c
	}
	if c.im, err = spec.Crop(dec, data); err != nil {
		c.reason = reasonOf(err)
	}
	return c
}

// reasonOf says why an image is dead.
func reasonOf(err error) string {
	var refused *raster.Error
	if !errors.As(err, &refused) {
		return err.Error()
	}
	if refused.Format == "" {
		return refused.Reason
	}
	return string(refused.Format) + ": " + refused.Reason
}

// A source reads images of an input. It keeps the table open that it read
// last. It is used from one goroutine at a time.
type source struct {
	in    *pipeline.Input
	name  string
	file  *store.File
	table *shard.Blobs
}

func (s *source) read(r *imageRef) ([]byte, error) {
	switch {
	case r.In == nil:
		return readFile(s.in, r.File)
	case r.In.Row:
		return s.row(r.In)
	}
	return readPart(s.in, r)
}

func (s *source) row(p *place) (data []byte, err error) {
	if s.table == nil || s.name != p.File {
		s.close()
		if s.file, err = s.in.Open(p.File); err != nil {
			return nil, err
		}
		s.name = p.File
		if s.table, err = shard.OpenBlobs(s.file, s.file.Size()); err != nil {
			return nil, fmt.Errorf("open %s: %w", p.File, err)
		}
	}
	if data, err = s.table.Read(p.At); err != nil {
		return nil, fmt.Errorf("read %s: %w", p.File, err)
	}
	return data, nil
}

// close lets the table go, of which only was read.
func (s *source) close() {
	if s.table != nil {
		_ = s.table.Close()
	}
	if s.file != nil {
		_ = s.file.Close()
	}
	s.file, s.table = nil, nil
}

func readPart(in *pipeline.Input, r *imageRef) (data []byte, err error) {
	f, err := in.Open(r.In.File)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data = make([]byte, r.In.Size)
	if _, err := f.ReadAt(data, r.In.At); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", r.File, err)
	}
	return data, nil
}

func readFile(in *pipeline.Input, name string) (data []byte, err error) {
	f, err := in.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data = make([]byte, f.Size())
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}
