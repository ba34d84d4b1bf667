package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"espalier/pipeline"
)

// progressModes are the values of --progress.
var progressModes = []string{"auto", "plain", "json", "none"}

const (
	redrawEvery = 200 * time.Millisecond // of a terminal
	repeatEvery = 30 * time.Second       // of a running stage, elsewhere
)

// A printer shows the events of a run: on a terminal a line for each stage
// that is being made, redrawn in place and left standing when it is done;
// elsewhere a line a change and one for each running stage every 30 seconds.
type printer struct {
	mode string // plain, json, terminal, none
	w    io.Writer
	size func() (width, height int) // of the terminal
	now  func() time.Time

	mu     sync.Mutex
	names  int // width of the column of names
	headed bool
	live   []*stageLine // in the order in which they began
	drawn  int          // live lines on the screen
	closed chan struct{}
	wg     sync.WaitGroup
}

// A stageLine is what is known of a stage that is not done.
type stageLine struct {
	event pipeline.Event
	began time.Time
	shown time.Time
}

// newPrinter starts a printer for stages of the given names.
func newPrinter(mode string, errs *os.File, names []string) *printer {
	p := &printer{mode: mode, w: errs, now: time.Now, closed: make(chan struct{})}
	for _, n := range names {
		p.names = min(max(p.names, utf8.RuneCountInString(n)), 48)
	}
	if mode == "auto" {
		p.mode = "plain"
		if isTerminal(errs) {
			p.mode = "terminal"
			p.size = func() (int, int) { return terminalSize(errs) }
		}
	}
	if p.mode != "none" {
		every := time.Second
		if p.mode == "terminal" {
			every = redrawEvery
		}
		p.wg.Add(1)
		go p.repeat(every)
	}
	return p
}

func (p *printer) repeat(every time.Duration) {
	defer p.wg.Done()
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-p.closed:
			return
		case <-t.C:
			p.tick()
		}
	}
}

func (p *printer) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == "terminal" {
		p.redraw("")
		return
	}
	now := p.now()
	for _, l := range p.live {
		l.event.Meter.ReadAt(now) // so that its rate is that of late
		if now.Sub(l.shown) >= repeatEvery {
			p.show(l)
		}
	}
}

// close stops the printer. Live lines stay as they are.
func (p *printer) close() {
	close(p.closed)
	p.wg.Wait()
}

// log writes a line of the log between those of stages.
func (p *printer) log(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == "terminal" {
		p.redraw(line)
		return
	}
	_ = writeString(p.w, line+"\n")
}

// event takes one change of a stage and returns the state it was in.
func (p *printer) event(e pipeline.Event) (was pipeline.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var l *stageLine
	for _, x := range p.live {
		if x.event.Node == e.Node {
			l = x
		}
	}
	if l == nil {
		l = &stageLine{began: p.now()}
		p.live = append(p.live, l)
	}
	was = l.event.State
	quiet := was == e.State && e.Message == l.event.Message // a part done: shown with the next repeat
	if was != e.State {
		l.began = p.now().Add(-time.Duration(e.Seconds * float64(time.Second)))
	}
	l.event = e
	switch e.State {
	case pipeline.Running, pipeline.Waiting, pipeline.Pending, pipeline.Partial:
		if p.mode == "terminal" {
			p.redraw("")
		} else if !quiet || p.mode == "json" {
			p.show(l)
		}
		return was
	}
	if was == "" && e.State == pipeline.Interrupted {
		p.live = p.live[:len(p.live)-1]
		return was // never began: nothing to tell
	}
	for i, x := range p.live {
		if x == l {
			p.live = append(p.live[:i], p.live[i+1:]...)
			break
		}
	}
	if p.mode == "terminal" {
		p.redraw(p.line(l))
	} else {
		p.show(l)
	}
	return was
}

// show writes one line for a stage.
func (p *printer) show(l *stageLine) {
	l.shown = p.now()
	if p.mode == "none" {
		return
	}
	if p.mode == "json" {
		if line, err := jsonLine(p.record(l)); err == nil {
			_, _ = p.w.Write(line)
		}
		return
	}
	text := p.line(l) + "\n"
	if !p.headed {
		p.headed = true
		text = p.header() + "\n" + text
	}
	_ = writeString(p.w, text)
}

// redraw replaces the live lines, leaving done, if any, above them.
func (p *printer) redraw(done string) {
	width, height := p.size()
	width, height = max(width, 20), max(height, 6)
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	b.WriteString("\r\x1b[J")
	if !p.headed {
		p.headed = true
		b.WriteString(clip(p.header(), width) + "\n")
	}
	if done != "" {
		b.WriteString(done + "\n")
	}
	p.drawn = 0
	for i, l := range p.live {
		line := p.line(l)
		last := p.drawn == height-3
		if last && i < len(p.live)-1 {
			line = fmt.Sprintf("and %d more", len(p.live)-i)
		}
		b.WriteString(clip(line, width) + "\n")
		if p.drawn++; last {
			break
		}
	}
	_ = writeString(p.w, b.String())
}

func clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width])
}

func (p *printer) header() string {
	return fmt.Sprintf("%-*s  %-11s  %-8s  %9s  %7s", p.names, "stage", "state", "key", "rows", "time")
}

func (p *printer) line(l *stageLine) string {
	e := l.event
	over := e.State != pipeline.Running && e.State != pipeline.Waiting && e.State != pipeline.Pending && e.State != pipeline.Partial
	seconds := e.Seconds
	if !over {
		seconds = p.now().Sub(l.began).Seconds()
	}
	key := e.Key.Short()
	if key == "" {
		key = "-"
	}
	rows := count(e.Rows, over && (e.State == pipeline.Done || e.State == pipeline.Cached || e.State == pipeline.Rejected))
	s := fmt.Sprintf("%-*s  %-11s  %-8s  %9s  %7s", p.names, e.Node, e.State, key, rows, duration(time.Duration(seconds*float64(time.Second))))
	if x := p.extra(l, over); x != "" {
		s += "   " + x
	}
	return s
}

// extra is what stands behind the columns: parts, counts, rate, time left.
func (p *printer) extra(l *stageLine, over bool) string {
	e := l.event
	var out []string
	if e.Dead > 0 {
		out = append(out, fmt.Sprintf("%d dead letters", e.Dead))
	}
	if e.Err != nil && over {
		out = append(out, firstLine(e.Err.Error()))
	}
	if e.Message != "" {
		out = append(out, e.Message)
	}
	if over {
		return strings.Join(out, "  ")
	}
	if e.Parts > 1 {
		out = append(out, fmt.Sprintf("part %d/%d", e.PartsDone, e.Parts))
	}
	m := e.Meter.ReadAt(p.now())
	if m.Total > 0 || m.Done > 0 {
		unit := m.Unit
		if unit == "" {
			unit = "done"
		}
		if m.Total > 0 {
			out = append(out, fmt.Sprintf("%s %d/%d", unit, m.Done, m.Total))
		} else {
			out = append(out, fmt.Sprintf("%s %d", unit, m.Done))
		}
		if m.Left > 0 {
			out = append(out, "left "+duration(m.Left))
		}
	}
	if m.Note != "" {
		out = append(out, m.Note)
	}
	if m.Rate > 0 {
		out = append(out, rate(m.Rate)+"/s")
	}
	return strings.Join(out, "  ")
}

// A progressRecord is one line of --progress json.
type progressRecord struct {
	Time    string         `json:"time"`
	Stage   string         `json:"stage"`
	Kind    string         `json:"kind"`
	Key     string         `json:"key,omitempty"`
	State   pipeline.State `json:"state"`
	Parts   int            `json:"parts,omitempty"`
	Done    int            `json:"parts_done,omitempty"`
	Rows    int64          `json:"rows,omitempty"`
	Bytes   int64          `json:"bytes,omitempty"`
	Dead    int64          `json:"dead,omitempty"`
	Seconds float64        `json:"seconds"`
	Count   int64          `json:"count,omitempty"`
	Total   int64          `json:"total,omitempty"`
	Unit    string         `json:"unit,omitempty"`
	Left    float64        `json:"seconds_left,omitempty"`
	Note    string         `json:"note,omitempty"`
	Message string         `json:"message,omitempty"`
	Error   string         `json:"error,omitempty"`
}

func (p *printer) record(l *stageLine) progressRecord {
	e := l.event
	now := p.now()
	r := progressRecord{
		Time: now.UTC().Format(time.RFC3339Nano), Stage: e.Node, Kind: e.Kind, Key: string(e.Key), State: e.State,
		Parts: e.Parts, Done: e.PartsDone, Rows: e.Rows, Bytes: e.Bytes, Dead: e.Dead, Seconds: e.Seconds, Message: e.Message,
	}
	if e.State == pipeline.Running {
		r.Seconds = now.Sub(l.began).Seconds()
	}
	m := e.Meter.ReadAt(now)
	r.Count, r.Total, r.Unit, r.Note, r.Left = m.Done, m.Total, m.Unit, m.Note, m.Left.Seconds()
	if e.Err != nil {
		r.Error = e.Err.Error()
	}
	return r
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), termiosRequest)
	return err == nil
}

func terminalSize(f *os.File) (width, height int) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || ws.Col == 0 || ws.Row == 0 {
		return 80, 24
	}
	return int(ws.Col), int(ws.Row)
}
