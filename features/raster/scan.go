package raster

import "espalier/trainer/kernel/pixel"

// A scanSpec is what a scan header says about a progressive scan.
type scanSpec struct {
	comps          []*jpegComp
	ss, se, ah, al int
}

// readScan decodes the scan whose header is seg and leaves pos at the marker
// behind it.
func (d *jpegDecoder) readScan(seg []byte, index int) error {
	if len(d.comps) == 0 {
		return refuse(JPEG, "scan before the frame header")
	}
	if len(seg) < 1 || len(seg) != 4+2*int(seg[0]) || seg[0] < 1 || int(seg[0]) > len(d.comps) {
		return refuse(JPEG, "scan header of %d bytes", len(seg))
	}
	n := int(seg[0])
	var room [4]*jpegComp
	s := scanSpec{comps: room[:n]}
	tail := seg[1+2*n:]
	s.ss, s.se, s.ah, s.al = int(tail[0]), int(tail[1]), int(tail[2]>>4), int(tail[2]&15)
	if !d.progressive {
		s.ss, s.se, s.ah, s.al = 0, 63, 0, 0 // libjpeg ignores what a sequential file says here
	} else if s.ss > s.se || s.se > 63 || s.al > 13 || s.ss == 0 && s.se != 0 || s.ss > 0 && n != 1 || s.ah != 0 && s.al != s.ah-1 {
		return refuse(JPEG, "scan of coefficients %d to %d, bits %d to %d", s.ss, s.se, s.ah, s.al)
	}
	blocks := 0
	for i := range n {
		id := seg[1+2*i]
		var c *jpegComp
		for j := range d.comps {
			if d.comps[j].id == id {
				c = &d.comps[j]
				break
			}
		}
		if c == nil {
			return refuse(JPEG, "scan of unknown component %d", id)
		}
		for _, prev := range s.comps[:i] {
			if prev == c {
				return refuse(JPEG, "scan names component %d twice", id)
			}
		}
		s.comps[i] = c
		blocks += c.h * c.v
		if err := d.readyComp(c, seg[2+2*i], s); err != nil {
			return err
		}
	}
	if n > 1 && blocks > 10 {
		return refuse(JPEG, "%d blocks in an interleaved unit, 10 at most", blocks)
	}
	if d.progressive && index == 0 {
		d.needBlocks()
	}
	d.startBits()
	var err error
	if d.progressive {
		err = d.progressiveScan(s)
	} else {
		err = d.sequentialScan(s)
	}
	if err != nil {
		return err
	}
	if left := d.leftover(); left >= 2 && !d.contained() {
		return refuse(JPEG, "corrupt scan: %d bytes are left over", left)
	}
	return nil
}

// readyComp checks and remembers what a scan needs of one component.
func (d *jpegDecoder) readyComp(c *jpegComp, tables byte, s scanSpec) error {
	if !c.qSaved {
		if !d.quantK[c.tq] {
			return refuse(JPEG, "quantisation table %d is missing", c.tq)
		}
		c.q, c.qSaved = d.quant[c.tq], true
	}
	td, ta := tables>>4, tables&15
	if td > 3 || ta > 3 {
		return refuse(JPEG, "scan uses Huffman tables %d and %d", td, ta)
	}
	needDC, needAC := s.ss == 0 && s.ah == 0, s.se > 0
	c.dcTab, c.acTab = d.table(0, td), d.table(1, ta)
	if needDC && c.dcTab == nil || needAC && c.acTab == nil {
		return refuse(JPEG, "Huffman table is missing")
	}
	if needDC && c.dcTab.bad || needAC && c.acTab.bad {
		return refuse(JPEG, "Huffman table is not a prefix code")
	}
	if d.progressive {
		for k := s.ss; k <= s.se; k++ {
			c.bits[k] = int8(s.al)
		}
	}
	return nil
}

// errCode, errRun and errStarved name the ways in which coded data are wrong.
func errCode() error    { return refuse(JPEG, "corrupt scan: unknown Huffman code") }
func errRun() error     { return refuse(JPEG, "corrupt scan: coefficient beyond the block") }
func errStarved() error { return refuse(JPEG, "truncated: a scan ends before its last block") }

