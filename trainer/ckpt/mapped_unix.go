//go:build unix

package ckpt

import (
	"os"
	"syscall"
)

func mapFile(f *os.File) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n := int(st.Size())
	if n == 0 || int64(n) != st.Size() {
		return nil, errNoMap
	}
	return syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmapFile(m []byte) error { return syscall.Munmap(m) }
