# The espalier job coco 100% as an Airflow DAG. Every task may run twice, at once or again.
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
    dag_id="espalier-coco-100",
    schedule="0 4 * * *",
    start_date=datetime(2024, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1), "retry_exponential_backoff": True},
) as dag:

    # ingest
    c1 = ["/opt/my tools/espalier", "run", "/data/it's here/job.yaml", "--store", "/data/store $(HOME)", "--set", "train.name=\"a\\b {{ x }}\"", "--set", "train.rate=50%", "--stage", "ingest", "--progress", "plain"]
    p1 = Espalier.partial(task_id="ingest.parts", command=c1, of=4).expand(index=list(range(4)))
    t1 = Espalier(task_id="ingest", command=c1, trigger_rule="all_done")
    p1 >> t1

    # encode
    c2 = ["/opt/my tools/espalier", "run", "/data/it's here/job.yaml", "--store", "/data/store $(HOME)", "--set", "train.name=\"a\\b {{ x }}\"", "--set", "train.rate=50%", "--stage", "encode", "--progress", "plain"]
    p2 = Espalier.partial(task_id="encode.parts", command=c2, of=4).expand(index=list(range(4)))
    t2 = Espalier(task_id="encode", command=c2, trigger_rule="all_done")
    [t1] >> p2 >> t2

    # grids
    c3 = ["/opt/my tools/espalier", "run", "/data/it's here/job.yaml", "--store", "/data/store $(HOME)", "--set", "train.name=\"a\\b {{ x }}\"", "--set", "train.rate=50%", "--stage", "grids", "--progress", "plain"]
    p3 = Espalier.partial(task_id="grids.parts", command=c3, of=4).expand(index=list(range(4)))
    t3 = Espalier(task_id="grids", command=c3, trigger_rule="all_done")
    [t1] >> p3 >> t3

    # train[model=a/b,seed=1]
    c4 = ["/opt/my tools/espalier", "run", "/data/it's here/job.yaml", "--store", "/data/store $(HOME)", "--set", "train.name=\"a\\b {{ x }}\"", "--set", "train.rate=50%", "--stage", "train[model=a/b,seed=1]", "--progress", "plain"]
    t4 = Espalier(task_id="train-model-a-b-seed-1", command=c4)
    [t2, t3] >> t4

    # train[model=a:b,seed=1]
    c5 = ["/opt/my tools/espalier", "run", "/data/it's here/job.yaml", "--store", "/data/store $(HOME)", "--set", "train.name=\"a\\b {{ x }}\"", "--set", "train.rate=50%", "--stage", "train[model=a:b,seed=1]", "--progress", "plain"]
    t5 = Espalier(task_id="train-model-a-b-seed-1-8ee3230b", command=c5)
    [t2, t3] >> t5
