package memo

// frontBits is the number of bits of a front's size: it stays in the processor's
// nearest cache.
const frontBits = 10

// A Front has the latest short words of a table that are one id each. It is for
// one goroutine; the zero value is empty.
type Front struct {
	slots [1 << frontBits]front
}

type front struct {
	key uint64
	id  int32
	n   int32 // bytes of the key; 0: free
}

// Append appends the ids of the word text[i:j] if the table has it. Else it
// returns its hash, for Add.
func (f *Front) Append(t *Table, ids []int32, text string, i, j int) (_ []int32, hash uint64, ok bool) {
	n := j - i
	if n > 8 || n <= 0 {
		ref, hash := t.Find(text, i, j)
		if ref == 0 {
			return ids, hash, false
		}
		return t.Append(ids, ref), hash, true
	}
	key := load(text, i, n)
	hash = mix(key, uint64(n))
	s := &f.slots[hash&(1<<frontBits-1)]
	if s.key == key && s.n == int32(n) {
		return append(ids, s.id), hash, true
	}
	ref := t.short(key, n, hash)
	if ref == 0 {
		return ids, hash, false
	}
	from := len(ids)
	if ids = t.Append(ids, ref); len(ids) == from+1 {
		*s = front{key, ids[from], int32(n)}
	}
	return ids, hash, true
}
