"""dbt's public adapter suite: catalog."""

from typing import ClassVar

import pytest
from dbt.tests.adapter.catalog import files
from dbt.tests.adapter.catalog import relation_types as suite


class TestCatalogRelationTypes(suite.CatalogRelationTypes):
    """Spark has no materialized views."""

    skipped: ClassVar = {
        "test_relation_types_populate_correctly": (
            "its parameters name the types in PostgreSQL's words, such as BASE TABLE;"
            " test_relation_types runs its body with Spark's"
        ),
    }

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
    def test_relation_types(self, docs, node_name, relation_type):
        self.test_relation_types_populate_correctly(docs, node_name, relation_type)
