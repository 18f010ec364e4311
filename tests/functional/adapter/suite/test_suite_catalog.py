"""dbt's public adapter suite: catalog."""

import pytest
from dbt.tests.adapter.catalog import files
from dbt.tests.adapter.catalog import relation_types as suite


class TestCatalogRelationTypes(suite.CatalogRelationTypes):
    """Spark has no materialized views, and calls a table a table."""

    @pytest.fixture(scope="class", autouse=True)
    def models(self):
        return {"my_table.sql": files.MY_TABLE, "my_view.sql": files.MY_VIEW}

    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [
            ("seed.test.my_seed", "table"),
            ("model.test.my_table", "table"),
            ("model.test.my_view", "view"),
        ],
    )
    def test_relation_types_populate_correctly(self, docs, node_name, relation_type):
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)
