package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFullFileSystemIsTemporary(t *testing.T) {
	f := newFixture(t)
	f.longLines("a.tsv", 160)
	c := newChildJob(t, f)
	c.Pause = 0
	small := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(small, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting is not permitted: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(small, unix.MNT_DETACH) })
	c.Store = filepath.Join(small, "store")
	code, _, stderr := c.output(t)
	if code != ExitTemporary || !strings.Contains(stderr, "no space left on device") {
		t.Errorf("code %d\n%s", code, stderr)
	}
	if err := unix.Mount("tmpfs", small, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	mended(t, f, c)
}

func TestAReadOnlyStoreCanBeReadAndNotWritten(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 9)
	f.o.Job = filepath.Join(t.TempDir(), "job.yaml")
	want := digests(f.run(f.graph()))
	dir := f.store.Dir()
	if os.Getuid() == 0 {
		if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("mounting is not permitted: %v", err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Skipf("mounting read-only is not permitted: %v", err)
		}
	} else {
		chmodAll(t, dir, 0o555)
		t.Cleanup(func() { chmodAll(t, dir, 0o777) })
	}
	f.open(dir)
	f.diary.take(t)
	res := f.run(f.graph())
	equal(t, "digests", digests(res), want)
	equal(t, "work", f.diary.take(t), nil)
	equal(t, "plan", f.planned(f.graph(), f.o), []string{"join cached", "raw cached", "split cached", "train cached"})
	if d, err := Verify(t.Context(), f.graph(), f.o); err != nil || len(d) > 0 {
		t.Errorf("verify: %v, %v", d, err)
	}
	f.file("b.tsv", 1)
	_, err := Run(t.Context(), f.graph(), f.o)
	if ExitCode(err) != ExitTemporary || !(strings.Contains(err.Error(), "read-only file system") || strings.Contains(err.Error(), "permission denied")) {
		t.Errorf("code %d, %v", ExitCode(err), err)
	}
}

func chmodAll(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	var dirs []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
			os.Chmod(path, 0o777)
		}
		return nil
	})
	slices.Reverse(dirs)
	for _, d := range dirs {
		if err := os.Chmod(d, mode); err != nil {
			t.Error(err)
		}
	}
}
