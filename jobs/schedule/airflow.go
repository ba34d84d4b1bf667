package schedule

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

const airflowHead = `from __future__ import annotations

from datetime import datetime, timedelta

try:  # Airflow 3
    from airflow.providers.standard.hooks.subprocess import SubprocessHook
    from airflow.sdk import DAG, BaseOperator
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.hooks.subprocess import SubprocessHook
    from airflow.models import BaseOperator
from airflow.exceptions import AirflowException, AirflowFailException


class Espalier(BaseOperator):
    """Calls espalier. Exit codes 2 (usage) and 20 (bad input) are not retried."""

    def __init__(self, *, command, index=None, of=None, **kwargs):
        super().__init__(**kwargs)
        self.command = command
        self.index = index
        self.of = of
        self.hook = SubprocessHook()

    def execute(self, context):
        command = list(self.command)
        if self.index is not None:
            command += ["--part", str(self.index), "--of", str(self.of)]
        code = self.hook.run_command(command=command).exit_code
        if code in (2, 20):
            raise AirflowFailException(f"espalier ended with {code}: a retry would not help")
        if code != 0:
            raise AirflowException(f"espalier ended with {code}")

    def on_kill(self):
        self.hook.send_sigterm()

`

// Airflow writes a DAG file in Python with a task for each stage; when says at
// what times it runs, "" only when asked to.
func Airflow(w io.Writer, j *Job, when string) error {
	if err := j.check(); err != nil {
		return err
	}
	schedule := "None"
	if when != "" {
		if err := checkTime(when); err != nil {
			return err
		}
		schedule = python(when)
	}
	stages, err := j.ordered()
	if err != nil {
		return err
	}
	names := namer{limit: 200, keep: func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.", r))
	}}
	var b strings.Builder
	fmt.Fprintf(&b, "# The espalier job %s as an Airflow DAG. Every task may run twice, at once or again.\n%s", oneLine(j.Name), airflowHead)
	fmt.Fprintf(&b, "\nwith DAG(\n    dag_id=%s,\n    schedule=%s,\n    start_date=datetime(2024, 1, 1),\n    catchup=False,\n    max_active_runs=1,\n"+
		"    default_args={\"retries\": 3, \"retry_delay\": timedelta(minutes=1), \"retry_exponential_backoff\": True},\n) as dag:\n",
		python(names.name("espalier-"+j.Name)), schedule)
	if len(stages) == 0 {
		b.WriteString("    pass\n")
	}
	variable := make(map[string]string)
	for i, s := range stages {
		v := fmt.Sprintf("t%d", i+1)
		variable[s.Name] = v
		command := "["
		for k, a := range j.args(s.Name, "--progress", "plain") {
			if k > 0 {
				command += ", "
			}
			command += python(a)
		}
		command += "]"
		var needs []string
		for _, n := range s.Needs {
			needs = append(needs, variable[n])
		}
		before := ""
		if len(needs) > 0 {
			before = "[" + strings.Join(needs, ", ") + "] >> "
		}
		fmt.Fprintf(&b, "\n    # %s\n    c%d = %s\n", oneLine(s.Name), i+1, command)
		if j.array(s) {
			fmt.Fprintf(&b, "    p%d = Espalier.partial(task_id=%s, command=c%d, of=%d).expand(index=list(range(%d)))\n",
				i+1, python(names.name(s.Name+".parts")), i+1, j.Width, j.Width)
			fmt.Fprintf(&b, "    %s = Espalier(task_id=%s, command=c%d, trigger_rule=\"all_done\")\n    %sp%d >> %s\n", v, python(names.name(s.Name)), i+1, before, i+1, v)
			continue
		}
		fmt.Fprintf(&b, "    %s = Espalier(task_id=%s, command=c%d)\n", v, python(names.name(s.Name)), i+1)
		if before != "" {
			fmt.Fprintf(&b, "    %s%s\n", before, v)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// python writes a text as a literal: what JSON escapes, Python reads alike.
func python(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text is always encoded
	return strings.TrimSuffix(b.String(), "\n")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
