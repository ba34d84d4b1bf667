package maxmatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A slow is the lattice as the paper describes it: edges in a list, phrases by
// trying all triples of vertices, weights by comparing texts.
type slow struct {
	src, hyp []string
	vertices []vertex
	edges    [][2]vertex
	dist     map[[2]vertex]float64
	kept     map[[2]vertex]int
}

func newSlow(src, hyp []string, maxUnchanged int) *slow {
	p := &slow{src: src, hyp: hyp, dist: map[[2]vertex]float64{}, kept: map[[2]vertex]int{}}
	seen := map[vertex]bool{{0, 0}: true}
	for _, sub := range []int{1, 2} {
		for _, e := range p.alignment(sub) {
			seen[e[0]], seen[e[1]] = true, true
			p.edges, p.dist[e] = append(p.edges, e), 1
			if from, to := e[0], e[1]; to.i > from.i && to.j > from.j && src[from.i] == hyp[from.j] {
				p.kept[e] = 1
			}
		}
	}
	for v := range seen {
		p.vertices = append(p.vertices, v)
	}
	before := func(a, b vertex) int { return int(a.i-b.i)*1000 + int(a.j-b.j) }
	slices.SortFunc(p.vertices, before)
	slices.SortFunc(p.edges, func(a, b [2]vertex) int { return before(a[0], b[0])*1_000_000 + before(a[1], b[1]) })
	for _, k := range p.vertices {
		for _, i := range p.vertices {
			for _, j := range p.vertices {
				one, two, all := [2]vertex{i, k}, [2]vertex{k, j}, [2]vertex{i, j}
				d1, ok1 := p.dist[one]
				d2, ok2 := p.dist[two]
				d, ok := p.dist[all]
				if !ok1 || !ok2 || ok && d <= d1+d2 || p.kept[one]+p.kept[two] > maxUnchanged {
					continue
				}
				p.edges, p.dist[all], p.kept[all] = append(p.edges, all), d1+d2, p.kept[one]+p.kept[two]
			}
		}
	}
	for n := 0; n < len(p.edges); n++ {
		if e := p.edges[n]; p.dist[e] > 1 && p.keeps(e) {
			p.edges = slices.Delete(p.edges, n, n+1) // and the next is passed over
		}
	}
	return p
}

func (p *slow) keeps(e [2]vertex) bool { return float64(p.kept[e]) == p.dist[e] }

// alignment returns the edges of the alignments of least cost.
func (p *slow) alignment(sub int) (edges [][2]vertex) {
	n, m := len(p.src), len(p.hyp)
	cost := make([][]int, n+1)
	replaced := func(i, j int) int {
		if p.src[i-1] == p.hyp[j-1] {
			return 0
		}
		return sub
	}
	for i := range cost {
		cost[i] = make([]int, m+1)
		for j := range cost[i] {
			switch {
			case i == 0 || j == 0:
				cost[i][j] = i + j
			default:
				cost[i][j] = min(cost[i-1][j-1]+replaced(i, j), cost[i-1][j]+1, cost[i][j-1]+1)
			}
		}
	}
	on := map[vertex]bool{{int32(n), int32(m)}: true}
	for i := n; i >= 0; i-- {
		for j := m; j >= 0; j-- {
			v := vertex{int32(i), int32(j)}
			if !on[v] {
				continue
			}
			back := func(u vertex, c int) {
				if u.i >= 0 && u.j >= 0 && cost[u.i][u.j]+c == cost[i][j] {
					on[u] = true
					edges = append(edges, [2]vertex{u, v})
				}
			}
			back(vertex{v.i - 1, v.j}, 1)
			back(vertex{v.i, v.j - 1}, 1)
			if i > 0 && j > 0 {
				back(vertex{v.i - 1, v.j - 1}, replaced(i, j))
			}
		}
	}
	return edges
}

func (p *slow) edit(e [2]vertex) Edit {
	return Edit{int(e[0].i), int(e[1].i), strings.Join(p.src[e[0].i:e[1].i], " "), []string{strings.Join(p.hyp[e[0].j:e[1].j], " ")}}
}

