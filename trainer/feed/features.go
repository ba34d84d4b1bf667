package feed

import (
	"fmt"

	"espalier/features/vectors"
)

// Features are the vectors of a batch of images, padded to the largest number
// with zeros.
type Features struct {
	N      int       // images
	Cells  int       // vectors of an image, padding included
	Dim    int       // length of a vector
	Values []float32 // [N, Cells, Dim]
	Counts []int     // real vectors of each image, the first ones; nil: all are real
	Boxes  []float32 // [N, Cells, 4]; nil for grids
	Height int       // of a grid: Height*Width = Cells
	Width  int

	counts []int
}

// Load fills f with the features of images, reading each with one pread (two
// for regions). It uses the room of f's slices.
func (f *Features) Load(x *vectors.Index, images []string) error {
	o := x.Options()
	f.N, f.Dim, f.Height, f.Width, f.Cells = len(images), o.Dim, o.Height, o.Width, o.Height*o.Width
	regions := f.Cells == 0
	f.Counts, f.counts = nil, f.counts[:0]
	files := make([]*vectors.File, len(images))
	rows := make([]int, len(images))
	for i, id := range images {
		var ok bool
		if files[i], rows[i], ok = x.Find(id); !ok {
			return fmt.Errorf("image %q has no features", id)
		}
		if regions {
			n := files[i].Count(rows[i])
			if n == 0 {
				return fmt.Errorf("image %q has no regions", id)
			}
			f.counts = append(f.counts, n)
			f.Cells = max(f.Cells, n)
		}
	}
	f.Values = room(f.Values, f.N*f.Cells*f.Dim)
	if !regions {
		f.Boxes = nil
		for i := range images {
			size := f.Cells * f.Dim
			if err := files[i].ReadValues(rows[i], f.Values[i*size:][:size]); err != nil {
				return fmt.Errorf("image %q: %w", images[i], err)
			}
		}
		return nil
	}
	f.Counts, f.Boxes = f.counts, room(f.Boxes, f.N*f.Cells*4)
	for i, n := range f.Counts {
		values, boxes := f.Values[i*f.Cells*f.Dim:][:f.Cells*f.Dim], f.Boxes[i*f.Cells*4:][:f.Cells*4]
		if err := files[i].ReadValues(rows[i], values[:n*f.Dim]); err != nil {
			return fmt.Errorf("image %q: %w", images[i], err)
		}
		if err := files[i].ReadBoxes(rows[i], boxes[:4*n]); err != nil {
			return fmt.Errorf("image %q: %w", images[i], err)
		}
		clear(values[n*f.Dim:])
		clear(boxes[4*n:])
	}
	return nil
}

func room(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}
