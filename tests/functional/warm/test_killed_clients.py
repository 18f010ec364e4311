"""A client that goes out while a statement of its runs: nothing is done twice, nothing is lost.

Each round is killed, interrupted or failed within one kind of statement. The next command follows
at once. Rows are counted then, and once more when the statement of the first would have ended.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest
from functional.warm.warm_project import WARM, WarmProject, is_alive, warm_project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# Seconds that the statement of a round takes; the one behind it takes none.
LONG = 12
_WAITS = "length(reflect('java.lang.Thread', 'sleep', {{ var('wait', 0) }}000L)) > 0"
MODELS = {
    "idle": "select 1 as id",
    "broken": """
{{ config(materialized='table') }}
select reflect('java.lang.Thread', 'sleep', 4000L) as a, bigint(raise_error('fails')) as b
from range(1)
""",
    # No job that could be cancelled, for longer than an engine waits for it.
    "hanging": """
def model(dbt, session):
    session._jvm.java.lang.Thread.sleep(90000)
    return session.sql("select 1 as id")
""",
    "merged": f"""
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}}}
select {{{{ var('round', 0) }}}} as id, 'v' as v from range(1) where {_WAITS}
""",
    "hooked": f"""
{{{{ config(materialized='table', post_hook="insert into s.by_hooks
    select {{{{ var('round', 0) }}}} as id from range(1) where {_WAITS}") }}}}
select {{{{ var('round', 0) }}}} as id
""",
    "python": """
def model(dbt, session):
    import time
    from pyspark.sql import functions as F

    # dbt finds these where each is called by itself.
    wait = dbt.config.get("wait")
    number = dbt.config.get("round")
    wait, number = int(wait), int(number)

    @F.udf("long")
    def slow(value):
        time.sleep(wait)
        return value

    rows = session.range(1).select(slow(F.lit(number)).alias("id"))
    rows.write.format("delta").mode("append").saveAsTable("s.by_python")
    return session.createDataFrame([(number,)], "id long")
""",
    "streamed": """
def model(dbt, session):
    import time

    wait = dbt.config.get("wait")
    number = dbt.config.get("round")
    checkpoint = dbt.config.get("checkpoint")
    wait, number = int(wait), int(number)
    session.createDataFrame([(number,)], "id long").write.format("delta").mode(
        "append"
    ).option("txnAppId", "source").option("txnVersion", number).saveAsTable("s.events")

    def write(rows, batch):
        time.sleep(wait)
        rows.write.format("delta").mode("append").option("txnAppId", "stream").option(
            "txnVersion", batch
        ).saveAsTable("s.by_streams")

    session.readStream.table("s.events").writeStream.foreachBatch(write).option(
        "checkpointLocation", checkpoint
    ).trigger(availableNow=True).start().awaitTermination()
    return session.createDataFrame([(number,)], "id long")
""",
}
CONFIG = """
models:
- name: python
  config: {wait: "{{ var('wait', 0) }}", round: "{{ var('round', 0) }}"}
- name: streamed
  config:
    wait: "{{ var('wait', 0) }}"
    round: "{{ var('round', 0) }}"
    checkpoint: "{{ var('checkpoint') }}"
"""
TABLES = {
    "merged": "merged",
    "hooked": "by_hooks",
    "python": "by_python",
    "streamed": "by_streams",
}
# What dbt's log says when the statement is about to run.
BEGINS = {
    "merged": "merge into",
    "hooked": "insert into s.by_hooks",
    "python": "saveAsTable",
    "streamed": "foreachBatch",
    "hanging": "Thread.sleep",
}


class Rounds:
    def __init__(self, project: WarmProject, checkpoint: Path) -> None:
        self.project = project
        self.checkpoint = checkpoint
        self.last = 0

    def words(self, model: str, wait: int, log: str) -> list[str]:
        given = f"{{round: {self.last}, wait: {wait}, checkpoint: '{self.checkpoint}'}}"
        return ["run", "--select", model, "--vars", given, "--log-path", log]

    def begin(self, model: str, wait: int, *others: str, words: tuple[str, ...] = ()) -> Popen[str]:
        """A command whose statement of the next round runs; `others` are selected too."""
        self.last += 1
        if self.project.state is None:
            self.project.dbt(*self.words("idle", 0, "logs"))
        log = f"log-{self.last}"
        run, select, named, *rest = self.words(model, wait, log)
        process = self.project.start(run, select, named, *others, *rest, *words)
        self.project.wait_for(BEGINS[model], log)
        time.sleep(3)
        return process

    def go_on(self, model: str) -> str:
        """What the next command says, which does the round again."""
        words = self.words(model, 0, f"log-{self.last}-next")
        return self.project.dbt(*words, "--no-use-colors")

    def ids(self, model: str) -> list[int]:
        query = f"select id from {{s}}.{TABLES[model]} order by id"
        return [int(one) for one in self.project.rows(query)["id"]]


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rounds]:
    folder = tmp_path_factory.mktemp("killed")
    with warm_project(folder / "p") as project:
        # One that was interrupted has the home until it is out.
        project.profile(f"{WARM}, wait: 5 minutes")
        project.write(**MODELS)
        (project.folder / "models" / "config.yml").write_text(CONFIG)
        with (project.folder / "dbt_project.yml").open("a") as file:
            file.write("on-run-start: create table if not exists s.by_hooks (id int)\n")
        made = Rounds(project, folder / "checkpoint")
        made.project.dbt(*made.words("*", 0, "logs"), "--exclude", "broken", "hanging")
        yield made


@pytest.mark.parametrize("model", list(TABLES))
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill", "interrupt"])
def test_nothing_is_done_twice(rounds: Rounds, model: str, how: signal.Signals) -> None:
    project = rounds.project
    before = rounds.ids(model)
    process = rounds.begin(model, LONG)
    pid, began = project.pid, time.monotonic()
    os.kill(process.pid, how)
    if how == signal.SIGKILL:
        assert rounds.ids(model) == before
    said = rounds.go_on(model)
    process.communicate(timeout=60)
    once = sorted({*before, rounds.last})
    assert rounds.ids(model) == once
    if how == signal.SIGKILL:
        assert "went out without a goodbye" in said
        assert not is_alive(pid)
    time.sleep(max(0.0, LONG + 5 - (time.monotonic() - began)))
    assert rounds.ids(model) == once


def test_another_model_fails_fast(rounds: Rounds) -> None:
    """The statement that runs beside it ends, and the engine stays."""
    before = rounds.ids("merged")
    process = rounds.begin("merged", LONG, "broken", words=("--fail-fast",))
    pid, began = rounds.project.pid, time.monotonic()
    said = rounds.go_on("merged")
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 1, told
    assert "fails" in told
    once = sorted({*before, rounds.last})
    assert rounds.ids("merged") == once
    assert is_alive(pid), said
    time.sleep(max(0.0, LONG + 5 - (time.monotonic() - began)))
    assert rounds.ids("merged") == once


def test_a_call_that_hangs(rounds: Rounds) -> None:
    """The engine waits for it as long as docs say, and ends.

    At a first Ctrl-C dbt waits for its threads.
    """
    process = rounds.begin("hanging", 0)
    pid = rounds.project.pid
    for _ in range(2):
        os.kill(process.pid, signal.SIGINT)
        time.sleep(3)
    said = rounds.go_on("idle")
    process.communicate(timeout=60)
    assert "30 seconds later" in said
    assert not is_alive(pid)


def test_its_engine_is_asked_to_end(rounds: Rounds) -> None:
    """It does so once the command is out."""
    before = rounds.ids("merged")
    process = rounds.begin("merged", LONG)
    pid = rounds.project.pid
    os.kill(pid, signal.SIGTERM)
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert rounds.ids("merged") == [*before, rounds.last]
    rounds.go_on("merged")
    assert not is_alive(pid)
    assert rounds.ids("merged") == [*before, rounds.last]
