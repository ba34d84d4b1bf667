//go:build !purego

package frame

//go:generate go -C ../../trainer/kernel/_asm run ./prefix -pkg frame -out ../../../internal/frame/huffman_amd64.s -stubs ../../../internal/frame/huffman_asm_amd64.go

// fives writes the last bytes of two texts of equal length, five at a time, and
// returns how many are left. It ends where a stream might be overrun.
func fives(t *[256]uint64, a, b *stream, da, db, sa, sb []byte) int {
	if len(sa) < 5 || len(da) < 8 || len(db) < 8 {
		return len(sa)
	}
	x, y := a.words(), b.words()
	i := putFives(t, &x, &y, &da[0], &db[0], len(da)-8, len(db)-8, &sa[0], &sb[0], len(sa))
	*a, *b = streamOf(x), streamOf(y)
	return i
}

func (s stream) words() [3]uint64 { return [3]uint64{s.acc, s.n, uint64(s.at)} }

func streamOf(w [3]uint64) stream { return stream{w[0], w[1], int(w[2])} }
