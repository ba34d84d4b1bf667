package schedule

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	cronField  = pattern(`^[0-9A-Za-z*/,-]+$`)
	cronAt     = pattern(`^@(yearly|annually|monthly|weekly|daily|midnight|hourly|reboot)$`)
	cronExcept = "want five fields such as 17 3 * * *, or @daily"
)

// pattern compiles when it is asked for.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// checkTime checks when a job is to run.
func checkTime(when string) error {
	if cronAt().MatchString(when) {
		return nil
	}
	fields := strings.Fields(when)
	if len(fields) != 5 || slices.ContainsFunc(fields, func(f string) bool { return !cronField().MatchString(f) }) {
		return fmt.Errorf("schedule: %q: %s", when, cronExcept)
	}
	return nil
}

// Cron writes a line for crontab(5) that runs the job at the given times. The
// job is silent unless something is wrong, so that cron sends mail only then;
// a run that finds the last one still at work leaves it alone.
func Cron(w io.Writer, j *Job, when string) error {
	if err := j.check(); err != nil {
		return err
	}
	if err := checkTime(when); err != nil {
		return err
	}
	// cron ends a command at the first % that has no backslash.
	command := strings.ReplaceAll(shell(j.args("", "--no-wait", "--progress", "none")), "%", `\%`)
	_, err := fmt.Fprintf(w, "# espalier job %s: exit 75 means that another run is at work or the disk is full\n%s %s >/dev/null\n", j.Name, when, command)
	return err
}
