package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unsafe"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxLine bounds a line of text that is read.
const maxLine = 64 << 20

// batchSize is how much text is read at a time.
const batchSize = 128 << 10

// A lineWriter appends to dst what is printed for a line, which it must not keep.
type lineWriter func(dst []byte, line string) ([]byte, error)

// eachFile prints what becomes of every line of the files, or of standard input,
// in their order. Each of the workers has a lineWriter of its own.
func eachFile(ctx context.Context, c *console, files []string, workers int, fresh func() lineWriter) error {
	writers := make([]lineWriter, max(1, workers))
	for i := range writers {
		writers[i] = fresh()
	}
	if len(files) == 0 {
		return eachLine(ctx, "standard input", c.in, c.out, writers)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return usagef("%v", err)
		}
		err = eachLine(ctx, name, file, c.out, writers)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unpack returns the content of a gzip or zstd stream, or of a plain one.
func unpack(r io.Reader) (io.Reader, func(), error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		z, err := gzip.NewReader(in)
		return z, func() {}, err
	case bytes.Equal(head, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return in, func() {}, nil
}

// A batch is some lines on their way. Its memory is used again and again.
type batch struct {
	first int // number of the first line, from 1
	text  []byte
	out   []byte
	err   error
	ready chan struct{} // told once when the output is made
}

func newBatch() *batch {
	return &batch{text: make([]byte, 0, batchSize), ready: make(chan struct{}, 1)}
}

// run makes the output of a batch.
func (b *batch) run(name string, w lineWriter) {
	b.out, b.err = b.out[:0], nil
	text := unsafe.String(unsafe.SliceData(b.text), len(b.text)) // stays as it is until the output is written
	for n := b.first; text != ""; n++ {
		line := text
		if k := strings.IndexByte(text, '\n'); k >= 0 {
			line, text = text[:k], text[k+1:]
		} else {
			text = ""
		}
		if b.out, b.err = w(b.out, strings.TrimSuffix(line, "\r")); b.err != nil {
			b.err = fmt.Errorf("%s:%d: %w", name, n, b.err)
			return
		}
	}
}

// write writes the output of a batch.
func (b *batch) write(out io.Writer) error {
	if _, err := out.Write(b.out); err != nil {
		return err
	}
	return b.err
}

// eachLine prints what becomes of every line.
func eachLine(ctx context.Context, name string, r io.Reader, out io.Writer, writers []lineWriter) error {
	r, done, err := unpack(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer done()
	if len(writers) == 1 {
		two := [2]*batch{newBatch(), newBatch()}
		fresh := func() *batch {
			two[0], two[1] = two[1], two[0]
			return two[0]
		}
		return batches(ctx, name, r, fresh, func(b *batch) error {
			b.run(name, writers[0])
			return b.write(out)
		})
	}
	ctx, cancel := context.WithCancel(ctx)
	work, order, spent := make(chan *batch, 2*len(writers)), make(chan *batch, 3*len(writers)), make(chan *batch, 4*len(writers))
	fresh := func() *batch {
		select {
		case b := <-spent:
			return b
		default:
			return newBatch()
		}
	}
	var failed error
	stopped := make(chan struct{})
	for _, w := range writers {
		go func() {
			for b := range work {
				b.run(name, w)
				b.ready <- struct{}{}
			}
			stopped <- struct{}{}
		}()
	}
	go func() {
		defer close(order)
		defer close(work)
		failed = batches(ctx, name, r, fresh, func(b *batch) error {
			select {
			case order <- b:
				work <- b
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for b := range order {
		<-b.ready
		if err == nil {
			if err = b.write(out); err != nil {
				cancel()
			}
		}
		select {
		case spent <- b:
		default:
		}
	}
	for range writers {
		<-stopped
	}
	cancel()
	if err == nil {
		err = failed
	}
	return err
}

// batches cuts what is read into batches of whole lines.
func batches(ctx context.Context, name string, r io.Reader, fresh func() *batch, f func(*batch) error) error {
	b := fresh()
	b.first, b.text = 1, b.text[:0]
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(b.text) == cap(b.text) {
			if len(b.text) >= maxLine {
				return fmt.Errorf("%s:%d: longer than %d bytes", name, b.first, maxLine)
			}
			b.text = append(make([]byte, 0, 2*cap(b.text)), b.text...)
		}
		old := len(b.text) // bytes without a line's end
		n, err := r.Read(b.text[old:cap(b.text)])
		b.text = b.text[:old+n]
		end := bytes.LastIndexByte(b.text[old:], '\n') + 1
		switch {
		case errors.Is(err, io.EOF):
			if len(b.text) == 0 {
				return nil
			}
			return f(b)
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case end == 0:
			continue
		}
		end += old
		next := fresh()
		next.text = append(next.text[:0], b.text[end:]...)
		b.text = b.text[:end]
		next.first = b.first + bytes.Count(b.text, []byte{'\n'})
		if err := f(b); err != nil {
			return err
		}
		b = next
	}
}
