"""Record what Debezium sends of a PostgreSQL of this machine: `make record-events`.

Its engine runs in a JVM of its own, without Kafka. Statements are run in steps; behind each step
stand the rows that PostgreSQL has then. Writes postgresql_events.jsonl beside this file: first the
versions, then by step its events, as {"key": …, "value": …}, and {"rows": […]}.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from support import postgres

from alluvium.engine import jars, java, versions

RECORDED = Path(__file__).with_name("postgresql_events.jsonl")
VERSION = "3.2.0.Final"
PACKAGES = tuple(
    f"io.debezium:debezium-{name}:{VERSION}" for name in ("embedded", "connector-postgres")
)
# Beyond 2 kB PostgreSQL keeps it elsewhere, and the log has it only where it changes.
LONG = "repeat('a long note ', 200)"
BEFORE = f"""
create table orders (id bigint primary key, total numeric(12, 2), note text);
alter table orders alter column note set storage external;
create table signals (id text primary key, type text, data text);
create table marks (id int primary key);
insert into orders
    values (1001, 1.00, 'a'), (1002, 9.99, null), (1003, -0.50, 'c'), (1004, 4, {LONG});
"""
STEPS = (
    """
    update orders set total = 2.00, note = 'b' where id = 1001;
    begin; delete from orders where id = 1002; insert into orders values (1002, 3, 'again'); commit;
    update orders set id = 1044 where id = 1003;
    update orders set total = 7.50 where id = 1004;
    """,
    """
    insert into signals values ('1', 'execute-snapshot',
        '{"data-collections": ["public.orders"], "type": "incremental"}');
    select pg_logical_emit_message(true, 'shop', 'not of a table');
    update orders set total = 1234567890.12 where id = 1004;
    delete from orders where id = 1001;
    insert into orders values (1005, 'NaN', 'no decimal of ours');
    """,
    "truncate orders;",
)
SETTINGS = {
    "name": "recorded",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
    "topic.prefix": "shop",
    "plugin.name": "pgoutput",
    "table.include.list": "public.orders,public.signals,public.marks",
    "signal.data.collection": "public.signals",
    "skipped.operations": "none",  # by default a TRUNCATE is left out
    "decimal.handling.mode": "string",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}


def answer(url: str, statements: str) -> str:
    """What psql prints."""
    uri = url.removeprefix("jdbc:").replace("://", f"://{postgres.USER}@")
    asking = [str(postgres.programs() / "psql"), "-qAt", "-v", "ON_ERROR_STOP=1", uri]
    return subprocess.run(
        asking, input=statements, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


@contextmanager
def events_of(url: str, home: Path) -> Iterator[Any]:
    """What the connector sends while the block runs: Java's list of its records."""
    own = jars.resolve(home, packages=PACKAGES)
    # The packages are resolved without what pyspark ships.
    path = os.pathsep.join([*map(str, own), str(versions.spark_home() / "jars" / "*")])
    [py4j] = (versions.spark_home() / "jars").glob("py4j-*.jar")
    port, token = launch_gateway(
        jarpath=str(py4j),
        classpath=path,
        java_path=str(java.check().path),
        javaopts=["-Xmx256m"],
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    jvm, lang = gateway.jvm, gateway.jvm.java.lang
    server, _, database = url.removeprefix("jdbc:postgresql://").partition("/")
    host, _, at = server.partition(":")
    properties = jvm.java.util.Properties()
    given = {"hostname": host, "port": at, "user": postgres.USER, "dbname": database}
    for name, value in (
        SETTINGS | {f"database.{key}": text for key, text in given.items()}
    ).items():
        properties.put(name, value)
    # Its method `add` is what the engine calls.
    found = jvm.java.util.Vector()
    taking = lang.invoke.MethodType.methodType(
        lang.Boolean.TYPE, lang.Class.forName("java.lang.Object")
    )
    add = lang.invoke.MethodHandles.publicLookup().bind(found, "add", taking)
    consumer = lang.invoke.MethodHandleProxies.asInterfaceInstance(
        lang.Class.forName("java.util.function.Consumer"), add
    )
    form = lang.Class.forName("io.debezium.engine.format.Json")
    making = jvm.io.debezium.engine.DebeziumEngine.create(form)
    engine = making.using(properties).notifying(consumer).build()
    lang.Thread(engine).start()
    try:
        yield found
    finally:
        engine.close()
        gateway.shutdown()


def sent(found: Any) -> Iterator[Any]:
    """The engine's records, as they come."""
    seen, end = 0, time.monotonic() + 300
    while time.monotonic() < end:
        if seen < found.size():
            yield found.get(seen)
            seen += 1
        else:
            time.sleep(0.1)
    raise AssertionError(f"after {seen} records a mark has not come")


def until(records: Iterator[Any], mark: int) -> Iterator[dict[str, Any]]:
    """The events up to this mark, without those of marks and signals."""
    for record in records:
        key, value = (text and json.loads(text) for text in (record.key(), record.value()))
        if record.destination().endswith(".marks"):
            if value["after"]["id"] == mark:
                return
        elif not record.destination().endswith(".signals"):
            yield {"key": key, "value": value}


def record(home: Path) -> None:
    with postgres.server() as server:
        answer(server.url, "alter system set wal_level = logical")
        server.stop()
        server.start()
        answer(server.url, BEFORE)
        version = answer(server.url, "show server_version").split()[0]
        lines: list[Any] = [{"debezium": VERSION, "postgresql": version}]
        with events_of(server.url, home) as found:
            answer(server.url, "insert into marks values (0)")
            records = sent(found)
            lines += until(records, 0)
            for number, statements in enumerate(STEPS, 1):
                answer(server.url, statements)
                time.sleep(5 if "snapshot" in statements else 0)
                answer(server.url, f"insert into marks values ({number})")
                lines += until(records, number)
                rows = answer(
                    server.url, "select coalesce(json_agg(o order by id), '[]') from orders o"
                )
                lines.append({"rows": json.loads(rows)})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    RECORDED.write_text(text)
    print(f"{len(lines)} lines, {len(text):,} bytes: {RECORDED}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        own = Path(os.environ.get("ALLUVIUM_TEST_JARS", RECORDED.parents[2] / ".alluvium/jars"))
        (Path(folder) / "jars").symlink_to(own)
        record(Path(folder))
