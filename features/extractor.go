package features

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"espalier/features/raster"
	"espalier/features/vectors"
	"espalier/trainer/ckpt"
	"espalier/trainer/model/clip"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// maxHalf is the largest float16.
const maxHalf = 65504

// An Extractor makes the features of a Spec on a device. It is used from one
// goroutine at a time, as the device is.
type Extractor struct {
	spec    Spec
	dev     op.Device
	tower   clip.Tower
	h, w, c int
}

// NewExtractor makes an Extractor. weights is nil for the Spec's random
// network; otherwise the caller has verified them against Spec.Weights and may
// close them afterwards.
func NewExtractor(dev op.Device, spec Spec, weights ckpt.Weights) (*Extractor, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if (weights == nil) != (spec.Weights == "") {
		return nil, fmt.Errorf("features: made with %s", spec.String())
	}
	var err error
	if weights == nil {
		if weights, err = clip.NewRandom(spec.Network); err != nil {
			return nil, err
		}
	}
	e := &Extractor{spec: spec.sized(weights), dev: dev}
	if e.tower, err = clip.OpenTower(dev, weights, clip.Options{VisionHeads: spec.Heads, Size: e.spec.Size, BF16: spec.Precision == BFloat16}); err != nil {
		return nil, err
	}
	if e.h, e.w, e.c, err = e.tower.Shape(spec.Tap); err != nil {
		e.tower.Close()
		return nil, err
	}
	return e, nil
}

// Close frees the network.
func (e *Extractor) Close() { e.tower.Close() }

// Options returns what vector shards of these features hold.
func (e *Extractor) Options() (vectors.Options, error) {
	meta, err := e.spec.Metadata()
	return vectors.Options{Height: e.h, Width: e.w, Dim: e.c, Half: e.spec.DType == Float16, Metadata: meta}, err
}

// order returns the pass order of a Spec.
func (s *Spec) order() raster.Order {
	if s.Pillow13 {
		return raster.Pillow13
	}
	return raster.AcrossFirst
}

// Crop decodes a file and cuts out what the network sees, Size x Size pixels
// in mode RGB. The Spec must have a size.
func (s *Spec) Crop(dec *raster.Decoder, file []byte) (*raster.Image, error) {
	im, err := dec.Decode(file)
	if err != nil {
		return nil, err
	}
	return s.Transform.Apply(im, s.Size, s.order())
}

// Run returns the features of crops, one row an image without its id. A row
// with values that are no numbers, or too large for the stored type, is nil,
// and its place in reasons says why. What an image gives does not depend on the
// others.
func (e *Extractor) Run(crops []*raster.Image) (rows []*vectors.Row, reasons []string, err error) {
	size := e.spec.Size
	defer e.dev.Reset()
	pix := make([]float32, len(crops)*size*size*3)
	for i, im := range crops {
		e.spec.Transform.Normalise(pix[i*size*size*3:(i+1)*size*size*3], im)
	}
	x := e.dev.Alloc(tensor.Float32, len(crops), size, size, 3)
	e.dev.Write(x, pix)
	y := e.tower.Forward(x, e.spec.Tap)
	out := make([]float32, y.Len())
	e.dev.Read(out, y)
	if err := e.dev.Err(); err != nil {
		return nil, nil, err
	}
	n := e.h * e.w * e.c
	rows, reasons = make([]*vectors.Row, len(crops)), make([]string, len(crops))
	for i := range crops {
		v := out[i*n : (i+1)*n]
		if reasons[i] = e.bad(v); reasons[i] == "" {
			rows[i] = &vectors.Row{Height: e.h, Width: e.w, Count: e.h * e.w, Dim: e.c, Values: v}
		}
	}
	return rows, reasons, nil
}

// bad says what is wrong with values, "" if nothing is.
func (e *Extractor) bad(v []float32) string {
	for i, x := range v {
		switch {
		case x != x:
			return fmt.Sprintf("the network gives no number at value %d", i)
		case math.IsInf(float64(x), 0):
			return fmt.Sprintf("the network gives infinity at value %d", i)
		case e.spec.DType == Float16 && (x > maxHalf || x < -maxHalf):
			return fmt.Sprintf("value %d is %g, too large for float16", i, x)
		}
	}
	return ""
}

// Image returns the features of one image file.
func (e *Extractor) Image(file []byte) (*vectors.Row, error) {
	im, err := e.spec.Crop(new(raster.Decoder), file)
	if err != nil {
		return nil, err
	}
	rows, reasons, err := e.Run([]*raster.Image{im})
	if err == nil && rows[0] == nil {
		err = errors.New(reasons[0])
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// OpenExtractor makes the Extractor of features with the given metadata.
// weights is the path of the weights, "" if the features came from a random
// network; a file with another digest is refused.
func OpenExtractor(dev op.Device, metadata map[string]string, weights string) (*Extractor, error) {
	spec, err := ParseSpec(metadata)
	if err != nil {
		return nil, err
	}
	switch {
	case spec.Weights == "" && weights != "":
		return nil, fmt.Errorf("%s: the features were made without weights, by a %s", weights, spec.String())
	case spec.Weights == "":
		return NewExtractor(dev, spec, nil)
	case weights == "":
		return nil, fmt.Errorf("features: made with weights of digest %s, which must be given", spec.Weights)
	}
	digest, err := WeightsDigest(weights)
	if err != nil {
		return nil, err
	}
	if digest != spec.Weights {
		return nil, fmt.Errorf("%s: digest %s, the features were made with %s", weights, digest, spec.Weights)
	}
	w, err := ckpt.OpenWeights(weights)
	if err != nil {
		return nil, err
	}
	e, err := NewExtractor(dev, spec, w)
	return e, errors.Join(err, w.Close())
}

// WeightsDigest returns the digest of a weights file: its SHA-256. That of a
// folder is one over the names and digests of its files.
func WeightsDigest(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		return fileDigest(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	sums := map[string]string{}
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			if sums[e.Name()], err = fileDigest(filepath.Join(path, e.Name())); err != nil {
				return "", err
			}
		}
	}
	return joinDigests(sums), nil
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// joinDigests is the digest of several files, or of the one there is.
func joinDigests(sums map[string]string) string {
	names := make([]string, 0, len(sums))
	for n := range sums {
		names = append(names, n)
	}
	slices.Sort(names)
	if len(names) == 1 {
		return sums[names[0]]
	}
	h := sha256.New()
	for _, n := range names {
		fmt.Fprintf(h, "%s\x00%s\n", n, sums[n])
	}
	return hex.EncodeToString(h.Sum(nil))
}
