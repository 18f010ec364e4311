"""dbt's public adapter suite: basic."""

import pytest
from dbt.tests.adapter.basic import (
    expected_catalog,
    test_adapter_methods,
    test_base,
    test_docs_generate,
    test_empty,
    test_ephemeral,
    test_generic_tests,
    test_get_catalog_for_single_relation,
    test_incremental,
    test_singular_tests,
    test_singular_tests_ephemeral,
    test_snapshot_check_cols,
    test_snapshot_timestamp,
    test_table_materialization,
    test_validate_connection,
)
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata


def expected(project, owner, build, **more):
    return build(
        project,
        role=owner,
        id_type="bigint",
        text_type="string",
        time_type="timestamp",
        view_type="view",
        table_type="table",
        model_stats=expected_catalog.no_stats(),
        **more,
    )


def single_relation(project, owner, name, kind):
    types = ("bigint", "string", "string", "string", "timestamp")
    names = ("id", "first_name", "email", "ip_address", "updated_at")
    return CatalogTable(
        metadata=TableMetadata(
            type=kind, schema=project.test_schema, name=name, owner=owner, comment=None
        ),
        columns={
            column: ColumnMetadata(type=type_, index=place, name=column, comment=None)
            for place, (column, type_) in enumerate(zip(names, types, strict=True), start=1)
        },
        stats={},
    )


class TestAdapterMethod(test_adapter_methods.BaseAdapterMethod):
    pass


class TestSimpleMaterializations(test_base.BaseSimpleMaterializations):
    pass


class TestDocsGenerate(test_docs_generate.BaseDocsGenerate):
    """The expected catalog names the database, PostgreSQL's types and its views' type."""

    @pytest.fixture(scope="class")
    def expected_catalog(self, project, profile_user):
        return expected(project, profile_user, expected_catalog.base_expected_catalog)


class TestDocsGenReferences(test_docs_generate.BaseDocsGenReferences):
    """The expected catalog names the database, PostgreSQL's types and its views' type."""

    @pytest.fixture(scope="class")
    def expected_catalog(self, project, profile_user):
        return expected(
            project,
            profile_user,
            expected_catalog.expected_references_catalog,
            bigint_type="bigint",
        )


class TestEmpty(test_empty.BaseEmpty):
    pass


class TestEphemeral(test_ephemeral.BaseEphemeral):
    pass


class TestGenericTests(test_generic_tests.BaseGenericTests):
    pass


class TestGetCatalogForSingleRelation(
    test_get_catalog_for_single_relation.BaseGetCatalogForSingleRelation
):
    """The expected tables are left to each adapter."""

    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project, profile_user):
        return single_relation(project, profile_user, "my_seed", "table")

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project, profile_user):
        return single_relation(project, profile_user, "my_view_model", "view")


class TestIncremental(test_incremental.BaseIncremental):
    pass


class TestIncrementalNotSchemaChange(test_incremental.BaseIncrementalNotSchemaChange):
    pass


class TestIncrementalBadStrategy(test_incremental.BaseIncrementalBadStrategy):
    pass


class TestSingularTests(test_singular_tests.BaseSingularTests):
    pass


class TestSingularTestsEphemeral(test_singular_tests_ephemeral.BaseSingularTestsEphemeral):
    pass


class TestSnapshotCheckCols(test_snapshot_check_cols.BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(test_snapshot_timestamp.BaseSnapshotTimestamp):
    pass


class TestTableMaterialization(test_table_materialization.BaseTableMaterialization):
    pass


class TestValidateConnection(test_validate_connection.BaseValidateConnection):
    pass
