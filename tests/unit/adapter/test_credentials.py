"""The profile of a target: what is accepted, and every mistake in one message."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.alluvium.credentials import AlluviumCredentials


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


def test_every_key() -> None:
    creds = read(
        schema="s",
        home="/data/home",
        master="local[2]",
        spark_conf={"spark.sql.shuffle.partitions": 4, "spark.ui.enabled": True},
        packages=["org.postgresql:postgresql:42.7.7"],
        wait="10 minutes",
    )
    assert creds.wait_seconds == 600
    assert creds.spark_conf["spark.ui.enabled"] is True


def test_all_mistakes_at_once() -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        read(
            schema="",
            database="other",
            home=3,
            master=["local"],
            spark_conf=["a=b"],
            packages=["postgresql"],
            wait="soon",
            hoem=".x",
            method="session",
        )
    message = str(caught.value)
    for word in ("schema", "database", "home", "master", "spark_conf", "packages", "wait"):
        assert f"`{word}`" in message, word
    assert "`hoem` is not a key" in message
    assert "`method` is not a key" in message
    assert (
        "Accepted keys: type, threads, home, master, packages, schema, spark_conf, wait" in message
    )


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
