package features

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"espalier/features/raster"
	"espalier/trainer/ckpt"
)

// A Preview writes what the network sees of images as PNG files.
type Preview struct {
	Spec    Spec
	Weights string // of the network, which say how large the crops are if Spec does not; "" for none
	Dir     string // where the files go
}

// Write makes one file an image: paths[i] is read, and ids[i] with .png behind
// it is the file's name below Dir, with what leads out of Dir left out. An image
// that cannot be decoded is told to dead and passed over.
func (p *Preview) Write(ctx context.Context, ids, paths []string, dead func(id, reason string)) error {
	spec := p.Spec
	if err := spec.Check(); err != nil {
		return err
	}
	if p.Weights != "" && spec.Size == 0 {
		w, err := ckpt.OpenWeights(p.Weights)
		if err != nil {
			return err
		}
		spec = spec.sized(w)
		if err := w.Close(); err != nil {
			return err
		}
	}
	spec = spec.sized(nil)
	var dec raster.Decoder
	taken := map[string]bool{}
	for i, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := os.ReadFile(paths[i])
		if err != nil {
			dead(id, err.Error())
			continue
		}
		im, err := spec.Crop(&dec, data)
		if err != nil {
			dead(id, reasonOf(err))
			continue
		}
		if err := writePNG(filepath.Join(p.Dir, previewName(id, taken)), im); err != nil {
			return err
		}
	}
	return nil
}

// previewName is the name of a preview below its folder, one that is not taken.
func previewName(id string, taken map[string]bool) string {
	stem := strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(strings.TrimPrefix(id, filepath.VolumeName(id)))), "/")
	name := stem + ".png"
	for n := 2; taken[name]; n++ {
		name = stem + "-" + strconv.Itoa(n) + ".png"
	}
	taken[name] = true
	return filepath.FromSlash(name)
}

// writePNG writes a picture of mode RGB, byte for byte.
func writePNG(name string, im *raster.Image) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	out := image.NewRGBA(image.Rect(0, 0, im.Width, im.Height))
	for i := range im.Width * im.Height {
		copy(out.Pix[4*i:4*i+3], im.Pix[3*i:])
		out.Pix[4*i+3] = 255 // all opaque: the file then has three channels
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := bufio.NewWriter(f)
	if err := png.Encode(b, out); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return b.Flush()
}

// ImagesBelow lists the files of a folder that Extract takes for images:
// their ids and paths, sorted by id.
func ImagesBelow(dir string) (ids, paths []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir() || !isImageName(d.Name()):
			return nil
		}
		id, err := filepath.Rel(dir, p)
		ids, paths = append(ids, filepath.ToSlash(id)), append(paths, p)
		return err
	})
	return ids, paths, err
}
