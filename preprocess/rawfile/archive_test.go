package rawfile

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"espalier/pipeline"
)

type file struct{ name, text string }

func zipOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if strings.HasPrefix(f.text, "-> ") {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		e, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(e, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: 0o644}
		if to, ok := strings.CutPrefix(f.text, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, f.text = tar.TypeSymlink, to, 0, ""
		} else if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = io.WriteString(w, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openArchive opens bytes as a raw file and as an archive.
func openArchive(t testing.TB, ctx context.Context, b []byte) (*Archive, error) {
	t.Helper()
	p, err := Open(ctx, "x", bytes.NewReader(b), int64(len(b)), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return OpenArchive(ctx, "x", p, t.TempDir())
}

func TestArchive(t *testing.T) {
	long := strings.Repeat("0123456789", 300_000)
	files := []file{
		{"QNLI/", ""},
		{"QNLI/train.tsv", long},
		{"__MACOSX/QNLI/._train.tsv", "x"},
		{"QNLI/.DS_Store", "x"},
		{"QNLI/._dev.tsv", "x"},
		{"QNLI/link.tsv", "-> /etc/hostname"},
		{"QNLI/dev.tsv", "abc"},
		{"QNLI/inner.gz", string(gz(t, "inside"))},
	}
	for what, b := range map[string][]byte{"zip": zipOf(t, files...), "tar": tarOf(t, files...), "tar.gz": gz(t, string(tarOf(t, files...)))} {
		a, err := openArchive(t, t.Context(), b)
		if err != nil || a == nil {
			t.Fatalf("%s: %v, %v", what, a, err)
		}
		if a.list() != "QNLI/train.tsv, QNLI/dev.tsv, QNLI/inner.gz" || a.Members[0].Size != int64(len(long)) {
			t.Errorf("%s: members %v", what, a.Members)
		}
		for name, want := range map[string]string{"QNLI/train.tsv": long, "QNLI/dev.tsv": "abc", "QNLI/inner.gz": "inside"} {
			p, err := a.Open(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.NewSectionReader(p, 0, p.Size))
			if err != nil || string(got) != want {
				t.Errorf("%s: %s has %d bytes, %v", what, name, len(got), err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		for name, want := range map[string]string{"QNLI/link.tsv": "a link, which is never followed", "QNLI/test.tsv": "no such member; the archive holds QNLI/train.tsv, QNLI/dev.tsv"} {
			var r *pipeline.RefusedError
			if _, err := a.Open(t.Context(), name); !errors.As(err, &r) || r.Field != name || !strings.HasPrefix(r.Reason, want) {
				t.Errorf("%s: %s: %v", what, name, err)
			}
		}
		if left, _ := os.ReadDir(a.scratch); len(left) > 0 {
			t.Errorf("%s: %d scratch files left", what, len(left))
		}
	}
	for what, b := range map[string][]byte{"text": []byte(long), "nothing": nil, "zeros": make([]byte, 1024)} {
		if a, err := openArchive(t, t.Context(), b); a != nil || err != nil {
			t.Errorf("%s is taken for an archive: %v", what, err)
		}
	}
}

func TestArchiveRefuses(t *testing.T) {
	good := zipOf(t, file{"a.tsv", strings.Repeat("some text ", 50)})
	at := bytes.Index(good, []byte("a.tsv")) + 5 // where the data begins
	damaged := bytes.Clone(good)
	damaged[at] ^= 0xff
	locked := bytes.Clone(good)
	locked[bytes.Index(locked, []byte("PK\x01\x02"))+8] |= 1 // the flag that says so
	cut := tarOf(t, file{"a.tsv", strings.Repeat("x", 4000)})
	head := tarOf(t, file{"a.tsv", "x"}, file{"b.tsv", "x"})
	head[1024+148] = '7' // the second header's checksum
	for what, c := range map[string]struct {
		b     []byte
		field string
		want  string
	}{
		"up":           {zipOf(t, file{"../evil.tsv", "x"}, file{"a.tsv", "x"}), "../evil.tsv", "path leaves the archive"},
		"up inside":    {tarOf(t, file{"a/../../evil.tsv", "x"}), "a/../../evil.tsv", "path leaves the archive"},
		"absolute":     {tarOf(t, file{"/evil.tsv", "x"}), "/evil.tsv", "path leaves the archive"},
		"twice":        {tarOf(t, file{"a.tsv", "x"}, file{"a.tsv", "y"}), "a.tsv", "member is there twice"},
		"cut zip":      {good[:len(good)-9], "", "zip directory is damaged"},
		"damaged":      {damaged, "a.tsv", "zip member is damaged"},
		"encrypted":    {locked, "a.tsv", "member is encrypted"},
		"a backslash":  {zipOf(t, file{`CoLA\a.tsv`, "x"}), `CoLA\a.tsv`, "name with a backslash"},
		"cut tar":      {cut[:2000], "a.tsv", "tar ends early"},
		"a bad header": {head, "", "tar is damaged"},
	} {
		a, err := openArchive(t, t.Context(), c.b)
		if err == nil && a != nil {
			_, err = a.Open(t.Context(), "a.tsv")
		}
		var r *pipeline.RefusedError
		if !errors.As(err, &r) || r.Field != c.field || !strings.HasPrefix(r.Reason, c.want) {
			t.Errorf("%s: %v, want %s", what, err, c.want)
		}
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(zipOf(f, file{"a/b.tsv", "text"}))
	f.Add(tarOf(f, file{"a/b.tsv", "text"}, file{"l", "-> x"}))
	f.Add(gz(f, string(tarOf(f, file{"a.tsv", "x"}))))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Open(t.Context(), "x", bytes.NewReader(b), int64(len(b)), t.TempDir())
		if err != nil {
			return
		}
		defer p.Close()
		a, err := OpenArchive(t.Context(), "x", p, t.TempDir())
		if a == nil || err != nil {
			return
		}
		for _, m := range a.Members {
			if strings.Contains(m.Name, "..") && strings.HasPrefix(m.Name, "..") {
				t.Errorf("a member %s", m.Name)
			}
			if m.Size > 1<<20 {
				continue
			}
			c, err := a.Open(t.Context(), m.Name)
			if err != nil {
				continue
			}
			if !c.Gzip && c.Size != m.Size {
				t.Errorf("%s has %d bytes, not %d", m.Name, c.Size, m.Size)
			}
			c.Close()
		}
	})
}
