package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"espalier/features"
	"espalier/features/raster"
	"espalier/pipeline"
)

// A digestRecord is one image of features --digest.
type digestRecord struct {
	Image  string `json:"image"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of the RGB bytes that the network sees
	Error  string `json:"error,omitempty"`
}

// digestImages prints a digest of what a network would see of each image of a
// folder, or of a list, a path a line.
func digestImages(ctx context.Context, c *console, list string, transform raster.Transform, size int) error {
	ids, paths, err := imagesOf(list)
	if err != nil {
		return err
	}
	var dec raster.Decoder
	failed := 0
	for i, id := range ids {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rec := digestImage(&dec, id, paths[i], transform, size)
		if rec.Error != "" {
			failed++
		}
		if err := c.json(rec); err != nil {
			return err
		}
	}
	if failed > 0 {
		c.warn("%d images could not be read", failed)
	}
	return nil
}

func digestImage(dec *raster.Decoder, id, path string, transform raster.Transform, size int) digestRecord {
	rec := digestRecord{Image: id}
	data, err := os.ReadFile(path)
	if err == nil {
		var im *raster.Image
		if im, err = dec.Decode(data); err == nil {
			if im, err = transform.Apply(im, size, raster.AcrossFirst); err == nil {
				sum := sha256.Sum256(im.Pix)
				rec.Width, rec.Height, rec.SHA256 = im.Width, im.Height, hex.EncodeToString(sum[:])
				return rec
			}
		}
	}
	rec.Error = err.Error()
	return rec
}

var featuresVerb = verb{
	name:  "features",
	args:  "--images DIR|LIST|SHARDS",
	short: "turn images into feature grids, or show or digest what a network sees of them",
	example: []string{
		"espalier features --weights RN101.pt --images photos --out out/grids",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var e features.Extract
		images := f.String("images", "", "`PATH` of a folder, of a tar or Parquet shard of images, or of a list of paths")
		weights := f.String("weights", "", "`FILE` of CLIP weights, as published or safetensors; without, a random network")
		f.StringVar((*string)(&e.Tap), "tap", "", "`WHAT`: grid (default), grid-projected, penultimate, class-tokens or embedding")
		f.StringVar((*string)(&e.Transform), "transform", "", "`HOW` cut: clip (default), clip-rgb-first, stretch, hf-pil, hf-default or none")
		f.IntVar(&e.Size, "size", 0, "side of what the network sees in pixels (default the weights', or 224): `N`")
		f.StringVar(&e.DType, "dtype", "", "`TYPE` of stored values: float16 (default) or float32")
		f.StringVar(&e.Precision, "precision", "", "`TYPE` in which the network multiplies: float32 (default) or bfloat16")
		f.IntVar(&e.Heads, "heads", 0, "heads of the attention (default channels/64): `N`")
		f.BoolVar(&e.Pillow13, "pillow13", false, "resize in the pass order of Pillow 13, not of those before")
		digest := f.Bool("digest", false, "only print size and SHA-256 of the RGB bytes that a network would see")
		preview := f.String("preview", "", "write what the network sees of each image to `DIR` as PNG")
		d.add(f)
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			if *images == "" {
				return usagef("want --images DIR, LIST or SHARDS")
			}
			if *digest {
				if e.Transform == "" {
					e.Transform = raster.CLIP
				}
				if err := e.Transform.Check(); err != nil {
					return usagef("--transform %v", err)
				}
				if e.Size < 0 {
					return usagef("--size %d: want at least 1", e.Size)
				}
				return digestImages(ctx, c, *images, e.Transform, cmp.Or(e.Size, 224))
			}
			if *preview != "" {
				if err := writePreview(ctx, c, &features.Preview{Spec: e.Spec, Weights: *weights, Dir: *preview}, *images); err != nil || d.out == "" {
					return err
				}
			}
			g, err := extraction(&e, *images, *weights)
			if err != nil {
				return err
			}
			return d.make(ctx, c, g, "features")
		}
	},
}

// writePreview shows what the network sees.
func writePreview(ctx context.Context, c *console, p *features.Preview, images string) error {
	if err := p.Spec.Check(); err != nil {
		return usagef("%v", err)
	}
	ids, paths, err := imagesOf(images)
	if err != nil {
		return err
	}
	failed := 0
	err = p.Write(ctx, ids, paths, func(id, reason string) {
		failed++
		c.warn("%s: %s", id, reason)
	})
	if err == nil {
		_, err = fmt.Fprintf(c.out, "%s: %d images\n", p.Dir, len(ids)-failed)
	}
	return err
}

// imagesOf lists the images of a folder or of a list.
func imagesOf(images string) (ids, paths []string, err error) {
	info, err := os.Stat(images)
	if err != nil {
		return nil, nil, usagef("%v", err)
	}
	switch {
	case info.IsDir():
		return features.ImagesBelow(images)
	case features.IsArchive(images):
		return nil, nil, usagef("%s: --digest and --preview take a folder or a list of images", images)
	}
	ids, err = readList(images)
	return ids, ids, err
}

// extraction is the graph of features of a folder or list of images.
func extraction(e *features.Extract, images, weights string) (pipeline.Graph, error) {
	info, err := os.Stat(images)
	if err != nil {
		return pipeline.Graph{}, usagef("%v", err)
	}
	files := &pipeline.Files{Path: images}
	if !info.IsDir() && !features.IsArchive(images) {
		if e.List, err = readList(images); err != nil {
			return pipeline.Graph{}, err
		}
		if files, err = features.FromList(e.List); err != nil {
			return pipeline.Graph{}, usagef("%s: %v", images, err)
		}
	}
	in := map[string]string{"images": "images"}
	g := pipeline.Graph{Nodes: []pipeline.Node{{Name: "images", Stage: files}}}
	if weights != "" {
		in["weights"] = "weights"
		g.Nodes = append(g.Nodes, pipeline.Node{Name: "weights", Stage: &pipeline.Files{Path: weights}})
	}
	g.Nodes = append(g.Nodes, pipeline.Node{Name: "features", Stage: e, Inputs: in})
	return g, nil
}

// readList reads the lines of a file that are not empty.
func readList(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("%v", err)
	}
	defer f.Close()
	var out []string
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if s.Text() != "" {
			out = append(out, s.Text())
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}