func (p *slow) best(gold []Edit) (out []Edit) {
	weight := map[[2]vertex]float64{}
	inserts := map[int][][2]vertex{}
	for e, d := range p.dist {
		weight[e] = d
	}
	for _, e := range p.edges {
		a := p.edit(e)
		switch {
		case a.Start == a.End:
			inserts[a.Start] = append(inserts[a.Start], e)
		case slices.ContainsFunc(gold, func(g Edit) bool { return equal(&a, &g, false) }):
			weight[e] = -float64(len(p.edges))
		case !p.keeps(e):
			weight[e] += epsilon
		}
	}
	for at, list := range inserts {
		p.insertions(weight, list, slices.DeleteFunc(slices.Clone(gold), func(g Edit) bool { return g.Start != at || g.End != at }))
	}
	far := map[vertex]float64{}
	by := map[vertex][2]vertex{}
	for _, v := range p.vertices {
		far[v] = math.Inf(1)
	}
	far[vertex{}] = 0
	for range p.vertices {
		for _, e := range p.edges {
			if d := far[e[0]] + weight[e]; d < far[e[1]] {
				far[e[1]], by[e[1]] = d, e
			}
		}
	}
	for v := (vertex{int32(len(p.src)), int32(len(p.hyp))}); ; {
		e, ok := by[v]
		if !ok {
			slices.Reverse(out)
			return out
		}
		if !p.keeps(e) {
			out = append(out, p.edit(e))
		}
		v = e[0]
	}
}

func (p *slow) insertions(weight map[[2]vertex]float64, list [][2]vertex, gold []Edit) {
	slices.SortStableFunc(list, func(a, b [2]vertex) int {
		return int(a[0].j-b[0].j)*1000 + int(a[1].j-b[1].j)
	})
	win := -float64(len(p.edges))
	left, right, cur := 0, len(list)-1, 0
	for left <= right {
		e := list[cur]
		a := p.edit(e)
		found := -1
		for n := range gold {
			i := n
			if cur != left {
				i = len(gold) - 1 - n
			}
			if equal(&a, &gold[i], false) {
				found = i
				break
			}
		}
		switch {
		case found >= 0 && cur == left:
			weight[e], gold = win, gold[found+1:]
			for left++; left < len(list) && list[left][0] != e[1]; left++ {
				weight[list[left]] += epsilon
			}
			cur = left
		case found >= 0:
			weight[e], gold = win, gold[:found]
			for right--; right >= 0 && list[right][1] != e[0]; right-- {
				weight[list[right]] += epsilon
			}
			cur = right
		default:
			weight[e] += epsilon
			if cur == left {
				left++
				cur = right
			} else {
				right--
				cur = left
			}
		}
	}
}

func TestEqualToTheSlowLattice(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	var c Comparer
	for round := range 1500 {
		vocabulary := 1 + r.IntN(5)
		text := func(n int) []string {
			out := make([]string, n)
			for i := range out {
				out[i] = fmt.Sprint("w", r.IntN(vocabulary))
			}
			return out
		}
		s := Sentence{Source: text(r.IntN(8))}
		hyp := text(r.IntN(9))
		if r.IntN(2) == 0 { // a system that changes little
			hyp = slices.Clone(s.Source)
			for range r.IntN(3) {
				at := r.IntN(len(hyp) + 1)
				hyp = slices.Replace(hyp, at, min(len(hyp), at+r.IntN(2)), text(r.IntN(3))...)
			}
		}
		o := Options{MaxUnchanged: []int{0, 1, 2, 2, 5}[r.IntN(5)]}
		for range 1 + r.IntN(3) {
			var a Annotator
			at := 0
			for range r.IntN(4) {
				start := at + r.IntN(len(s.Source)-at+1)
				at = start + r.IntN(min(3, len(s.Source)-start+1))
				e := Edit{Start: start, End: at, Original: strings.Join(s.Source[start:at], " ")}
				for range 1 + r.IntN(2) {
					e.Corrections = append(e.Corrections, strings.Join(text(r.IntN(3)), " "))
				}
				a.Edits = append(a.Edits, e)
			}
			s.Annotators = append(s.Annotators, a)
		}
		counts, size, err := c.Compare(&s, hyp, o)
		if err != nil {
			t.Fatal(err)
		}
		p := newSlow(s.Source, hyp, o.MaxUnchanged)
		if want := (Lattice{len(p.vertices), len(p.edges)}); size != want {
			t.Fatalf("round %d: %q, %q: %+v, want %+v", round, s.Source, hyp, size, want)
		}
		for i, a := range s.Annotators {
			if got, want := counts[i].Edits, p.best(a.Edits); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
				t.Fatalf("round %d: %q, %q, gold %+v: %+v, want %+v", round, s.Source, hyp, a.Edits, got, want)
			}
		}
	}
}

func TestTooLargeLatticesAreRefused(t *testing.T) {
	var l lattice
	src, hyp := make([]string, 20), make([]string, 20)
	for i := range src {
		src[i], hyp[i] = fmt.Sprint("s", i), fmt.Sprint("h", i)
	}
	if err := l.build(src, hyp, 2, 1<<14); err != ErrTooLarge {
		t.Errorf("a lattice of too many edges: %v", err)
	}
	if err := l.build(src, hyp, 2, 400); err != ErrTooLarge {
		t.Errorf("too many places: %v", err)
	}
}
