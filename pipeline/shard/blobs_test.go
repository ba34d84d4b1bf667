package shard

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type blob struct {
	Bytes []byte  `parquet:"bytes,optional"`
	Path  *string `parquet:"path,optional"`
}

// blobFile writes rows of groups of pages; a row in five has no bytes, one in
// three no path.
func blobFile[T any](t *testing.T, row func(i int, b blob) T, n, group int, o ...parquet.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, append(o, parquet.PageBufferSize(300))...)
	for i := range n {
		b := blob{Bytes: blobBytes(i)}
		if i%3 != 0 {
			p := fmt.Sprintf("dir/%03d.jpg", i)
			b.Path = &p
		}
		if _, err := w.Write([]T{row(i, b)}); err != nil {
			t.Fatal(err)
		}
		if (i+1)%group == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func blobBytes(i int) []byte {
	if i%5 == 4 {
		return nil
	}
	return bytes.Repeat([]byte{byte(i), byte(i * 7)}, i%40+1)
}

type blobRow struct {
	ID    int64 `parquet:"id"`
	Image blob  `parquet:"image,optional"`
	Mask  blob  `parquet:"mask,optional"`
}

func TestBlobs(t *testing.T) {
	const n = 137
	row := func(i int, b blob) blobRow { return blobRow{int64(i), b, blob{}} }
	for _, o := range [][]parquet.WriterOption{
		nil,
		{parquet.Compression(&parquet.Snappy)},
		{parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1)},
		{parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.RLEDictionary)},
	} {
		data := blobFile(t, row, n, 30, o...)
		b, err := OpenBlobs(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if b.Rows() != n {
			t.Fatalf("%d rows, want %d", b.Rows(), n)
		}
		check := func(i int) {
			t.Helper()
			got, err := b.Read(int64(i))
			if want := blobBytes(i); err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Fatalf("row %d: %v, %v, want %v", i, got, err, want)
			}
			path, err := b.Path(int64(i))
			want := fmt.Sprintf("dir/%03d.jpg", i)
			if i%3 == 0 {
				want = ""
			}
			if err != nil || path != want {
				t.Fatalf("row %d: path %q, %v, want %q", i, path, err, want)
			}
		}
		for i := range n {
			check(i)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			check(r.IntN(n))
		}
		for _, i := range []int64{-1, n} {
			if _, err := b.Read(i); err == nil {
				t.Errorf("row %d: no error", i)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBlobsColumns(t *testing.T) {
	open := func(data []byte) (*Blobs, error) { return OpenBlobs(bytes.NewReader(data), int64(len(data))) }
	type other struct {
		Photo struct {
			Bytes []byte `parquet:"bytes"`
		} `parquet:"photo"`
	}
	b, err := open(blobFile(t, func(_ int, b blob) (o other) { o.Photo.Bytes = b.Bytes; return }, 7, 3))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Read(5); err != nil || !bytes.Equal(got, blobBytes(5)) {
		t.Errorf("another name: %v, %v", got, err)
	}
	if p, err := b.Path(5); p != "" || err != nil {
		t.Errorf("a path where there is no column: %q, %v", p, err)
	}
	type two struct {
		A blob `parquet:"a"`
		B blob `parquet:"b"`
	}
	type none struct {
		Bytes []byte `parquet:"bytes"`
		Image string `parquet:"image"`
	}
	type lists struct {
		Images []blob `parquet:"image,list"`
	}
	for want, data := range map[string][]byte{
		"none of them called image": blobFile(t, func(_ int, b blob) two { return two{b, b} }, 3, 3),
		"no column of files":        blobFile(t, func(_ int, b blob) none { return none{b.Bytes, ""} }, 3, 3),
		"a struct with bytes in it": blobFile(t, func(_ int, b blob) lists { return lists{[]blob{b}} }, 3, 3),
		"too few":                   []byte("PAR1"),
		"no Parquet footer":         bytes.Repeat([]byte("x"), 100),
	} {
		if _, err := open(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Damaged files end in errors.
func TestBlobsDamage(t *testing.T) {
	data := blobFile(t, func(i int, b blob) blobRow { return blobRow{int64(i), b, blob{}} }, 50, 20, parquet.Compression(&parquet.Snappy))
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		bad := bytes.Clone(data)
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(bad))] = byte(r.Uint32())
		}
		b, err := OpenBlobs(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			continue
		}
		for i := range min(b.Rows(), 60) {
			if _, err := b.Read(i); err != nil {
				break
			}
			if _, err := b.Path(i); err != nil {
				break
			}
		}
		_ = b.Close()
	}
}
