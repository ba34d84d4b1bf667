package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/jpeg"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/disintegration/imaging"

	"espalier/pipeline"
)

// A picture is one example with its captions.
type picture struct {
	ID         string
	Score      float64
	Caption    string
	References []string
	Image      template.URL // a data URL, "" if there is no image
	Width      int
	Height     int
}

// pictures are a group of examples.
type pictures struct {
	Name, About string
	Pictures    []*picture
}

// choose picks the examples with the best, middle and worst scores, n of each.
// Of equal ones the smaller id comes first. Captions that a group shows
// already are passed over where there are others.
func choose(scores map[string]float64, texts map[string]string, n int) []pictures {
	type scored struct {
		id    string
		value float64
	}
	var all []scored
	for id, v := range scores {
		if _, ok := texts[id]; ok {
			all = append(all, scored{id, v})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return strings.Compare(a.id, b.id)
	})
	taken := make(map[string]bool)
	pick := func(order []scored) []*picture {
		var out []*picture
		shown := make(map[string]bool)
		for _, fresh := range []bool{true, false} {
			for _, s := range order {
				if len(out) == n || taken[s.id] || fresh && shown[texts[s.id]] {
					continue
				}
				taken[s.id], shown[texts[s.id]] = true, true
				out = append(out, &picture{ID: s.id, Score: s.value, Caption: texts[s.id]})
			}
		}
		return out
	}
	best := pick(all)
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	worst := pick(reversed)
	median := pick(outwards(all))
	slices.SortStableFunc(median, func(a, b *picture) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return slices.DeleteFunc([]pictures{
		{"Best", "the highest scores", best},
		{"Median", "scores around the middle of the split", median},
		{"Worst", "the lowest scores, worst first", worst},
	}, func(p pictures) bool { return len(p.Pictures) == 0 })
}

// outwards returns a list from its middle to both ends.
func outwards[T any](all []T) []T {
	out := make([]T, 0, len(all))
	lo, hi := len(all)/2-1, len(all)/2
	for lo >= 0 || hi < len(all) {
		if hi < len(all) {
			out = append(out, all[hi])
			hi++
		}
		if lo >= 0 {
			out = append(out, all[lo])
			lo--
		}
	}
	return out
}

// Sizes of the pictures in the page, in pixels.
const (
	thumbWidth   = 280
	thumbHeight  = 210
	thumbQuality = 82
)

// thumbnails puts small copies of the images into the groups. Images that are
// absent or cannot be decoded are left out: the features stage has reported
// them.
func thumbnails(ctx context.Context, in *pipeline.Input, groups []pictures, paths map[string]string) error {
	names := make(map[string]string) // of the input's files, by path and by last name, each without extension
	for _, e := range in.Manifest.Files {
		names[path.Base(stem(e.Name))] = e.Name
	}
	for _, e := range in.Manifest.Files {
		names[stem(e.Name)] = e.Name
	}
	for _, g := range groups {
		for _, pic := range g.Pictures {
			if err := ctx.Err(); err != nil {
				return err
			}
			want, ok := paths[pic.ID]
			if !ok {
				continue
			}
			name, ok := names[stem(want)]
			if !ok {
				if name, ok = names[path.Base(stem(want))]; !ok {
					continue
				}
			}
			if err := pic.load(in, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// stem is a name without its extension, if that is one of an image.
func stem(name string) string {
	switch ext := path.Ext(name); strings.ToLower(ext) {
	case ".jpg", ".jpeg", ".png", ".gif":
		return strings.TrimSuffix(name, ext)
	}
	return name
}

func (p *picture) load(in *pipeline.Input, name string) error {
	f, err := in.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	src, err := imaging.Decode(io.NewSectionReader(f, 0, f.Size()), imaging.AutoOrientation(true))
	if err != nil {
		return nil
	}
	var b bytes.Buffer
	small := fit(src)
	if err := jpeg.Encode(&b, small, &jpeg.Options{Quality: thumbQuality}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.Width, p.Height = small.Bounds().Dx(), small.Bounds().Dy()
	p.Image = template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))
	return nil
}

// fit crops an image to the pictures' shape about its middle and scales it.
func fit(src image.Image) image.Image {
	return imaging.Fill(src, thumbWidth, thumbHeight, imaging.Center, imaging.Lanczos)
}
