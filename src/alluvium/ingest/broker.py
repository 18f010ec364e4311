"""What a Kafka broker has of a source's topics, by Kafka's own client on the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from alluvium.engine.causes import reason
from alluvium.ingest.options import KAFKA_CLIENT, reads_uncommitted
from alluvium.ingest.spec import Feed, StreamError
from alluvium.plan.topics import Look, Partition, Topic

# What a broker that knows no ids gives.
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
# A broker that is away is told of within a minute, dbt's own start included.
_MS = 30_000


@contextmanager
def looking(session: SparkSession, feed: Feed) -> Iterator[Callable[[], Look | None]]:
    """A connection: each call tells what is there now of the topics that the source names.

    It tells None where the profile does not name Kafka's package: Spark's own error says so.

    Raises:
        StreamError: No broker answers, or it refuses; also by each call.
    """
    jvm: Any = session._jvm
    properties = jvm.java.util.Properties()
    for key, value in feed.options.items():
        if key.lower().startswith(KAFKA_CLIENT):
            properties.put(key[len(KAFKA_CLIENT) :], value)
    try:
        admin = jvm.org.apache.kafka.clients.admin.Admin.create(properties)
    except TypeError:
        yield lambda: None
        return
    except Py4JJavaError as error:
        raise _away(feed, error) from error
    try:
        yield lambda: _look(jvm, admin, feed)
    finally:
        admin.close(jvm.java.time.Duration.ZERO)


def _look(jvm: Any, admin: Any, feed: Feed) -> Look:
    clients, kafka = jvm.org.apache.kafka.clients.admin, jvm.org.apache.kafka.common
    try:
        names = clients.ListTopicsOptions().timeoutMs(_MS)
        there = set(admin.listTopics(names).names().get()) & set(feed.spec.topics)
        if not there:
            return {}
        options = clients.DescribeTopicsOptions().timeoutMs(_MS)
        found = admin.describeTopics(sorted(there), options).allTopicNames().get()
        places = {
            (name, one.partition()): kafka.TopicPartition(name, one.partition())
            for name in sorted(there)
            for one in found[name].partitions()
        }

        def offsets(spec: Any, level: Any) -> dict[tuple[str, int], int]:
            asked = jvm.java.util.HashMap()
            for place in places.values():
                asked.put(place, spec)
            options = clients.ListOffsetsOptions(level).timeoutMs(_MS)
            answer = admin.listOffsets(asked, options).all().get()
            return {name: int(answer.get(place).offset()) for name, place in places.items()}

        levels, specs = kafka.IsolationLevel, clients.OffsetSpec
        # The ends first: what is deleted meanwhile is no end below a beginning.
        ends = offsets(specs.latest(), levels.READ_UNCOMMITTED)
        stable = ends
        if not reads_uncommitted(feed.options):
            stable = offsets(specs.latest(), levels.READ_COMMITTED)
        firsts = offsets(specs.earliest(), levels.READ_UNCOMMITTED)
    except Py4JJavaError as error:
        raise _away(feed, error) from error
    topics = {}
    for topic in there:
        id = str(found[topic].topicId().toString())
        topics[topic] = Topic(
            None if id == _NO_ID else id,
            {
                str(number): Partition(
                    firsts[name, number], stable[name, number], ends[name, number]
                )
                for name, number in places
                if name == topic
            },
        )
    return topics


def _away(feed: Feed, error: Py4JJavaError) -> StreamError:
    return StreamError(
        f"source {feed.spec.source}: no answer from {feed.options['kafka.bootstrap.servers']} "
        f"(options.kafka.bootstrap.servers): {reason(error)}"
    )
