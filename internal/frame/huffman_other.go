//go:build !amd64 || purego

package frame

// fives writes the last bytes of two texts of equal length, five at a time, and
// returns how many are left. It ends where a stream might be overrun.
func fives(t *[256]uint64, a, b *stream, da, db, sa, sb []byte) int {
	return fivesGeneric(t, a, b, da, db, sa, sb)
}