// eachBlock walks over the blocks of a scan in coding order, with restarts.
// block gets the component and the place of the block; atRestart resets the
// caller's predictions.
//
// Restart markers exist to contain damage, so a sequential file that has them
// is decoded through it as libjpeg does: where an interval runs out of data the
// present unit is read from zeros and the others are left as they are.
func (d *jpegDecoder) eachBlock(s scanSpec, atRestart func(), block func(c *jpegComp, bx, by int) error) error {
	atRestart()
	mx, my := d.mcusX, d.mcusY
	single := len(s.comps) == 1
	if single {
		c := s.comps[0]
		mx, my = ceilDiv(c.w, 8), ceilDiv(c.ht, 8)
	}
	left, next := d.restart, byte(0)
	empty := false
	for y := range my {
		for x := range mx {
			if d.restart > 0 {
				if left == 0 {
					var err error
					starved := empty || d.starved()
					if empty, err = d.resync(next); err != nil {
						return err
					}
					empty = empty && starved
					next = (next + 1) & 7
					left = d.restart
					atRestart()
				}
				left--
				if empty = empty || d.contained() && d.starved(); empty {
					continue
				}
			}
			if single {
				if err := block(s.comps[0], x, y); err != nil {
					return err
				}
				continue
			}
			for _, c := range s.comps {
				for v := range c.v {
					for h := range c.h {
						if err := block(c, x*c.h+h, y*c.v+v); err != nil {
							return err
						}
					}
				}
			}
		}
		if !d.contained() && d.starved() {
			return errStarved()
		}
	}
	return nil
}

// contained reports whether damage ends at the next restart marker.
func (d *jpegDecoder) contained() bool { return d.restart > 0 && !d.progressive }

// resync moves behind the restart marker with number want. If the file lacks
// it, it does what libjpeg's default does: a marker of one of the next two
// intervals is left alone, so that this interval has no data; an earlier one is
// passed over; one too far away is taken for the one wanted.
func (d *jpegDecoder) resync(want byte) (empty bool, err error) {
	if left := d.leftover(); !d.contained() && (left >= 2 || d.starved()) {
		return false, refuse(JPEG, "corrupt scan: restart marker %d is out of place", want)
	}
	for {
		at := d.pos
		m, err := d.nextMarker()
		if err != nil {
			return false, err
		}
		if m >= markRST0 && m <= markRST7 {
			if m != markRST0+want && !d.contained() {
				return false, refuse(JPEG, "corrupt scan: restart marker %d where %d should be", m-markRST0, want)
			}
			switch (m - markRST0 - want) & 7 {
			case 1, 2:
				d.pos = at
				d.startBits()
				return true, nil
			case 6, 7:
				continue
			}
			d.startBits()
			return false, nil
		}
		if m < markSOF0 {
			continue
		}
		return false, errStarved()
	}
}

