package progress

import (
	"testing"
	"time"
)

func TestChildrenAddUp(t *testing.T) {
	var m Meter
	a, b := m.Child(), m.Child()
	a.Expect(10, "rows")
	b.Expect(5, "rows")
	b.Expect(7, "rows") // a better count replaces the first
	a.Add(4)
	b.Add(7)
	b.Note("halfway")
	got := m.ReadAt(time.Unix(0, 0))
	want := State{Done: 11, Total: 17, Unit: "rows", Note: "halfway"}
	if got != want {
		t.Errorf("parent reads %+v, want %+v", got, want)
	}
	if got := a.ReadAt(time.Unix(0, 0)); got.Done != 4 || got.Total != 10 || got.Note != "" {
		t.Errorf("child reads %+v", got)
	}
}

func TestRateIsOfTheWindow(t *testing.T) {
	var m Meter
	m.Expect(1000, "images")
	now := time.Unix(1000, 0)
	m.ReadAt(now)
	m.Add(100)
	now = now.Add(10 * time.Second)
	if got := m.ReadAt(now); got.Rate != 10 || got.Left != 90*time.Second {
		t.Errorf("rate %g, left %v; want 10 and 90s", got.Rate, got.Left)
	}
	for range 60 { // a minute at two a second
		now = now.Add(time.Second)
		m.Add(2)
		m.ReadAt(now)
	}
	if got := m.ReadAt(now).Rate; got != 2 {
		t.Errorf("rate %g after a minute, want 2", got)
	}
}

func TestNilMeterCountsNothing(t *testing.T) {
	var m *Meter
	m.Expect(3, "rows")
	m.Add(1)
	m.Note("x")
	m.Child().Add(1)
	if got := m.Read(); got != (State{}) {
		t.Errorf("nil meter reads %+v", got)
	}
}
