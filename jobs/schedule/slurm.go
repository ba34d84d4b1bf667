package schedule

import (
	"fmt"
	"io"
	"strings"
)

const slurmHead = `set -euo pipefail

# A task: what sbatch runs of this very file. Exit code 75 (a lock, a full disk) puts it back into the queue, at most five times.
if [ "${1-}" = task ]; then
  shift
  code=0
  "$@" || code=$?
  if [ "$code" -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}" || true
  fi
  exit "$code"
fi

self=$(readlink -f "$0")
submit() { sbatch --parsable --requeue --kill-on-invalid-dep=yes "$@"; }
`

var slurmLimit = pattern(`^[1-9][0-9]*$`)

// Slurm writes a bash script that submits the job: for each stage an array and
// a task that finishes it, or one task; each waits for those it needs. Options
// are those of sbatch for every task, such as "--mem=8G". Running, if not
// empty, is the most tasks of an array at once.
func Slurm(w io.Writer, j *Job, options []string, running string) error {
	if err := j.check(); err != nil {
		return err
	}
	if running != "" && !slurmLimit().MatchString(running) {
		return fmt.Errorf("schedule: %q tasks at once: want a number from 1", running)
	}
	stages, err := j.ordered()
	if err != nil {
		return err
	}
	limit := ""
	if running != "" {
		limit = "%" + running
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#!/usr/bin/env bash\n# The espalier job %s on Slurm: run this file where sbatch is; it prints the ids of what it submits.\n%s", oneLine(j.Name), slurmHead)
	variable := make(map[string]string)
	for i, s := range stages {
		v := fmt.Sprintf("job%d", i+1)
		variable[s.Name] = v
		after := ""
		for _, n := range s.Needs {
			after += ":$" + variable[n]
		}
		words := shell(append([]string{"--job-name=" + j.Name + ":" + s.Name}, options...))
		needs := ""
		if after != "" {
			needs = " --dependency=afterok" + after
		}
		fmt.Fprintf(&b, "\n# %s\n", oneLine(s.Name))
		whole := shell(j.args(s.Name, "--progress", "plain"))
		if j.array(s) {
			fmt.Fprintf(&b, "parts%d=$(submit %s --array=0-%d%s%s \"$self\" task %s --of %d)\n", i+1, words, j.Width-1, limit, needs, whole, j.Width)
			needs = fmt.Sprintf(" --dependency=afterany:$parts%d", i+1)
		}
		fmt.Fprintf(&b, "%s=$(submit %s%s \"$self\" task %s)\necho \"%s\" %s\n", v, words, needs, whole, "$"+v, shellWord(s.Name))
	}
	_, err = io.WriteString(w, b.String())
	return err
}
