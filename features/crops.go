package features

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"espalier/features/raster"
	"espalier/pipeline"
)

// A crop is one image on its way.
type crop struct {
	ref    imageRef
	im     *raster.Image // nil if it is dead
	reason string
	err    error // reading failed for no fault of the image
}

// crops decodes images side by side and gives them in order. At most a few
// batches are in memory. wait ends the work and waits for it.
func (e *Extract) crops(ctx context.Context, t *pipeline.Task, spec *Spec, images []imageRef) (out <-chan *crop, wait func()) {
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
			for j := range jobs {
				j.done <- cropOf(t.In["images"], dec, spec, j.ref)
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
func cropOf(in *pipeline.Input, dec *raster.Decoder, spec *Spec, r imageRef) *crop {
	c := &crop{ref: r, reason: r.Reason}
	if c.reason != "" {
		return c
	}
	data, err := readImage(in, &r)
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

func readImage(in *pipeline.Input, r *imageRef) (data []byte, err error) {
	if r.In == nil {
		return readFile(in, r.File)
	}
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
