package recipe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"espalier/tokenize/model"
	"espalier/tokenize/pattern"
)

// A decoder is one step of the way from pieces to a text. It tells what it was
// of a piece as soon as that is sure.
type decoder interface {
	// begin returns a step at the beginning of a text.
	begin() step
}

// A step takes pieces one after another and gives others.
type step interface {
	push(out []string, piece string) []string
	// flush gives what was kept back.
	flush(out []string) []string
}

func (s spec) decoders() ([]decoder, error) {
	specs, err := s.flat(func(s spec) []spec { return s.Decoders }, 0)
	if err != nil {
		return nil, err
	}
	var out []decoder
	for _, s := range specs {
		switch s.Type {
		case "ByteLevel":
			out = append(out, fromLetters{})
		case "WordPiece":
			d := joinPieces{prefix: "##", tidy: or(s.Cleanup, true)}
			if s.Prefix != nil {
				d.prefix = *s.Prefix
			}
			out = append(out, d)
		case "Metaspace":
			m, err := s.metaspace()
			if err != nil {
				return nil, err
			}
			out = append(out, unmark{m.mark, m.scheme != schemeNever})
		case "BPEDecoder":
			d := unsuffix{"</w>"}
			if s.Suffix != nil {
				d.suffix = *s.Suffix
			}
			out = append(out, d)
		case "CTC":
			d := ctc{"<pad>", "|", or(s.Cleanup, true)}
			if s.PadToken != nil {
				d.pad = *s.PadToken
			}
			if s.WordDelimiter != nil {
				d.delimiter = *s.WordDelimiter
			}
			out = append(out, d)
		case "Fuse":
			out = append(out, fuse{})
		case "Strip":
			r, err := char(s.Content, "content")
			if err != nil {
				return nil, err
			}
			if s.Start < 0 || s.Stop < 0 {
				return nil, fmt.Errorf("strip: %d and %d", s.Start, s.Stop)
			}
			out = append(out, cutEnds{r, s.Start, s.Stop})
		case "Replace":
			p, _, err := s.find()
			if err != nil {
				return nil, err
			}
			out = append(out, exchange{p, s.Content})
		case "ByteFallback":
			out = append(out, fromBytes{})
		default:
			return nil, unknown(s)
		}
	}
	return inTime(out), nil
}

// inTime returns steps that give the same text, sooner if it can be: nothing need
// wait for all pieces to be one if only what that begins with is looked at then.
func inTime(steps []decoder) []decoder {
	for i, d := range steps {
		if _, ok := d.(fuse); !ok {
			continue
		}
		out := append([]decoder{}, steps[:i]...)
		for _, d := range steps[i+1:] {
			x, ok := d.(cutEnds)
			if !ok || x.stop > 0 {
				return steps
			}
			out = append(out, cutBegin{string(x.r), x.start})
		}
		return out
	}
	return steps
}

// cutBegin drops a character from the beginning of a text, so many times at most.
type cutBegin struct {
	c    string
	most int
}

func (d cutBegin) begin() step {
	n := 0
	return &each{f: func(piece string, _ bool) string {
		for piece != "" && n < d.most {
			rest, ok := strings.CutPrefix(piece, d.c)
			if !ok {
				n = d.most
				break
			}
			piece = rest
			n++
		}
		return piece
	}}
}

// Decode appends the text that ids stand for.
func (t *Tokenizer) Decode(dst []byte, ids []int32) ([]byte, error) {
	d := t.NewDecoder()
	var err error
	for _, id := range ids {
		if dst, err = d.Push(dst, id); err != nil {
			return dst, err
		}
	}
	return d.Flush(dst), nil
}

// NewDecoder returns a decoder at the beginning of a text.
func (t *Tokenizer) NewDecoder() model.Decoder { return &textDecoder{t: t} }

// A textDecoder runs the steps.
type textDecoder struct {
	t     *Tokenizer
	steps []step
	begun bool
}

