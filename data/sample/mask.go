package sample

import "slices"

// A mask holds coverage from 0 to 255 over a box of pixels.
type mask struct {
	x0, y0, w, h int
	a            []uint8
}

// at returns the coverage of a pixel, 0 outside the box.
func (m *mask) at(x, y int) int {
	x -= m.x0
	y -= m.y0
	if x < 0 || y < 0 || x >= m.w || y >= m.h {
		return 0
	}
	return int(m.a[y*m.w+x])
}

const subLines = 8 // lines of a pixel on which coverage is measured

// fill returns the coverage of rings by the even-odd rule, in a box with a
// margin around them. Along x coverage is exact to 1/256 pixel.
func fill(rings [][]point, margin int) *mask {
	x0, y0, x1, y1 := bounds(rings)
	m := &mask{x0: x0 - margin, y0: y0 - margin, w: x1 - x0 + 2*margin + 1, h: y1 - y0 + 2*margin + 1}
	m.a = make([]uint8, m.w*m.h)
	sums := make([]int, m.w)
	var hits []int
	for y := y0; y <= y1; y++ {
		clear(sums)
		for k := range subLines {
			line := y<<8 + (2*k+1)*256/(2*subLines)
			hits = crossings(hits[:0], rings, line)
			for i := 0; i+1 < len(hits); i += 2 {
				span(sums, hits[i]-m.x0<<8, hits[i+1]-m.x0<<8)
			}
		}
		to := m.a[(y-m.y0)*m.w:][:m.w]
		for x, s := range sums {
			to[x] = uint8(min(s/subLines, 255))
		}
	}
	return m
}

// crossings appends where the rings' edges cross a horizontal line, in order.
func crossings(hits []int, rings [][]point, line int) []int {
	for _, ring := range rings {
		p := ring[len(ring)-1]
		for _, q := range ring {
			if (p.y <= line) != (q.y <= line) {
				hits = append(hits, p.x+(q.x-p.x)*(line-p.y)/(q.y-p.y))
			}
			p = q
		}
	}
	slices.Sort(hits)
	return hits
}

// span adds the coverage of [a, b), in 1/256 pixels, to a line of pixels.
func span(sums []int, a, b int) {
	a, b = max(a, 0), min(b, len(sums)<<8)
	if a >= b {
		return
	}
	i, k := a>>8, (b-1)>>8
	if i == k {
		sums[i] += b - a
		return
	}
	sums[i] += 256 - a&255
	for x := i + 1; x < k; x++ {
		sums[x] += 256
	}
	sums[k] += b - k<<8
}

// blurred returns the mask after two box blurs of a radius, in the same box.
func (m *mask) blurred(radius int) *mask {
	out := &mask{x0: m.x0, y0: m.y0, w: m.w, h: m.h, a: slices.Clone(m.a)}
	if radius < 1 {
		return out
	}
	line := make([]uint8, max(m.w, m.h))
	for range 2 {
		for y := range m.h {
			box(out.a[y*m.w:], line[:m.w], 1, radius)
		}
		for x := range m.w {
			box(out.a[x:], line[:m.h], m.w, radius)
		}
	}
	return out
}

// box blurs a line of values that lie a step apart.
func box(a, line []uint8, step, radius int) {
	n := len(line)
	for i := range n {
		line[i] = a[i*step]
	}
	width := 2*radius + 1
	sum := 0
	for i := range min(radius, n) {
		sum += int(line[i])
	}
	for i := range n {
		if i+radius < n {
			sum += int(line[i+radius])
		}
		if k := i - radius - 1; k >= 0 {
			sum -= int(line[k])
		}
		a[i*step] = uint8(sum / width)
	}
}
