package shard

import (
	"encoding/binary"
	"unsafe"
)

// A dictionary codes the texts of a column as long as they have few different
// values. It goes when they do not, for the rest of the file.
type dictionary struct {
	on     bool
	codes  map[string]int32
	bytes  []byte // of all values
	ends   []int  // of each
	page   []int32
	seen   int
	recent [recentTexts]recentText
	next   int
}

// A recentText is a text that was just coded, and where it lay: rows that share
// a value often share its memory.
type recentText struct {
	at   *byte
	n    int
	code int32
}

const (
	recentTexts = 4
	mostValues  = 4096
	mostBytes   = 64 << 10
	// So many values may differ, and one more for so many that were seen.
	freeValues  = 16
	seenForEach = 4
)

// code codes a text, or reports that there are too many.
func (d *dictionary) code(s string) bool {
	d.seen++
	at := unsafe.StringData(s)
	for i := range d.recent {
		if r := &d.recent[i]; r.at == at && r.n == len(s) && at != nil {
			d.page = append(d.page, r.code)
			return true
		}
	}
	code, ok := d.codes[s]
	if !ok {
		n := len(d.ends)
		if n >= freeValues+d.seen/seenForEach || n >= mostValues || len(d.bytes)+len(s) > mostBytes {
			return false
		}
		if d.codes == nil {
			d.codes = map[string]int32{}
		}
		code = int32(n)
		d.bytes = append(d.bytes, s...)
		d.ends = append(d.ends, len(d.bytes))
		d.codes[string(d.bytes[len(d.bytes)-len(s):])] = code
	}
	d.recent[d.next] = recentText{at, len(s), code}
	d.next = (d.next + 1) % recentTexts
	d.page = append(d.page, code)
	return true
}

// forget drops what rows hold.
func (d *dictionary) forget() { d.recent = [recentTexts]recentText{} }

// value is the text of a code.
func (d *dictionary) value(code int32) []byte {
	from := 0
	if code > 0 {
		from = d.ends[code-1]
	}
	return d.bytes[from:d.ends[code]]
}

// plain is the dictionary's page.
func (d *dictionary) plain() []byte {
	b := make([]byte, 0, len(d.bytes)+4*len(d.ends))
	for code := range d.ends {
		v := d.value(int32(code))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
		b = append(b, v...)
	}
	return b
}

// reset begins a group.
func (d *dictionary) reset() {
	clear(d.codes)
	d.bytes, d.ends, d.seen = d.bytes[:0], d.ends[:0], 0
	d.forget()
}
