"""dbt's public adapter suite: simple_snapshot."""

from typing import ClassVar

import pytest
from dbt.tests.adapter.simple_snapshot import (
    fixtures,
    new_record_check_mode,
    new_record_dbt_valid_to_current,
    new_record_timestamp_mode,
    test_ephemeral_snapshot_hard_deletes,
    test_snapshot,
    test_various_configs,
)
from functional.adapter.suite.spark_dialect import spark


class TestSnapshotNewRecordCheckMode(new_record_check_mode.BaseSnapshotNewRecordCheckMode):
    """The snapshot's SQL names a database."""

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"snapshot.sql": spark(new_record_timestamp_mode._snapshot_actual_sql)}


class TestSnapshotNewRecordDbtValidToCurrent(
    new_record_dbt_valid_to_current.BaseSnapshotNewRecordDbtValidToCurrent
):
    """The snapshot's SQL names a database."""

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"snapshot.sql": spark(new_record_dbt_valid_to_current._snapshot_actual_sql)}


class TestSnapshotNewRecordTimestampMode(
    new_record_timestamp_mode.BaseSnapshotNewRecordTimestampMode
):
    """The snapshot's SQL names a database."""

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"snapshot.sql": spark(new_record_timestamp_mode._snapshot_actual_sql)}


class TestSnapshotEphemeralHardDeletes(
    test_ephemeral_snapshot_hard_deletes.BaseSnapshotEphemeralHardDeletes
):
    pass


class TestSnapshotNewColumnTimestampStrategy(
    test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnTimestampStrategy
):
    pass


class TestSnapshotNewColumnSpecificCheckCols(
    test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnSpecificCheckCols
):
    pass


class TestSnapshotNewColumnWithDeletes(
    test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnWithDeletes
):
    pass


class TestSimpleSnapshot(test_snapshot.BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(test_snapshot.BaseSnapshotCheck):
    pass


class ActualSnapshot:
    """The snapshot's SQL names a database."""

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"snapshot.sql": spark(fixtures.snapshot_actual_sql)}


class TestSnapshotColumnNames(ActualSnapshot, test_various_configs.BaseSnapshotColumnNames):
    pass


class TestSnapshotColumnNamesFromDbtProject(
    ActualSnapshot, test_various_configs.BaseSnapshotColumnNamesFromDbtProject
):
    pass


class TestSnapshotInvalidColumnNames(
    ActualSnapshot, test_various_configs.BaseSnapshotInvalidColumnNames
):
    pass


class TestSnapshotDbtValidToCurrent(
    ActualSnapshot, test_various_configs.BaseSnapshotDbtValidToCurrent
):
    skipped: ClassVar = {
        "test_valid_to_current": (
            "the test takes rows by their place in PostgreSQL's heap; a Delta table has no order"
        ),
    }


class TestSnapshotMultiUniqueKey(test_various_configs.BaseSnapshotMultiUniqueKey):
    """The source model is PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "seed.sql": spark(fixtures.model_seed_sql),
            "snapshots.yml": fixtures.snapshots_multi_key_yml,
            "ref_snapshot.sql": fixtures.ref_snapshot_sql,
        }
