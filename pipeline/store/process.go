package store

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// An owner names a process so that others can tell whether it lives. Pid and
// start time say which process, boot and pid namespace say where these mean
// anything.
type owner struct {
	Host  string `json:"host"`
	Boot  string `json:"boot"` // of the kernel and pid namespace
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot
}

// self returns the owner that is this process.
var self = sync.OnceValue(func() owner {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	ns, _ := os.Readlink("/proc/self/ns/pid")
	id := strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", "")
	if len(id) > 12 {
		id = id[:12]
	}
	id += digits(ns)
	start, _, _ := processStat(os.Getpid())
	return owner{Host: sanitize(host), Boot: id, PID: os.Getpid(), Start: start}
})

// digits returns the digits of a link such as "pid:[4026531836]".
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// sanitize keeps what is safe in a file name and does not part fields.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, s)
}

// String returns a form for file names that parseOwner reads.
func (o owner) String() string {
	boot := o.Boot
	if boot == "" {
		boot = "0"
	}
	return o.Host + "_" + boot + "_" + strconv.Itoa(o.PID) + "_" + strconv.FormatUint(o.Start, 10)
}

func parseOwner(s string) (owner, bool) {
	f := strings.Split(s, "_")
	if len(f) != 4 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(f[2])
	if err != nil {
		return owner{}, false
	}
	start, err := strconv.ParseUint(f[3], 10, 64)
	if err != nil {
		return owner{}, false
	}
	if f[1] == "0" {
		f[1] = ""
	}
	return owner{Host: f[0], Boot: f[1], PID: pid, Start: start}, true
}

// A vitality is what can be said of a process.
type vitality int

const (
	unknown vitality = iota // of another host: only its heartbeat tells
	dead
	alive
)

// vitality reports whether the process lives, as far as this one can see.
func (o owner) vitality() vitality {
	me := self()
	if o.Host != me.Host || o.Boot != me.Boot {
		return unknown
	}
	if o.PID == me.PID && o.Start == me.Start {
		return alive
	}
	switch start, state, err := processStat(o.PID); {
	case err == nil && (start != o.Start || state == 'Z' || state == 'X'):
		return dead // another process, or one that holds nothing any more
	case err == nil:
		return alive
	}
	if err := syscall.Kill(o.PID, 0); errors.Is(err, syscall.ESRCH) {
		return dead
	}
	return alive
}

// processStat returns when a process started, in ticks since boot, and its
// state. It fails where there is no such process or no /proc.
func processStat(pid int) (start uint64, state byte, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, err
	}
	// The command's name, in parentheses, may hold blanks and parentheses.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 20 {
		return 0, 0, errors.New("store: short process record")
	}
	start, err = strconv.ParseUint(string(f[19]), 10, 64)
	return start, f[0][0], err
}

// ProcessName returns a name for private files of this process, by which
// ProcessGone tells whether anybody still needs them.
func ProcessName() string { return self().String() }

// ProcessGone reports whether the process that gave the name ran on this host
// and is gone.
func ProcessGone(name string) bool {
	o, ok := parseOwner(name)
	return ok && o.vitality() == dead
}
