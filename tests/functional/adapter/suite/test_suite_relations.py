"""dbt's public adapter suite: relations."""

from dbt.tests.adapter.relations import test_changing_relation_type, test_dropping_schema_named


class TestChangeRelationTypeValidator(test_changing_relation_type.BaseChangeRelationTypeValidator):
    pass


class TestDropSchemaNamed(test_dropping_schema_named.BaseDropSchemaNamed):
    pass
