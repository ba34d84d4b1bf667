package sample

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Miniature is a corpus in its native raw layout. It is immutable and safe for
// concurrent use; images can be made in any order.
type Miniature interface {
	Images() int                 // number of images
	Name(i int) string           // path of image i
	Image(i int) ([]byte, error) // file of image i
	Documents() []Document       // all other files
}

// A maker makes the miniature of a corpus of about n images, or n rows of a split
// if it has no images.
type maker struct {
	name string
	n    int // if nobody says otherwise
	make func(n int, seed uint64) (Miniature, error)
}

// makers has all miniatures.
var makers = slices.Concat([]maker{{"coco", 2400, func(n int, seed uint64) (Miniature, error) { return New(n, seed) }}}, visionMakers, textMakers, englishMakers, otherMakers)

// Names returns the names of all miniatures.
func Names() []string {
	out := make([]string, len(makers))
	for i, m := range makers {
		out[i] = m.name
	}
	return out
}

// Size returns the number of images, or rows, that a miniature has if nobody says
// otherwise, 0 if there is no such miniature.
func Size(name string) int {
	for _, m := range makers {
		if m.name == name {
			return m.n
		}
	}
	return 0
}

// Of returns the miniature of a corpus, of n images, or n rows of a split if it
// has none.
func Of(name string, n int, seed uint64) (Miniature, error) {
	for _, m := range makers {
		if m.name == name {
			return m.make(n, seed)
		}
	}
	return nil, fmt.Errorf("no miniature of %q, want one of %s", name, strings.Join(Names(), ", "))
}

// Image returns the file of image i.
func (c *COCO) Image(i int) ([]byte, error) { return c.JPEG(i) }

// A pictured miniature shows the scenes of a COCO under other names.
type pictured struct {
	*COCO
	name func(c *COCO, i int) string
	docs func(c *COCO) []Document
}

// Name returns the path of image i.
func (p *pictured) Name(i int) string { return p.name(p.COCO, i) }

// Image returns the file of image i, a PNG file if its name says so.
func (p *pictured) Image(i int) ([]byte, error) {
	if !strings.HasSuffix(p.Name(i), ".png") {
		return p.JPEG(i)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p.draw(p.scene(i))); err != nil {
		return nil, fmt.Errorf("encode %s: %w", p.Name(i), err)
	}
	return b.Bytes(), nil
}

// Documents returns the other files.
func (p *pictured) Documents() []Document { return p.docs(p.COCO) }

// A written miniature has no images.
type written []Document

// Images returns 0.
func (written) Images() int { return 0 }

// Name is of no use.
func (written) Name(int) string { return "" }

// Image is of no use.
func (written) Image(int) ([]byte, error) { return nil, nil }

// Documents returns all files.
func (w written) Documents() []Document { return w }

// A text is a file that is written at once.
func text(name string, lines func(r *rand.Rand, b *strings.Builder), seed uint64) Document {
	return Document{name, func(w io.Writer) error {
		var b strings.Builder
		lines(stream(seed, name), &b)
		_, err := io.WriteString(w, b.String())
		return err
	}}
}

// stream is the source of random numbers of a file.
func stream(seed uint64, name string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// one draws one of a list.
func one[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
