"""dbt's public adapter suite: persist_docs."""

from dbt.tests.adapter.persist_docs import test_persist_docs as suite


class TestPersistDocs(suite.BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(suite.BasePersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(suite.BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(suite.BasePersistDocsQuotedColumnCaseSensitive):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatch(
    suite.BasePersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestPersistDocsCommentOnQuotedColumn(suite.BasePersistDocsCommentOnQuotedColumn):
    pass
