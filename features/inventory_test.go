package features

import (
	"io/fs"
	"path/filepath"
	"testing"

	"espalier/internal/shared"
)

// readBy says which tests read which files of the vision goldens, or why none
// does.
var readBy = []struct{ pattern, by string }{
	{"README.md", "documentation"},
	{"*/README.md", "documentation"},
	{"*/make.py", "made the others"},
	{"clip/clip.json", "trainer/model/clip: TestFeaturesOfCrops"},
	{"clip/rn_a.*", "trainer/model/clip: TestResNetStages"},
	{"clip/rn_b.jit.pt", "trainer/model/clip: TestFeaturesOfCrops, and trainer/ckpt"},
	{"clip/rn_b.*.safetensors", "trainer/model/clip: TestFeaturesOfCrops"},
	{"clip/vit.*", "trainer/model/clip: TestVisionTransformer"},
	{"raster/decode.jsonl", "features/raster: TestDecodeGoldens"},
	{"raster/img/*", "features/raster: TestDecodeGoldens"},
	{"raster/pixels.safetensors", "features/raster: TestStoredPixels"},
	{"raster/resize.safetensors", "features/raster: TestStoredPixels"},
	{"raster/resize.jsonl", "features/raster: TestResizeGoldens"},
	{"raster/clip_transform.jsonl", "features/raster: TestTransformGoldens"},
	{"raster/clip_transform.safetensors", "trainer/model/clip: TestFeaturesOfCrops"},
	{"raster/pillow12.jsonl", "features/raster: TestResizeGoldens, TestTransformGoldens"},
	{"raster/go_stdlib_difference.jsonl", "not read: how another decoder differs"},
	{"raster/versions.json", "not read: versions of what made the others"},
	{"formats/formats.json", "not read: what features/bottomup's tests hold in tables"},
	{"formats/expected.safetensors", "features/bottomup: TestBottomUpTSV, TestLXMERT, TestArrays, and trainer/ckpt"},
	{"formats/bottomup/*.tsv", "features/bottomup: TestBottomUpTSV"},
	{"formats/lxmert/*.tsv", "features/bottomup: TestLXMERT"},
	{"formats/perimage/*/*.np[yz]", "features/bottomup: TestArrays"},
	{"formats/torch/*.pt", "trainer/ckpt: TestVisionWeights"},
	{"formats/*/*.h5", "features/bottomup: TestHDF5, which wants them refused"},
	{"formats/cocotalk/cocotalk.json", "not read: caption vocabularies are no image features"},
}

// TestGoldenInventory wants every file of the vision goldens in the list, and
// every line of the list to stand for a file.
func TestGoldenInventory(t *testing.T) {
	root := shared.Dir(t, "goldens", "vision")
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		known := false
		for _, r := range readBy {
			if ok, err := filepath.Match(r.pattern, filepath.ToSlash(name)); err != nil {
				return err
			} else if ok {
				known, used[r.pattern] = true, true
			}
		}
		if !known {
			t.Errorf("%s: no test reads it, and nothing says why", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readBy {
		if !used[r.pattern] {
			t.Errorf("%s (%s): no such file", r.pattern, r.by)
		}
	}
}
