package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// plant writes a lock as another process would have.
func plant(t *testing.T, s *Store, k Key, h Holder) {
	t.Helper()
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	p := s.lockPath(k)
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, append(text, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestALockIsHeldByOne(t *testing.T) {
	s := newStore(t)
	other, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	l, h, err := s.TryLock(key("a"), "train", func() string { return "step 3" })
	if err != nil || l == nil || h != nil {
		t.Fatalf("%v %v %v", l, h, err)
	}
	if l2, h, err := other.TryLock(key("a"), "train", nil); l2 != nil || h == nil || h.PID != os.Getpid() || h.What != "train" || err != nil {
		t.Errorf("taken twice: %v %v %v", l2, h, err)
	}
	if l2, _, err := other.TryLock(key("b"), "x", nil); l2 == nil || err != nil {
		t.Errorf("another lock: %v", err)
	} else {
		l2.Unlock()
	}
	l.beat()
	if h, err := other.Holder(key("a")); err != nil || h.Progress != "step 3" || h.Beat != 1 {
		t.Errorf("holder %+v, %v", h, err)
	}
	l.Unlock()
	l.Unlock()
	if h, err := other.Holder(key("a")); h != nil || err != nil {
		t.Errorf("unlocked: %v %v", h, err)
	}
	if names, _ := readNames(filepath.Join(s.dir, "locks")); len(names) > 0 {
		t.Errorf("left %v", names)
	}
}

func TestTheLockOfADeadProcessIsTaken(t *testing.T) {
	s := newStore(t)
	me := self()
	gone := me
	gone.PID = 1 << 22 // beyond pid_max's default, and never ours
	reused := me
	reused.PID, reused.Start = os.Getppid(), 1 // the parent began later
	for name, o := range map[string]owner{"gone": gone, "pid reused": reused} {
		plant(t, s, key(name), Holder{owner: o, Token: name, Since: time.Now()})
		l, h, err := s.TryLock(key(name), "x", nil)
		if l == nil || err != nil {
			t.Errorf("%s: held by %v, %v", name, h, err)
		}
		l.Unlock()
	}
	// Sweep, which every run does first, removes them too.
	plant(t, s, key("gone"), Holder{owner: gone})
	os.MkdirAll(filepath.Join(s.dir, "work", "tmp", gone.String(), "1-x"), 0o777)
	os.MkdirAll(filepath.Join(s.dir, "leases"), 0o777)
	os.WriteFile(filepath.Join(s.dir, "leases", gone.String()+"_00.json"), []byte("{}"), 0o666)
	s.Sweep()
	equal(t, "store", tree(t, s), []string{"FORMAT"})
	if names, _ := readNames(filepath.Join(s.dir, "work", "tmp")); len(names) > 0 {
		t.Errorf("left %v", names)
	}
}

func TestALockOfAnotherHostIsJudgedByItsHeartbeat(t *testing.T) {
	s := newStore(t)
	clock := time.Now()
	s.beat.clock = func() time.Time { return clock }
	h := Holder{owner: owner{Host: "elsewhere", Boot: "b", PID: 7, Start: 9}, Token: "t", Since: time.Now().Add(-1000 * time.Hour)}
	for beat := range int64(4) { // it beats: it lives, whatever its clock says
		h.Beat = beat
		plant(t, s, key("a"), h)
		for range 2 {
			if l, holder, err := s.TryLock(key("a"), "x", nil); l != nil || holder.String() != "elsewhere:7" || err != nil {
				t.Fatalf("beat %d: %v %v %v", beat, l, holder, err)
			}
		}
		clock = clock.Add(staleAfter)
	}
	clock = clock.Add(time.Nanosecond)
	l, holder, err := s.TryLock(key("a"), "x", nil)
	if l == nil || err != nil {
		t.Fatalf("still held by %v, %v", holder, err)
	}
	l.Unlock()

	// A runner that never waits goes by the file's age: cron with --no-wait
	// after a host went down.
	fresh, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	plant(t, s, key("a"), h)
	old := time.Now().Add(-2 * leaseStale)
	if err := os.Chtimes(s.lockPath(key("a")), old, old); err != nil {
		t.Fatal(err)
	}
	if l, holder, err := fresh.TryLock(key("a"), "x", nil); l == nil || err != nil {
		t.Errorf("old lock held by %v, %v", holder, err)
	} else {
		l.Unlock()
	}
	// The clock was set back: the file seems to be of the future. It is not
	// taken by age, but it is once it was seen to stand still.
	h.Token = "another"
	plant(t, s, key("a"), h)
	future := time.Now().Add(24 * time.Hour)
	if err := os.Chtimes(s.lockPath(key("a")), future, future); err != nil {
		t.Fatal(err)
	}
	fresh.beat.clock = s.beat.clock
	if l, _, err := fresh.TryLock(key("a"), "x", nil); l != nil || err != nil {
		t.Errorf("taken at once: %v", err)
	}
	clock = clock.Add(staleAfter + 1)
	if l, holder, err := fresh.TryLock(key("a"), "x", nil); l == nil || err != nil {
		t.Errorf("held by %v, %v", holder, err)
	} else {
		l.Unlock()
	}
}

func TestAHalfWrittenLockIsHeld(t *testing.T) {
	s := newStore(t)
	plant(t, s, key("a"), Holder{})
	if err := os.WriteFile(s.lockPath(key("a")), []byte(`{"host":"x"`), 0o666); err != nil {
		t.Fatal(err)
	}
	if l, h, err := s.TryLock(key("a"), "x", nil); l != nil || h == nil || err != nil {
		t.Errorf("%v %v %v", l, h, err)
	}
}

func TestHeartbeatsStopWithTheLastLock(t *testing.T) {
	s := newStore(t)
	s.beat.every = time.Millisecond
	l, _, err := s.TryLock(key("a"), strings.Repeat("long\n", 100), nil)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Lease([]Key{key("a")})
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for {
		if h, err := s.Holder(key("a")); err == nil && h != nil && h.Beat > 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no heartbeat")
		}
		time.Sleep(time.Millisecond)
	}
	l.Unlock()
	lease.Release()
	lease.Release()
	if s.beat.stop != nil || len(s.beat.held) != 0 {
		t.Error("the heartbeat goes on")
	}
}

func TestOwnerNames(t *testing.T) {
	for _, o := range []owner{self(), {Host: "a-b.c", Boot: "", PID: 1, Start: 2}, {Host: "h", Boot: "ff00", PID: 99, Start: 1 << 60}} {
		if got, ok := parseOwner(o.String()); !ok || got != o {
			t.Errorf("%+v comes back as %+v", o, got)
		}
	}
	for _, bad := range []string{"", "x", "a_b_c", "a_b_c_d", "a_b_1_x"} {
		if o, ok := parseOwner(bad); ok {
			t.Errorf("%q reads as %+v", bad, o)
		}
	}
	if self().vitality() != alive {
		t.Error("this process is not alive")
	}
}