// Push appends the text that one more id completes. An id without a name stands
// for nothing.
func (d *textDecoder) Push(dst []byte, id int32) ([]byte, error) {
	if id < 0 || int(id) >= len(d.t.vocab) {
		return dst, fmt.Errorf("id %d: not in 0 to %d", id, len(d.t.vocab)-1)
	}
	piece := d.t.vocab[id]
	if piece == "" && !slices.Contains(d.t.empty, id) {
		return dst, nil
	}
	if d.t.apart {
		if d.begun {
			dst = append(dst, ' ')
		}
		d.begun = true
		return append(dst, piece...), nil
	}
	if !d.begun {
		d.begun = true
		d.steps = d.steps[:0]
		for _, x := range d.t.decode {
			d.steps = append(d.steps, x.begin())
		}
	}
	return d.run(dst, 0, []string{piece}), nil
}

// run appends what pieces become from a step on.
func (d *textDecoder) run(dst []byte, from int, pieces []string) []byte {
	for _, s := range d.steps[from:] {
		var out []string
		for _, p := range pieces {
			out = s.push(out, p)
		}
		pieces = out
	}
	for _, p := range pieces {
		dst = append(dst, p...)
	}
	return dst
}

// Flush appends what is left and goes back to the beginning of a text.
func (d *textDecoder) Flush(dst []byte) []byte {
	if d.begun && !d.t.apart {
		for i, s := range d.steps {
			dst = d.run(dst, i+1, s.flush(nil))
		}
	}
	d.begun = false
	return dst
}

// each is a step that looks at one piece at a time; first is set for the first.
type each struct {
	f     func(piece string, first bool) string
	begun bool
}

func (e *each) push(out []string, piece string) []string {
	first := !e.begun
	e.begun = true
	return append(out, e.f(piece, first))
}

func (e *each) flush(out []string) []string { return out }

// fromLetters reads the byte alphabet. A piece with other characters stands for
// itself.
type fromLetters struct{}

func (fromLetters) begin() step { return &letterStep{} }

type letterStep struct{ pending []byte }

func (s *letterStep) push(out []string, piece string) []string {
	n := len(s.pending)
	for _, r := range piece {
		if int(r) >= len(letterBytes) || letterBytes[r] == 0 {
			s.pending = append(s.pending[:n], piece...)
			break
		}
		s.pending = append(s.pending, byte(letterBytes[r]-1))
	}
	return s.drain(out, false)
}

func (s *letterStep) flush(out []string) []string { return s.drain(out, true) }

// drain gives the characters that are complete, U+FFFD for each longest part that
// could have begun one.
func (s *letterStep) drain(out []string, all bool) []string {
	b := s.pending
	var text []byte
	for len(b) > 0 && (all || utf8.FullRune(b)) {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			for size < len(b) && size < utf8.UTFMax && !utf8.FullRune(b[:size+1]) {
				size++
			}
		}
		text = utf8.AppendRune(text, r)
		b = b[size:]
	}
	s.pending = append(s.pending[:0], b...)
	if len(text) == 0 {
		return out
	}
	return append(out, string(text))
}

// joinPieces joins pieces that begin with a prefix to those before.
type joinPieces struct {
	prefix string
	tidy   bool
}

func (d joinPieces) begin() step {
	return &each{f: func(piece string, first bool) string {
		if !first {
			if rest, ok := strings.CutPrefix(piece, d.prefix); ok {
				piece = rest
			} else {
				piece = " " + piece
			}
		}
		if d.tidy {
			piece = tidied(piece)
		}
		return piece
	}}
}

// tidied is the library's clean-up.
func tidied(s string) string {
	for _, x := range [...][2]string{
		{" .", "."},
		{" ?", "?"},
		{" !", "!"},
		{" ,", ","},
		{" ' ", "'"},
		{" n't", "n't"},
		{" 'm", "'m"},
		{" do not", " don't"},
		{" 's", "'s"},
		{" 've", "'ve"},
		{" 're", "'re"},
	} {
		s = strings.ReplaceAll(s, x[0], x[1])
	}
	return s
}

// unmark writes blanks for marks; those of the first piece go if one was put
// there.
type unmark struct {
	mark string
	drop bool
}

