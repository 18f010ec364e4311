"""The profile of a target: what is accepted, and every mistake in one message."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.alluvium.credentials import AlluviumCredentials

S3 = "spark.hadoop.fs.s3a.endpoint.region"


def read(**profile: object) -> AlluviumCredentials:
    data = AlluviumCredentials.translate_aliases(profile)
    AlluviumCredentials.validate(data)
    return AlluviumCredentials.from_dict(data)


def test_schema_is_enough() -> None:
    creds = read(schema="analytics")
    assert (creds.schema, creds.home, creds.master) == ("analytics", ".alluvium", "local[*]")
    assert creds.database is None
    assert creds.spark_conf == {}
    assert creds.packages == []
    assert creds.wait_seconds == 0
    assert creds.warm_seconds == 0
    assert creds.executor_seconds == 300
    assert not creds.shared_disk


def test_every_key() -> None:
    creds = read(
        schema="s",
        home="/data/home",
        master="local[2]",
        spark_conf={"spark.sql.shuffle.partitions": 4, "spark.ui.enabled": True},
        packages=["org.postgresql:postgresql:42.7.7"],
        wait="10 minutes",
        engine={"keep_warm": "15 minutes", "executors_within": "10 minutes"},
        shared_disk=True,
    )
    assert creds.wait_seconds == 600
    assert creds.warm_seconds == 900
    assert creds.executor_seconds == 600
    assert creds.shared_disk
    assert creds.spark_conf["spark.ui.enabled"] is True


def test_all_mistakes_at_once() -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        read(
            schema="",
            database="other",
            home=3,
            master=["local"],
            spark_conf=["a=b"],
            single_writer=True,
            packages=["postgresql"],
            wait="soon",
            engine={"keep_warm": "a while", "executors_within": 30},
            shared_disk="yes",
            hoem=".x",
            method="session",
        )
    message = str(caught.value)
    keys = ("schema", "database", "home", "master", "spark_conf", "packages", "wait")
    for word in (*keys, "engine.keep_warm", "engine.executors_within", "shared_disk"):
        assert message.count(f"target.{word}: ") == 1, word
    accepted = (
        "schema, type, threads, home, master, spark_conf, packages, single_writer, wait, engine,"
        " shared_disk"
    )
    assert f"target: unknown key hoem; accepted: {accepted}; did you mean home?" in message
    assert f"target: unknown key method; accepted: {accepted}\n" in message
    assert "target.engine.executors_within: 30 is not accepted; accepted: a number of" in message
    assert "a=b" not in message
    assert "single_writer: it" not in message


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ({"engine": "warm"}, "is not a mapping; accepted keys: keep_warm, executors_within"),
        ({"engine": {"keep": 1}}, "unknown key keep; accepted: keep_warm, executors_within"),
        ({"master": "spark://m:7077"}, "beside `master: spark://m:7077`; accepted: with a `local`"),
        ({"master": "local-cluster[2,1,1024]"}, "accepted: with a `local` master"),
        (
            {"spark_conf": {"spark.hadoop.hive.metastore.uris": "thrift://m:9083"}},
            "accepted: with the embedded one",
        ),
    ],
)
def test_an_engine_is_kept_by_one_command_at_a_time(profile: dict[str, object], told: str) -> None:
    keeps = {"schema": "s", "engine": {"keep_warm": "1 hour"}}
    with pytest.raises(DbtRuntimeError) as caught:
        read(**keeps | profile)
    assert told in str(caught.value)
    # One that keeps none may have all of that but for the first two.
    if "engine" not in profile:
        assert read(schema="s", engine={"keep_warm": 0}, **profile).warm_seconds == 0


def test_s3_has_one_scheme() -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        read(
            schema="s",
            spark_conf={"spark.sql.warehouse.dir": "s3://key:secret@lake/w", "x.dir": "s3n://a"},
            single_writer="yes",
        )
    message = str(caught.value)
    assert "spark_conf: spark.sql.warehouse.dir begins with s3://; accepted: s3a://" in message
    assert "spark_conf: x.dir begins with s3n://; accepted: s3a://" in message
    assert 'single_writer: "yes" is not accepted; accepted: true, false' in message
    assert "secret" not in message
    # Amazon's own Hadoop reads it.
    own = {"spark.sql.warehouse.dir": "s3://lake/w", "spark.hadoop.fs.s3.impl": "com.amazon.FS"}
    read(schema="s", spark_conf=own)


def test_a_single_writer_is_of_s3() -> None:
    assert read(schema="s", spark_conf={S3: "eu-west-1"}, single_writer=True).single_writer
    assert not read(schema="s", spark_conf={S3: "eu-west-1"}).single_writer
    with pytest.raises(DbtRuntimeError, match="names no place of s3a://"):
        read(schema="s", single_writer=True)


def test_debug_shows_where_tables_go() -> None:
    place = {"spark.sql.warehouse.dir": "s3a://lake/warehouse"}
    shown = dict(read(schema="s", spark_conf=place).connection_info())
    assert shown["warehouse"] == "s3a://lake/warehouse"
    assert dict(read(schema="s", home="/h").connection_info())["warehouse"] == "/h/warehouse"


def test_names_have_no_case() -> None:
    read(schema="s", spark_conf={"spark.sql.caseSensitive": False})
    with pytest.raises(DbtRuntimeError, match="Names of columns that differ in case alone are one"):
        read(schema="s", spark_conf={"spark.sql.caseSensitive": "true"})


@pytest.mark.parametrize(
    "packages", ["a:b:c", ["a:b"], ["a:b:c", 1], ["a b:c:d"]], ids=["text", "two", "int", "space"]
)
def test_wrong_packages(packages: object) -> None:
    with pytest.raises(DbtRuntimeError, match="group:artifact:version"):
        read(schema="s", packages=packages)


def test_the_context_of_jinja_gets_the_profile_only() -> None:
    creds = read(schema="s")
    assert set(dict(creds.connection_info(with_aliases=True))) <= {
        *("database", "schema", "home", "master", "spark_conf", "packages", "wait")
    }