// sequentialScan decodes blocks straight into samples.
func (d *jpegDecoder) sequentialScan(s scanSpec) error {
	for _, c := range s.comps {
		if d.restart > 0 {
			fill(c.plane, 128) // what intervals lost at a restart show
		}
	}
	reset := func() {
		for _, c := range s.comps {
			c.dc = 0
		}
	}
	return d.eachBlock(s, reset, func(c *jpegComp, bx, by int) error {
		return d.sequentialBlock(c, c.plane[by*8*c.stride+bx*8:])
	})
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// sequentialBlock decodes one block and transforms it into dst.
func (d *jpegDecoder) sequentialBlock(c *jpegComp, dst []byte) error {
	b := &d.bitReader
	if b.n < 32 {
		b.fill()
	}
	if e := c.dcTab.fast[b.acc>>(64-lookBits)]; e>>16 != 0 {
		b.skip(int(e & 31))
		c.dc += e >> 16
	} else {
		size := b.symbol(c.dcTab)
		if size < 0 {
			if size = d.badCode(); size < 0 {
				return errCode()
			}
		}
		c.dc += extend(b.bits(size), size)
	}
	any, err := d.readAC(c.acTab)
	if err != nil {
		clear(d.coeffs[:])
		return err
	}
	if !any {
		pixel.Flat(dst, c.stride, int16(c.dc)*c.q[0])
		return nil
	}
	d.coeffs[0] = int16(c.dc)
	pixel.Inverse(dst, c.stride, &d.coeffs, &c.q)
	return nil
}

// readAC reads all coefficients of a block but the first and reports whether
// there is one that is not zero.
func (d *jpegDecoder) readAC(t *huffTable) (any bool, err error) {
	b, co := &d.bitReader, &d.coeffs
	acc, n := b.acc, b.n
	for k := 1; k < 64; k++ {
		if n < 32 {
			b.acc, b.n = acc, n
			b.fill()
			acc, n = b.acc, b.n
		}
		e := t.fast[acc>>(64-lookBits)]
		if v := e >> 16; v != 0 {
			acc <<= uint(e & 31)
			n -= int(e & 31)
			if k += int(e >> 8 & 15); k > 63 && !d.contained() {
				b.acc, b.n = acc, n
				return any, errRun()
			}
			co[zigzag[k]&63] = int16(v)
			any = true
			continue
		}
		var rs int
		if e != 0 {
			acc <<= uint(e & 31)
			n -= int(e & 31)
			rs = int(e >> 8 & 255)
		} else {
			b.acc, b.n = acc, n
			if rs = b.symbol(t); rs < 0 {
				if rs = d.badCode(); rs < 0 {
					return any, errCode()
				}
			}
			acc, n = b.acc, b.n
		}
		size := rs & 15
		k += rs >> 4
		if size == 0 {
			if rs != 0xf0 {
				break
			}
			continue
		}
		v := extend(int32(acc>>uint(64-size)), size)
		acc <<= uint(size)
		n -= size
		if k > 63 && !d.contained() {
			b.acc, b.n = acc, n
			return any, errRun()
		}
		co[zigzag[k]&63] = int16(v)
		any = true
	}
	b.acc, b.n = acc, n
	return any, nil
}

// badCode drops the 17 bits of a code that no table has and takes it for a
// zero, as libjpeg does, where damage is contained; else it returns -1.
func (d *jpegDecoder) badCode() int {
	if !d.contained() {
		return -1
	}
	d.skip(17)
	return 0
}

// progressiveScan decodes one scan into the stored coefficients (T.81, annex
// G).
func (d *jpegDecoder) progressiveScan(s scanSpec) error {
	eobRun := 0
	reset := func() {
		eobRun = 0
		for _, c := range s.comps {
			c.dc = 0
		}
	}
	b := &d.bitReader
	var block func(c *jpegComp, bx, by int) error
	at := func(c *jpegComp, bx, by int) *[64]int16 {
		return (*[64]int16)(c.blocks[(by*c.blocksX+bx)*64:])
	}
	switch {
	case s.ss == 0 && s.ah == 0:
		block = func(c *jpegComp, bx, by int) error {
			if b.n < 32 {
				b.fill()
			}
			size := b.symbol(c.dcTab)
			if size < 0 {
				return errCode()
			}
			c.dc += extend(b.bits(size), size)
			at(c, bx, by)[0] = int16(c.dc << s.al)
			return nil
		}
	case s.ss == 0:
		block = func(c *jpegComp, bx, by int) error {
			if b.bit() {
				at(c, bx, by)[0] |= 1 << s.al
			}
			return nil
		}
	case s.ah == 0:
		block = func(c *jpegComp, bx, by int) error {
			if eobRun > 0 {
				eobRun--
				return nil
			}
			var err error
			eobRun, err = b.firstAC(at(c, bx, by), c.acTab, s)
			return err
		}
	default:
		block = func(c *jpegComp, bx, by int) error {
			var err error
			eobRun, err = b.refineAC(at(c, bx, by), c.acTab, s, eobRun)
			return err
		}
	}
	return d.eachBlock(s, reset, block)
}

// firstAC reads the first bits of a band of a block and returns how many of
// the blocks behind it have none.
func (b *bitReader) firstAC(blk *[64]int16, t *huffTable, s scanSpec) (int, error) {
	for k := s.ss; k <= s.se; k++ {
		if b.n < 32 {
			b.fill()
		}
		rs := b.symbol(t)
		if rs < 0 {
			return 0, errCode()
		}
		run, size := rs>>4, rs&15
		if size == 0 {
			if run < 15 {
				return 1<<run - 1 + int(b.bits(run)), nil
			}
			k += 15
			continue
		}
		k += run
		if k > s.se {
			return 0, errRun()
		}
		blk[k&63] = int16(extend(b.bits(size), size) << s.al)
	}
	return 0, nil
}

// refineAC reads one more bit of each coefficient of a band.
func (b *bitReader) refineAC(blk *[64]int16, t *huffTable, s scanSpec, eobRun int) (int, error) {
	plus, minus := int16(1)<<s.al, int16(-1)<<s.al
	k := s.ss
	if eobRun == 0 {
		for ; k <= s.se; k++ {
			if b.n < 32 {
				b.fill()
			}
			rs := b.symbol(t)
			if rs < 0 {
				return 0, errCode()
			}
			run, size := rs>>4, rs&15
			var v int16
			switch {
			case size == 1:
				v = minus
				if b.bit() {
					v = plus
				}
			case size != 0:
				return 0, refuse(JPEG, "corrupt scan: refinement of %d bits", size)
			case run < 15:
				eobRun = 1<<run + int(b.bits(run))
			}
			if eobRun > 0 {
				break
			}
			for ; k <= s.se; k++ {
				if blk[k&63] != 0 {
					b.refine(&blk[k&63], plus)
					continue
				}
				if run == 0 {
					break
				}
				run--
			}
			if v != 0 {
				if k > s.se {
					return 0, errRun()
				}
				blk[k&63] = v
			}
		}
	}
	if eobRun > 0 {
		for ; k <= s.se; k++ {
			if blk[k&63] != 0 {
				b.refine(&blk[k&63], plus)
			}
		}
		eobRun--
	}
	return eobRun, nil
}

// refine reads the correction bit of a coefficient that is not zero.
func (b *bitReader) refine(v *int16, plus int16) {
	if b.bit() && *v&plus == 0 {
		if *v >= 0 {
			*v += plus
		} else {
			*v -= plus
		}
	}
}
