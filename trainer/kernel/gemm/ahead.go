package gemm

// An Ahead is memory that is needed soon, brought into the second-level cache
// bit by bit while products are computed ([Product.Ahead]).
type Ahead struct {
	parts   [aheadParts]farRows
	n, next int // parts, and the first that is not done
}

const aheadParts = 16

// farColumns is how many numbers of a row are fetched with it.
const farColumns = 64

// farRows are rows of farColumns numbers, ld apart. The last may be shorter.
type farRows struct {
	x         []float32
	ld, count int
}

// Fetch fetches rows of n numbers, ld apart, into the second-level cache.
func Fetch(x []float32, ld, rows, n int) {
	if rows > 0 && n > 0 {
		fetch(x[:(rows-1)*ld+n], ld, rows, n)
	}
}

// Reset empties a.
func (a *Ahead) Reset() { a.n, a.next = 0, 0 }

// Add appends rows of n numbers, ld apart, as far as there are places for them.
func (a *Ahead) Add(x []float32, ld, rows, n int) {
	if rows <= 0 || n <= 0 {
		return
	}
	x = x[:(rows-1)*ld+n]
	for at := 0; at < n && a.n < aheadParts; at += farColumns {
		a.parts[a.n] = farRows{x[at:], ld, rows}
		a.n++
	}
}

// idle reports whether there is nothing to fetch.
func (a *Ahead) idle() bool { return a == nil || a.next == a.n }

// first returns the rows that are fetched next.
func (a *Ahead) first() *farRows { return &a.parts[a.next] }

// done says that so many of them have been fetched.
func (a *Ahead) done(rows int) {
	p := &a.parts[a.next]
	if p.count -= rows; p.count == 0 {
		a.next++
	} else {
		p.x = p.x[rows*p.ld:]
	}
}
