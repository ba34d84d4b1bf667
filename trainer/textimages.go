package trainer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/trainer/feed"
	"espalier/trainer/model/t5"
)

// isFeatures reports whether an input is image features: features, or several
// such as features-coco.
func isFeatures(name string) bool { return name == "features" || strings.HasPrefix(name, "features-") }

// openFeatures opens all image features of a stage, nil if it has none. An image
// that is in several must be the same in all.
func openFeatures(t *pipeline.Task, c *closer) (*vectors.Index, error) {
	var files []*vectors.File
	for _, name := range slices.Sorted(maps.Keys(t.In)) {
		if !isFeatures(name) {
			continue
		}
		more, err := openVectorFiles(t.In[name], c, nil)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		return nil, nil
	}
	x, err := vectors.JoinIndex(files...)
	if err != nil {
		return nil, fmt.Errorf("input features: %w", err)
	}
	return x, nil
}

// seenCells is how many vectors of an image a text model sees: the cells of a
// grid, pooled to a side of pool if that is not 0, or the most regions that an
// image has.
func seenCells(x *vectors.Index, pool int) (int, error) {
	o := x.Options()
	switch {
	case o.Height == 0 && pool != 0:
		return 0, errors.New("regions have no grid: model.pool cannot be")
	case pool > min(o.Height, o.Width) && o.Height > 0:
		return 0, fmt.Errorf("a grid of %d by %d, model.pool: %d", o.Height, o.Width, pool)
	case pool > 0:
		return pool * pool, nil
	case o.Height > 0:
		return o.Height * o.Width, nil
	}
	most := x.Most()
	if most == 0 {
		return 0, errors.New("no images")
	}
	return most, nil
}

// textImages gives a batch of features to the model: grids, or regions, the
// first ones of each image, padded with zeros to what the model sees.
func textImages(f *feed.Features, pool, cells int) t5.Images {
	if f.N == 0 {
		return t5.Images{}
	}
	im := t5.Images{Cells: f.Cells, Dim: f.Dim, Features: f.Values}
	boxes := f.Boxes
	if f.Counts != nil {
		im.Cells, im.Counts = cells, make([]int, f.N)
		for i, n := range f.Counts {
			im.Counts[i] = min(n, cells)
		}
		if f.Cells != cells {
			im.Features, boxes = resized(f.Values, f.N, f.Cells, cells, f.Dim), resized(f.Boxes, f.N, f.Cells, cells, 4)
		}
	}
	for i := 0; i+3 < len(boxes); i += 4 { // x1 y1 x2 y2 becomes x1 x2 y1 y2 and the area
		b := boxes[i:][:4]
		im.Boxes = append(im.Boxes, b[0], b[2], b[1], b[3], float32((b[2]-b[0])*(b[3]-b[1])))
	}
	if pool > 0 {
		im.Features, im.Cells = poolGrids(f.Values, f.N, f.Height, f.Width, f.Dim, pool), pool*pool
	}
	return im
}

// resized cuts the rows of each of n matrices [from, d] off, or adds zeros: [to, d].
func resized(x []float32, n, from, to, d int) []float32 {
	out := make([]float32, n*to*d)
	for i := range n {
		copy(out[i*to*d:][:to*d], x[i*from*d:][:from*d])
	}
	return out
}

// poolGrids takes the maximum of each of side by side parts of every grid, as
// PyTorch's adaptive_max_pool2d cuts them: part i has the rows floor(i h/side) to
// ceil((i+1) h/side), and so the columns. x is [n, h, w, dim].
func poolGrids(x []float32, n, h, w, dim, side int) []float32 {
	out := make([]float32, 0, n*side*side*dim)
	for k := range n {
		grid := x[k*h*w*dim:][:h*w*dim]
		for i := range side {
			for j := range side {
				at := len(out)
				first := true
				for r := i * h / side; r < ((i+1)*h+side-1)/side; r++ {
					for c := j * w / side; c < ((j+1)*w+side-1)/side; c++ {
						cell := grid[(r*w+c)*dim:][:dim]
						if first {
							out, first = append(out, cell...), false
							continue
						}
						for d, v := range cell {
							out[at+d] = max(out[at+d], v)
						}
					}
				}
			}
		}
	}
	return out
}
