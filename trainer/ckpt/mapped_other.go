//go:build !unix

package ckpt

import "os"

func mapFile(*os.File) ([]byte, error) { return nil, errNoMap }

func unmapFile([]byte) error { return nil }
