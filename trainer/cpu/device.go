// Package cpu is the device that computes on the processor.
//
// Operations run when they are called and are done when the call returns. Work
// is cut into output tiles and by nothing else, so results do not depend on
// the number of threads. Storage is aligned memory on the Go heap, reused from
// step to step: a steady-state step allocates nothing. A device is used from
// one goroutine at a time and owns its worker goroutines, which Close ends.
package cpu

import (
	"errors"
	"runtime"

	"espalier/trainer/kernel/cpuinfo"
	"espalier/trainer/kernel/pool"
	"espalier/trainer/op"
)

var _ op.Device = (*Device)(nil)

var errClosed = errors.New("cpu: device is closed")

// A Device is an [op.Device] of a number of threads.
type Device struct {
	pool   *pool.Pool
	arena  arena
	kept   int64 // bytes of kept and packed tensors
	peak   int64
	err    error
	closed bool

	// What operations reuse from call to call.
	panelScratch, scale, wide, parts, logits scratch
	rounded                                  scratch
	local                                    []scratch // of each thread
	counting                                 []int32   // 0, 1, 2, ...
	matmul                                   matmulJob
	packJob                                  packJob
	round                                    roundJob
	conv                                     convJob
	filters                                  filterJob
	flat                                     flatJob
	tiles                                    winogradJob
	roundedTiles                             roundedTilesJob
	attend                                   attendJob
	query                                    queryJob
	average                                  averageJob
	elementwise                              mapJob
	permute                                  permuteJob
	embed                                    embedJob
	update                                   updateJob
	adafactor                                adafactorJob
	norm                                     normJob
	softmax                                  softmaxJob
	loss                                     lossJob
	project                                  projectJob
	sum                                      sumJob
	column                                   columnJob
	top                                      topJob
}

// New returns a device of at most so many threads; 0 means one for each
// processor.
func New(threads int) *Device {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Device{pool: pool.New(threads), local: make([]scratch, threads)}
}

// Name returns "cpu".
func (d *Device) Name() string { return "cpu" }

// Numerics returns the numerics class of what the device computes.
func (d *Device) Numerics() string { return cpuinfo.Numerics() }

// Threads returns the number of threads.
func (d *Device) Threads() int { return d.pool.Threads() }

// Run calls t.Tile for every i in [0, tiles) on the device's threads, of which
// thread is one: work of the host beside the operations. A tile must write only
// what is its own, and call no operation.
func (d *Device) Run(t interface{ Tile(thread, i int) }, tiles int) { d.pool.Run(t, tiles) }

// A thread's share has at least and at most so many rows: fewer are no full
// tiles of a product, and of more the first would not stay in the cache.
const (
	leastShare = 32
	mostShare  = 96
)

// share returns how many of some rows each thread does in one go, an even
// number, or 0 where they are better cut finer. Operations that follow each
// other on the same rows, as those of a step of decoding do, then find what they
// read in the cache of the thread that wrote it.
func (d *Device) share(rows int) int {
	threads := d.pool.Threads()
	n := (rows + 2*threads - 1) / (2 * threads) * 2
	if threads == 1 || n < leastShare || n > mostShare {
		return 0
	}
	return n
}

// shareOr is share, or rows of a finer tile where there is none.
func (d *Device) shareOr(rows, tile int) int {
	if share := d.share(rows); share > 0 {
		return share
	}
	return tile
}

// Err returns the first error since the device was made.
func (d *Device) Err() error { return d.err }

// Close ends the worker goroutines and lets the memory go. Every operation
// after it panics.
func (d *Device) Close() error {
	if d.closed {
		return errClosed
	}
	d.closed = true
	d.pool.Close()
	d.arena = arena{}
	return nil
}

func (d *Device) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}
