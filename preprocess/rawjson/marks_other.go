//go:build !amd64 || purego

package rawjson

func marks(b *[block]byte) (quote, escape, open, end uint64) { return marksGeneric(b) }
