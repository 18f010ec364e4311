"""A Kafka broker of one node, on a free port of this machine, from its Maven packages."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from alluvium.engine import jars, java, versions

VERSION = "4.0.0"
PACKAGES = (f"org.apache.kafka:kafka_2.13:{VERSION}", f"org.apache.kafka:kafka-tools:{VERSION}")
PARTITIONS = 3


@dataclass(frozen=True)
class Broker:
    """A broker that runs; it makes a topic when the first event for it comes."""

    address: str
    java: Sequence[str]

    def delete(self, topic: str) -> None:
        """Delete a topic; the next event for it makes it again."""
        command = [*self.java, "org.apache.kafka.tools.TopicCommand", "--delete"]
        command += ["--bootstrap-server", self.address, "--topic", topic]
        subprocess.run(command, check=True, timeout=120)

    def send(self, topic: str, lines: Sequence[str]) -> None:
        """Append events, as lines `header:value,…<tab>key<tab>value`; `null` is NULL."""
        options = {
            "parse.key": "true",
            "parse.headers": "true",
            "null.marker": "null",
        }
        command = [*self.java, "org.apache.kafka.tools.ConsoleProducer"]
        command += ["--bootstrap-server", self.address, "--topic", topic]
        for name, value in options.items():
            command += ["--property", f"{name}={value}"]
        text = "".join(f"{line}\n" for line in lines)
        subprocess.run(command, input=text, text=True, check=True, timeout=120)


@contextmanager
def broker(folder: Path, home: Path) -> Iterator[Broker]:
    """Run a broker whose files are in `folder`, and its jars in the engine's folder `home`.

    Raises:
        alluvium.engine.EngineError: Java or the packages cannot be had.
    """
    own = jars.resolve(home, packages=PACKAGES)
    # The packages are resolved without what pyspark ships.
    path = os.pathsep.join([*map(str, own), str(versions.spark_home() / "jars" / "*")])
    runtime = [str(java.check().path), "-Xmx512m", "-cp", path]
    with socket.socket() as one, socket.socket() as two:
        for free in (one, two):
            free.bind(("127.0.0.1", 0))
        port, controller = one.getsockname()[1], two.getsockname()[1]
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(folder / "data"),
        "num.partitions": str(PARTITIONS),
        "offsets.topic.replication.factor": "1",
    }
    folder.mkdir()
    config = folder / "server.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    log = folder / "broker.log"
    with log.open("w") as out:
        storage = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ"]
        formatted = [*runtime, *storage, "-c", str(config)]
        subprocess.run(formatted, stdout=out, stderr=out, check=True, timeout=120)
        running = subprocess.Popen(
            [*runtime, "kafka.Kafka", str(config)], stdout=out, stderr=out, cwd=folder
        )
    try:
        end = time.monotonic() + 120
        while not _answers(port):
            assert running.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < end, log.read_text()[-3000:]
            time.sleep(0.2)
        yield Broker(f"127.0.0.1:{port}", runtime)
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(60)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
