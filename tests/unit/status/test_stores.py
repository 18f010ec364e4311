"""Tables on S3, seen without Spark: at a server of this machine."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake
from pyarrow import fs
from support import s3
from support.shop import Shop, ago

from alluvium.command import main as command
from alluvium.paths import Place
from alluvium.plan.status import notes
from alluvium.status import log_reader
from alluvium.status.stores import Stores, options_of

S3A = "spark.hadoop.fs.s3a."


def move(shop: Shop, s3_server: s3.S3) -> None:
    """The warehouse goes to S3, as notes and a profile of its builds say it."""
    tables = [path.name for path in shop.place("orders").parent.iterdir()]
    fs.copy_files(
        str(shop.home / "warehouse"), "lake/warehouse", destination_filesystem=s3_server.files()
    )
    shutil.rmtree(shop.home / "warehouse")
    for name in tables:
        shop.note(name)
        path = shop.home / notes.FOLDER / notes.file_name(f"shop.{name}")
        found = notes.of_node(path.read_text())
        assert found is not None
        place = f"s3a://lake/warehouse/shop.db/{name}"
        path.write_text(notes.text(type(found)(**{**asdict(found), "place": place})))
    secret = "{{ env_var('DBT_ENV_SECRET_KEY') }}"
    conf = {f"spark.hadoop.{key}": value for key, value in s3_server.settings.items()}
    conf[f"{S3A}secret.key"] = secret
    target = {"type": "alluvium", "schema": "shop", "spark_conf": conf}
    outputs = {"dev": target, "other": {"type": "alluvium", "schema": "shop"}}
    profile = {"p": {"target": "other", "outputs": outputs}}
    (shop.folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    (shop.folder / "dbt_project.yml").write_text("name: shop\nprofile: p\n")
    shop.save()  # behind it, as by a build


@pytest.mark.proves("status", on="s3")
def test_a_project_on_s3_reads_as_on_disk(
    shop: Shop,
    s3_server: s3.S3,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DBT_PROFILES_DIR", str(shop.folder))
    monkeypatch.setenv("DBT_ENV_SECRET_KEY", s3.SECRET)
    for name in ("orders_events", "orders_wap", "orders"):
        shop.note(name)
    shop.arrive(2, 4, ago(minutes=12))
    assert command.main(["status"]) == 0
    wanted = capsys.readouterr().out
    assert "4 events of orders_events wait" in wanted
    move(shop, s3_server)
    assert command.main(["status"]) == 0
    assert capsys.readouterr().out == wanted
    assert command.main(["report"]) == 0
    assert s3.SECRET not in (shop.folder / "target/alluvium.html").read_text()
    # What is not known is named, and nothing is guessed.
    move_again = {f"{S3A}proxy.host": "proxy.internal"}
    profile = yaml.safe_load((shop.folder / "profiles.yml").read_text())
    profile["p"]["outputs"]["dev"]["spark_conf"] |= move_again
    (shop.folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    capsys.readouterr()
    assert command.main(["status"]) == 1
    said = capsys.readouterr().out
    assert "s3a://lake/warehouse/shop.db/orders" in said
    assert "the target sets fs.s3a.proxy.host, which are not known here; known are" in said
    monkeypatch.delenv("DBT_ENV_SECRET_KEY")
    assert command.main(["status"]) == 1
    said = capsys.readouterr().out
    assert "orders is not read: target dev of the profile cannot be read: " in said
    assert "DBT_ENV_SECRET_KEY" in said
    assert s3.SECRET not in said


def test_a_checkpoint_and_what_is_not_there(s3_server: s3.S3, tmp_path: Path) -> None:
    """Beside delta-rs; and a key that the server refuses."""
    conf = {f"spark.hadoop.{key}": value for key, value in s3_server.settings.items()}
    stores = Stores(lambda: conf)
    options = s3_server.delta_rs
    for number in range(3):
        rows = pa.table({"id": [number, number + 1]})
        write_deltalake("s3://lake/a b/t", rows, mode="append", storage_options=options)
        if number == 1:
            DeltaTable("s3://lake/a b/t", storage_options=options).create_checkpoint()
    place = stores.folder(Place.of("s3a://lake/a b/t"))
    log, snapshot = log_reader.read(place)
    assert (log.version, log.checkpointed, len(snapshot.files)) == (2, 1, 3)
    assert [one.version for one in log.newest_first()] == [2, 1, 0]
    with pytest.raises(log_reader.LogError, match="no such folder: s3a://lake/nothing"):
        log_reader.read(stores.folder(Place.of("s3a://lake/nothing")))
    s3_server.refuse(True)
    try:
        with pytest.raises((log_reader.LogError, OSError), match="INVALID_ACCESS_KEY_ID"):
            log_reader.read(place)
    finally:
        s3_server.refuse(False)


@pytest.mark.parametrize(
    ("conf", "options"),
    [
        ({}, {}),
        (
            {"endpoint": "https://s3.eu:9000/", "path.style.access": "TRUE", "access.key": ""},
            {
                "endpoint_override": "s3.eu:9000",
                "scheme": "https",
                "force_virtual_addressing": False,
            },
        ),
        (
            {"endpoint": "store:9000", "connection.ssl.enabled": "false"},
            {"endpoint_override": "store:9000", "scheme": "http", "force_virtual_addressing": True},
        ),
        (
            {"access.key": "a", "secret.key": "b", "session.token": "c", "endpoint.region": "r"},
            {"access_key": "a", "secret_key": "b", "session_token": "c", "region": "r"},
        ),
        (
            {"access.key": "a", "bucket.lake.access.key": "b", "bucket.other.access.key": "c"},
            {"access_key": "b"},
        ),
        (
            {"aws.credentials.provider": "a.b.AnonymousAWSCredentialsProvider"},
            {"anonymous": True},
        ),
        (
            {
                "performance.flags": "create",
                "connection.timeout": "15s",
                "retry.limit": "1",
                "aws.credentials.provider": "a.SimpleAWSCredentialsProvider",
            },
            {},
        ),
    ],
)
def test_options(conf: dict[str, str], options: dict[str, object]) -> None:
    given = {f"{S3A}{key}": value for key, value in conf.items()}
    found = options_of({**given, "spark.sql.shuffle.partitions": "2"}, "lake")
    assert found.pop("connect_timeout") < found.pop("request_timeout") <= 30
    assert found == options


@pytest.mark.parametrize(
    "key",
    [
        "proxy.host",
        "assumed.role.arn",
        "encryption.algorithm",
        "security.credential.provider.path",
        "bucket.lake.proxy.host",
        "connection.ssl.unheard",
    ],
)
def test_settings_that_are_not_known(key: str) -> None:
    with pytest.raises(ValueError, match="which are not known here") as told:
        options_of({f"{S3A}{key}": "hidden"}, "lake")
    assert "hidden" not in str(told.value)
    assert options_of({f"{S3A}bucket.other.{key}": "hidden"}, "lake").keys() == {
        "connect_timeout",
        "request_timeout",
    }
