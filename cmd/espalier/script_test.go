package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"espalier/cmd/espalier/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"espalier": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, testKinds())) },
	})
}

// TestScript runs the scripts of testdata/script: what verbs print, where, and
// with which exit code. Beside the commands of testscript there are
//
//	code N COMMAND...        run and want exit code N, with output as exec leaves it
//	signal NAME N COMMAND... run, send the signal once the log says that the
//	                         first stage runs, and want exit code N soon
//
// and $JOBS is the folder of the project's job files.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("ESPALIER_STORE", "")
			jobs, err := filepath.Abs(filepath.Join("..", "..", "jobs"))
			e.Setenv("JOBS", jobs)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":   codeCommand,
			"signal": signalCommand,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// codeCommand runs a command and compares its exit code.
func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// signalCommand starts a job, waits until a stage runs, sends a signal (twice
// for INT2) and wants the exit code within the time that is promised.
func signalCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: signal NAME N COMMAND...")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	path, err := exec.LookPath(args[2])
	if err != nil {
		path = filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], args[2])
	}
	logName := ts.MkAbs("signal.log")
	log, err := os.Create(logName)
	ts.Check(err)
	defer log.Close()
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
	ts.Check(cmd.Start())
	running := func() bool {
		b, err := os.ReadFile(logName)
		return err == nil && strings.Contains(string(b), "running")
	}
	for deadline := time.Now().Add(20 * time.Second); !running(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			ts.Fatalf("no stage began")
		}
	}
	limit := 2 * time.Second
	begin := time.Now()
	switch args[0] {
	case "INT":
		ts.Check(cmd.Process.Signal(os.Interrupt))
	case "TERM":
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	case "INT2":
		ts.Check(cmd.Process.Signal(os.Interrupt))
		time.Sleep(300 * time.Millisecond)
		ts.Check(cmd.Process.Signal(os.Interrupt))
		limit = time.Second
	default:
		ts.Fatalf("no signal %s", args[0])
	}
	err = cmd.Wait()
	took := time.Since(begin)
	if took > limit+time.Second { // a second for a busy machine
		ts.Fatalf("took %v to end, want %v", took, limit)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d (%v), want %d", got, err, want)
	}
	fmt.Fprintf(ts.Stdout(), "ended with %d\n", want)
}
