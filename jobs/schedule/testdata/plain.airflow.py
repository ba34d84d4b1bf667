# The espalier job smoke as an Airflow DAG. Every task may run twice, at once or again.
from __future__ import annotations

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


with DAG(
    dag_id="espalier-smoke",
    schedule=None,
    start_date=datetime(2024, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1), "retry_exponential_backoff": True},
) as dag:

    # sample
    c1 = ["espalier", "run", "jobs/smoke.yaml", "--store", "out/smoke", "--stage", "sample", "--progress", "plain"]
    t1 = Espalier(task_id="sample", command=c1)

    # train
    c2 = ["espalier", "run", "jobs/smoke.yaml", "--store", "out/smoke", "--stage", "train", "--progress", "plain"]
    t2 = Espalier(task_id="train", command=c2)
    [t1] >> t2
