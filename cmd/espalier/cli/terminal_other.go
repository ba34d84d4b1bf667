//go:build !linux

package cli

import "golang.org/x/sys/unix"

const termiosRequest = unix.TIOCGETA
