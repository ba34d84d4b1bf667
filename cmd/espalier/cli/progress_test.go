package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"espalier/pipeline"
	"espalier/pipeline/progress"
)

// testPrinter is a printer whose clock the test moves.
func testPrinter(mode string) (*printer, *bytes.Buffer, *time.Time) {
	var b bytes.Buffer
	now := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &printer{mode: mode, w: &b, now: func() time.Time { return now }, size: func() (int, int) { return 72, 8 }, names: 6, closed: make(chan struct{})}
	return p, &b, &now
}

func TestPlainProgress(t *testing.T) {
	p, b, now := testPrinter("plain")
	var m progress.Meter
	if was := p.event(pipeline.Event{Node: "train", State: pipeline.Running, Key: "5b7e90fd1234", Meter: &m}); was != "" {
		t.Errorf("a new stage was %q", was)
	}
	m.Expect(200, "steps")
	m.Note("loss 2.31")
	for range 41 {
		*now = now.Add(time.Second)
		m.Add(2)
		p.tick()
	}
	if was := p.event(pipeline.Event{Node: "train", State: pipeline.Running, Key: "5b7e90fd1234", Meter: &m, Parts: 3, PartsDone: 1, Seconds: 41}); was != pipeline.Running {
		t.Errorf("the stage was %q, want running", was)
	}
	p.event(pipeline.Event{Node: "encode", State: pipeline.Cached, Key: "81d0c4e7aa", Rows: 566747})
	p.event(pipeline.Event{Node: "train", State: pipeline.Done, Key: "5b7e90fd1234", Rows: 1, Seconds: 726, Dead: 3})
	p.event(pipeline.Event{Node: "later", State: pipeline.Interrupted})
	p.event(pipeline.Event{Node: "report", State: pipeline.Failed, Err: errors.New("report: no scores\nmore")})
	want := `stage   state        key            rows     time
train   running      5b7e90fd          -       0s
train   running      5b7e90fd          -      30s   steps 60/200  left 1m10s  loss 2.31  2/s
encode  cached       81d0c4e7     566747       0s
train   done         5b7e90fd          1   12m06s   3 dead letters
report  failed       -                 -       0s   report: no scores
`
	if b.String() != want {
		t.Errorf("printed\n%s, want\n%s", b.String(), want)
	}
}

func TestTerminalProgress(t *testing.T) {
	p, b, _ := testPrinter("terminal")
	p.event(pipeline.Event{Node: "a", State: pipeline.Running})
	p.event(pipeline.Event{Node: "b", State: pipeline.Running, Message: strings.Repeat("long ", 30)})
	p.log("warning: x")
	p.event(pipeline.Event{Node: "a", State: pipeline.Done, Rows: 7, Seconds: 2})
	p.event(pipeline.Event{Node: "b", State: pipeline.Done, Rows: 8, Seconds: 2})
	got := screen(b.String())
	want := []string{
		"stage   state        key            rows     time",
		"warning: x",
		"a       done         -                 7       2s",
		"b       done         -                 8       2s",
		"",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("screen shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if len(line) > 72+len("\x1b[2A\r\x1b[J") {
			t.Errorf("line %q would wrap", line)
		}
	}
}

func TestManyLiveStages(t *testing.T) {
	p, b, _ := testPrinter("terminal")
	for _, n := range strings.Fields("a b c d e f g h") {
		p.event(pipeline.Event{Node: n, State: pipeline.Running})
	}
	got := screen(b.String())
	if len(got) != 8 || !strings.HasPrefix(got[5], "e ") || got[6] != "and 3 more" {
		t.Errorf("screen of 8 lines shows\n%s", strings.Join(got, "\n"))
	}
}

// screen plays what a printer wrote: cursor up, clear to the end, line feeds.
func screen(s string) []string {
	lines, at := []string{""}, 0
	for s != "" {
		switch {
		case strings.HasPrefix(s, "\x1b[J"):
			lines = append(lines[:at], "")
			s = s[3:]
		case strings.HasPrefix(s, "\x1b["):
			n := int(s[2] - '0')
			at -= n
			s = s[4:]
		case s[0] == '\r':
			s = s[1:]
		case s[0] == '\n':
			at++
			if at == len(lines) {
				lines = append(lines, "")
			}
			s = s[1:]
		default:
			lines[at] += s[:1]
			s = s[1:]
		}
	}
	return lines
}

func TestJSONProgress(t *testing.T) {
	p, b, now := testPrinter("json")
	var m progress.Meter
	m.Expect(10, "images")
	p.event(pipeline.Event{Node: "grids", Kind: "features/extract", State: pipeline.Running, Meter: &m})
	m.Add(4)
	*now = now.Add(2 * time.Second)
	p.event(pipeline.Event{Node: "grids", Kind: "features/extract", State: pipeline.Running, Meter: &m, Parts: 5, PartsDone: 2})
	p.event(pipeline.Event{Node: "grids", Kind: "features/extract", State: pipeline.Failed, Err: errors.New("x"), Seconds: 2})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), b.String())
	}
	var r progressRecord
	if err := json.Unmarshal([]byte(lines[1]), &r); err != nil {
		t.Fatal(err)
	}
	if r.Stage != "grids" || r.State != "running" || r.Count != 4 || r.Total != 10 || r.Unit != "images" || r.Done != 2 || r.Parts != 5 || r.Seconds != 2 {
		t.Errorf("record %+v", r)
	}
	if err := json.Unmarshal([]byte(lines[2]), &r); err != nil || r.Error != "x" || r.State != "failed" {
		t.Errorf("record %+v, %v", r, err)
	}
}

func TestNoProgress(t *testing.T) {
	p, b, _ := testPrinter("none")
	p.event(pipeline.Event{Node: "a", State: pipeline.Running})
	p.event(pipeline.Event{Node: "a", State: pipeline.Done})
	if b.Len() != 0 {
		t.Errorf("printed %q", b.String())
	}
}
