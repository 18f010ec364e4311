"""dbt's public adapter suite: empty."""

import pytest
from dbt.tests.adapter.empty import _models
from dbt.tests.adapter.empty import test_empty as suite


class TestEmpty(suite.BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(suite.BaseTestEmptyInlineSourceRef):
    pass


class TestEmptyAgain(suite.TestEmpty):
    pass


@pytest.mark.skip(reason="`dbt seed --empty` came after dbt-core 1.11")
class TestEmptySeedFlag(suite.BaseTestEmptySeedFlag):
    pass


class TestMetadataWithEmptyFlag(suite.MetadataWithEmptyFlag):
    """Delta changes no column to another type, and drops columns with column mapping only."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"seeds": {"+tblproperties": {"delta.columnMapping.mode": "name"}}}

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "schema.yml": _models.SCHEMA,
            "control.sql": _models.CONTROL,
            "get_columns_in_relation.sql": _models.GET_COLUMNS_IN_RELATION,
            "alter_column_type.sql": _models.ALTER_COLUMN_TYPE.replace("varchar", "string"),
            "alter_relation_comment.sql": _models.ALTER_RELATION_COMMENT,
            "alter_column_comment.sql": _models.ALTER_COLUMN_COMMENT,
            "alter_relation_add_remove_columns.sql": (
                _models.ALTER_RELATION_ADD_REMOVE_COLUMNS.replace("varchar", "string")
            ),
            "truncate_relation.sql": _models.TRUNCATE_RELATION,
        }