func (d unmark) begin() step {
	return &each{f: func(piece string, first bool) string {
		if first && d.drop {
			return strings.ReplaceAll(piece, d.mark, "")
		}
		return strings.ReplaceAll(piece, d.mark, " ")
	}}
}

// unsuffix writes blanks for suffixes, but for the last piece's.
type unsuffix struct{ suffix string }

func (d unsuffix) begin() step { return &suffixStep{suffix: d.suffix} }

type suffixStep struct {
	suffix, last string
	begun        bool
}

func (s *suffixStep) push(out []string, piece string) []string {
	if s.begun {
		out = append(out, strings.ReplaceAll(s.last, s.suffix, " "))
	}
	s.last, s.begun = piece, true
	return out
}

func (s *suffixStep) flush(out []string) []string {
	if s.begun {
		out = append(out, strings.ReplaceAll(s.last, s.suffix, ""))
	}
	s.begun = false
	return out
}

// ctc gives one of equal neighbours, and blanks for delimiters.
type ctc struct {
	pad, delimiter string
	tidy           bool
}

func (d ctc) begin() step { return &ctcStep{ctc: d} }

type ctcStep struct {
	ctc
	last  string
	begun bool
}

func (s *ctcStep) push(out []string, piece string) []string {
	if s.begun && piece == s.last {
		return out
	}
	s.last, s.begun = piece, true
	piece = strings.ReplaceAll(piece, s.pad, "")
	if s.tidy {
		piece = strings.ReplaceAll(tidied(piece), s.delimiter, " ")
	}
	if piece == "" {
		return out
	}
	return append(out, piece)
}

func (s *ctcStep) flush(out []string) []string { return out }

// fuse makes one piece of all.
type fuse struct{}

func (fuse) begin() step { return &fuseStep{} }

type fuseStep struct {
	all   []byte
	begun bool
}

func (s *fuseStep) push(out []string, piece string) []string {
	s.all, s.begun = append(s.all, piece...), true
	return out
}

func (s *fuseStep) flush(out []string) []string {
	if s.begun {
		out = append(out, string(s.all))
	}
	s.all, s.begun = s.all[:0], false
	return out
}

// cutEnds drops a character from the ends of pieces, so many times at most.
type cutEnds struct {
	r           rune
	start, stop int
}

func (d cutEnds) begin() step {
	c := string(d.r)
	return &each{f: func(piece string, _ bool) string {
		for n := 0; n < d.start && strings.HasPrefix(piece, c); n++ {
			piece = piece[len(c):]
		}
		for n := 0; n < d.stop && strings.HasSuffix(piece, c); n++ {
			piece = piece[:len(piece)-len(c)]
		}
		return piece
	}}
}

// exchange puts a text in the place of what a pattern finds in a piece.
type exchange struct {
	p  *pattern.Pattern
	to string
}

func (d exchange) begin() step {
	return &each{f: func(piece string, _ bool) string {
		var b strings.Builder
		last := 0
		for m := (matcher{p: d.p}); ; {
			i, j, ok := m.next(piece)
			if !ok {
				break
			}
			b.WriteString(piece[last:i])
			b.WriteString(d.to)
			last = j
		}
		if last == 0 && b.Len() == 0 {
			return piece
		}
		b.WriteString(piece[last:])
		return b.String()
	}}
}

// fromBytes makes characters of pieces that stand for bytes.
type fromBytes struct{}

func (fromBytes) begin() step { return &byteStep{} }

type byteStep struct{ pending []byte }

func (s *byteStep) push(out []string, piece string) []string {
	if len(piece) == 6 && strings.HasPrefix(piece, "<0x") && piece[5] == '>' {
		if b, err := strconv.ParseUint(piece[3:5], 16, 8); err == nil {
			s.pending = append(s.pending, byte(b))
			return out
		}
	}
	return append(s.flush(out), piece)
}

func (s *byteStep) flush(out []string) []string {
	if utf8.Valid(s.pending) {
		if len(s.pending) > 0 {
			out = append(out, string(s.pending))
		}
	} else {
		for range s.pending {
			out = append(out, "\uFFFD")
		}
	}
	s.pending = s.pending[:0]
	return out
}
