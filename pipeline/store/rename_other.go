//go:build !linux

package store

import "syscall"

// renameNoReplace is known on Linux only.
func renameNoReplace(old, path string) error { return syscall.ENOTSUP }
