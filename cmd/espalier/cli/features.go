package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"espalier/features/raster"
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
// list, a path a line.
func digestImages(ctx context.Context, c *console, list string, transform raster.Transform, size int) error {
	f, err := os.Open(list)
	if err != nil {
		return usagef("%v", err)
	}
	defer f.Close()
	var dec raster.Decoder
	failed := 0
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.Text() == "" {
			continue
		}
		rec := digestImage(&dec, s.Text(), transform, size)
		if rec.Error != "" {
			failed++
		}
		if err := c.json(rec); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	if failed > 0 {
		c.warn("%d images could not be read", failed)
	}
	return nil
}

func digestImage(dec *raster.Decoder, path string, transform raster.Transform, size int) digestRecord {
	rec := digestRecord{Image: path}
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
	args:  "",
	short: "turn images into feature grids, or print digests of what a network sees of them",
	long: []string{
		"--digest decodes, resizes and crops as the reference does and prints width, height and the SHA-256",
		"of the RGB bytes of each image of a list (a path a line); it needs no weights.",
	},
	example: []string{
		"espalier features --digest --images list.txt --transform clip --size 224",
	},
	setup: func(f *pflag.FlagSet) action {
		digest := f.Bool("digest", false, "print digests of pixels, one JSON object an image")
		images := f.String("images", "", "`LIST` of images, a path a line")
		transform := f.String("transform", string(raster.CLIP), "`HOW` an image is cut: clip (default), clip-rgb-first, stretch or none")
		size := f.Int("size", 224, "side of the result in pixels (default 224): `N`")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			switch t := raster.Transform(*transform); {
			case *images == "":
				return usagef("want --images LIST")
			case t.Check() != nil:
				return usagef("--transform %v", t.Check())
			case *size < 1:
				return usagef("--size %d: want at least 1", *size)
			case !*digest:
				return usagef("want --digest")
			default:
				return digestImages(ctx, c, *images, t, *size)
			}
		}
	},
}
