package corpustest

import (
	"errors"
	"reflect"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
)

// Fuzz feeds a reader anything: it must read, put aside or refuse it, and the
// same however the file is cut. Unless twins may be kept, keys must differ.
// Joined makes what is joined to a file of some bytes, nil if nothing is.
func Fuzz(f *testing.F, read Reader, twins bool, joined func(b []byte) []*corpus.Source, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src := Bytes("fuzzed", b)
		if joined != nil {
			src.Joined = joined(b)
		}
		rows, dead, err := read(t, src, 1<<20)
		var refused *pipeline.RefusedError
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		keys := map[any]bool{}
		for _, r := range rows {
			if keys[r["key"]] && !twins {
				t.Fatalf("key %v twice", r["key"])
			}
			keys[r["key"]] = true
		}
		again, deadAgain, errAgain := read(t, src, 1)
		if (err == nil) != (errAgain == nil) || err == nil && (!reflect.DeepEqual(rows, again) || !reflect.DeepEqual(dead, deadAgain)) {
			t.Logf("%s\n%s", show(dead), show(deadAgain))
			t.Fatalf("%d rows and %d dead letters whole (%v), %d and %d in slices (%v)", len(rows), len(dead), err, len(again), len(deadAgain), errAgain)
		}
	})
}
