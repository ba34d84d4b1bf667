package store

import "golang.org/x/sys/unix"

// renameNoReplace renames old to path if nothing has that name.
func renameNoReplace(old, path string) error {
	return unix.Renameat2(unix.AT_FDCWD, old, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
}
