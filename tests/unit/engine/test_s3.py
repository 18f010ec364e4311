"""A warehouse on S3 that cannot be read: one line, soon."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from support import s3

from alluvium.engine import EngineError, versions
from alluvium.engine.s3 import Warehouse


def warehouse(server: s3.S3, bucket: str = "lake", **settings: str) -> Warehouse:
    conf = {**server.settings, **{f"fs.s3a.{key}": value for key, value in settings.items()}}
    return Warehouse(
        f"s3a://{bucket}/warehouse", {f"spark.hadoop.{key}": value for key, value in conf.items()}
    )


@pytest.fixture(scope="module")
def jvm(s3_class_path: str) -> Iterator[object]:
    [py4j] = (versions.spark_home() / "jars").glob("py4j-*.jar")
    port = launch_gateway(jarpath=str(py4j), classpath=s3_class_path, die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield gateway.jvm
    gateway.shutdown()


@pytest.mark.parametrize(
    ("bucket", "why"), [("elsewhere", "The specified bucket does not exist"), ("lake", None)]
)
def test_the_bucket_is_there_or_not(
    s3_server: s3.S3, jvm: object, bucket: str, why: str | None
) -> None:
    asked = warehouse(s3_server, bucket)
    asked.is_answered()
    if why is None:
        asked.is_read(jvm)
        return
    with pytest.raises(EngineError) as refused:
        asked.is_read(jvm)
    message = str(refused.value)
    assert message.startswith(f"Bucket {bucket} (s3a://{bucket}/warehouse) cannot be read at http:")
    assert f": {why}. Settings: spark.hadoop.fs.s3a.access.key, " in message
    assert "\n" not in message
    assert s3.KEY not in message
    assert s3.SECRET not in message


def test_wrong_keys(s3_server: s3.S3, jvm: object) -> None:
    s3_server.refuse(True)
    try:
        with pytest.raises(EngineError, match="cannot be read at http://"):
            warehouse(s3_server).is_read(jvm)
    finally:
        s3_server.refuse(False)


def test_nobody_answers(s3_server: s3.S3) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match=r"cannot be read at http://127.*refused. Settings: "):
            warehouse(s3_server, endpoint=nobody).is_answered()
        silent.listen(1)
        began = time.monotonic()
        with pytest.raises(EngineError, match=r"timed out\. Settings: "):
            warehouse(s3_server, endpoint=nobody).is_answered()
        assert time.monotonic() - began < 20


def test_aws_is_not_asked_by_hand() -> None:
    Warehouse("s3a://lake/w", {}).is_answered()
