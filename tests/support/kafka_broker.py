"""A Kafka broker of one node, on a free port of this machine, from its Maven packages."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from alluvium.engine import jars, java, versions

VERSION = "4.0.0"
PACKAGES = (f"org.apache.kafka:kafka_2.13:{VERSION}",)
PARTITIONS = 3
MOST_BYTES = 24 * 2**20  # of a record
PASSWORD = "nobody-may-read-this"
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="reader" '
_STRINGS = "org.apache.kafka.common.serialization.StringSerializer"


@dataclass
class Broker:
    """A broker that runs; it makes a topic when the first event for it comes.

    At `login_address` it asks for a password.

    Kafka's own client runs in a JVM of its own, which py4j calls.
    """

    address: str
    login_address: str
    start: Callable[[], subprocess.Popen[bytes]]
    running: subprocess.Popen[bytes]
    client: JavaGateway

    @property
    def _clients(self) -> Any:
        return self.client.jvm.org.apache.kafka.clients

    @property
    def _common(self) -> Any:
        return self.client.jvm.org.apache.kafka.common

    def _properties(self, **given: str) -> Any:
        properties = self.client.jvm.java.util.Properties()
        properties.put("bootstrap.servers", self.address)
        for name, value in given.items():
            properties.put(name.replace("_", "."), value)
        return properties

    @cached_property
    def _admin(self) -> Any:
        return self._clients.admin.Admin.create(self._properties())

    def producer(self, transactional_id: str | None = None) -> Any:
        """Kafka's producer of texts; with an id, of transactions."""
        given = {}
        if transactional_id is not None:
            # By default the broker aborts after a minute, which a slow machine needs for a run.
            given = {"transactional_id": transactional_id, "transaction_timeout_ms": "900000"}
        given |= {"max_request_size": str(MOST_BYTES), "buffer_memory": str(2 * MOST_BYTES)}
        properties = self._properties(key_serializer=_STRINGS, value_serializer=_STRINGS, **given)
        return self._clients.producer.KafkaProducer(properties)

    def record(self, topic: str, value: str | None, partition: int | None = None) -> Any:
        return self._clients.producer.ProducerRecord(topic, partition, None, value)

    def make(self, topic: str, partitions: int = 1, **settings: str) -> None:
        """Make a topic; its settings have `_` for the points of their names."""
        new = self._clients.admin.NewTopic(topic, partitions, 1)
        new.configs({name.replace("_", "."): value for name, value in settings.items()})
        self._admin.createTopics([new]).all().get()

    def make_compacted(self, topic: str, lines: Sequence[str]) -> list[int]:
        """A topic of these events and one more; the offsets that are left behind a compaction."""
        settings = {"cleanup_policy": "compact", "segment_ms": "1", "max_compaction_lag_ms": "1"}
        self.make(topic, **settings, min_cleanable_dirty_ratio="0.01")
        self.send(topic, lines)
        # The newest segment is left alone, and an event that comes later begins one.
        time.sleep(0.1)
        self.send(topic, ["null\tlast\tlast"])
        end = time.monotonic() + 60
        while len(left := [offset for _, offset, _ in self.read(topic, {})]) > len(lines):
            assert time.monotonic() < end, left
            time.sleep(0.2)
        return left

    def grow(self, topic: str, partitions: int) -> None:
        more = self._clients.admin.NewPartitions.increaseTo(partitions)
        self._admin.createPartitions({topic: more}).all().get()

    def delete(self, topic: str) -> None:
        """Delete a topic; the next event for it makes it again."""
        self._admin.deleteTopics([topic]).all().get()

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete records, as retention does."""
        # An instance's method has the name too, and py4j finds that one.
        lang = self.client.jvm.java.lang
        types, arguments = (self.client.new_array(one, 1) for one in (lang.Class, lang.Object))
        types[0], arguments[0] = lang.Long.TYPE, lang.Long.valueOf(offset)
        kind = lang.Class.forName("org.apache.kafka.clients.admin.RecordsToDelete")
        records = kind.getMethod("beforeOffset", types).invoke(None, arguments)
        place = self._common.TopicPartition(topic, partition)
        self._admin.deleteRecords({place: records}).all().get()

    @cached_property
    def _producer(self) -> Any:
        return self.producer()

    def write(self, topic: str, *values: str, partition: int = 0) -> None:
        """Append values to a partition."""
        for value in values:
            self._producer.send(self.record(topic, value, partition))
        self._producer.flush()

    def send(self, topic: str, lines: Sequence[str]) -> None:
        """Append events, as lines `header:value<tab>key<tab>value`; `null` is NULL."""
        for line in lines:
            header, key, value = (None if part == "null" else part for part in line.split("\t"))
            record = self._clients.producer.ProducerRecord(topic, None, key, value)
            if header is not None:
                name, _, text = header.partition(":")
                record.headers().add(name, bytearray(text.encode()))
            self._producer.send(record)
        self._producer.flush()

    def read(self, topic: str, since: Mapping[int, int]) -> Iterator[tuple[int, int, str]]:
        """Partition, offset and value of each record that was committed, to the topic's end.

        since: the offset to begin with, by partition.
        """
        reader = f"{_STRINGS.removesuffix('StringSerializer')}StringDeserializer"
        properties = self._properties(
            key_deserializer=reader,
            value_deserializer=reader,
            isolation_level="read_committed",
            enable_auto_commit="false",
            auto_offset_reset="earliest",
        )
        consumer = self._clients.consumer.KafkaConsumer(properties)
        try:
            places = [
                self._common.TopicPartition(topic, one.partition())
                for one in consumer.partitionsFor(topic)
            ]
            consumer.assign(places)
            ends = consumer.endOffsets(places)
            for place in places:
                consumer.seek(place, since.get(place.partition(), 0))
            within = self.client.jvm.java.time.Duration.ofMillis(500)
            while any(consumer.position(place) < ends[place] for place in places):
                for record in consumer.poll(within).iterator():
                    yield record.partition(), record.offset(), record.value()
        finally:
            consumer.close()

    def kill(self) -> None:
        """As by kill -9; `start_again` brings it back with all that it had."""
        self.running.kill()
        self.running.wait(60)

    def start_again(self) -> None:
        self.running = self.start()


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
    with socket.socket() as one, socket.socket() as two, socket.socket() as three:
        for free in (one, two, three):
            free.bind(("127.0.0.1", 0))
        port, controller, login = (free.getsockname()[1] for free in (one, two, three))
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},"
        f"LOGIN://127.0.0.1:{login}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "LOGIN:SASL_PLAINTEXT",
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": f'{JAAS}user_reader="{PASSWORD}";',
        "log.dirs": str(folder / "data"),
        "num.partitions": str(PARTITIONS),
        "message.max.bytes": str(MOST_BYTES),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "log.cleaner.backoff.ms": "100",
    }
    folder.mkdir()
    config = folder / "server.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    log = folder / "broker.log"
    with log.open("w") as out:
        storage = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ"]
        formatted = [*runtime, *storage, "-c", str(config)]
        subprocess.run(formatted, stdout=out, stderr=out, check=True, timeout=120)

    def start() -> subprocess.Popen[bytes]:
        with log.open("a") as out:
            running = subprocess.Popen(
                [*runtime, "kafka.Kafka", str(config)], stdout=out, stderr=out, cwd=folder
            )
        end = time.monotonic() + 240
        while not _answers(port):
            if running.poll() is not None or time.monotonic() > end:
                running.kill()
                raise AssertionError(log.read_text()[-3000:])
            time.sleep(0.2)
        return running

    [py4j] = (versions.spark_home() / "jars").glob("py4j-*.jar")
    gateway, token = launch_gateway(
        jarpath=str(py4j), classpath=path, java_path=runtime[0], die_on_exit=True, enable_auth=True
    )
    parameters = GatewayParameters(port=gateway, auth_token=token, auto_convert=True)
    client = JavaGateway(gateway_parameters=parameters)
    addresses = f"127.0.0.1:{port}", f"127.0.0.1:{login}"
    done = Broker(*addresses, start, start(), client)
    try:
        yield done
    finally:
        client.shutdown()
        done.running.send_signal(signal.SIGTERM)
        done.running.wait(60)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
