"""dbt's public adapter suite: persist_docs."""

import pytest
from dbt.tests.adapter.persist_docs import test_persist_docs as suite


class TestPersistDocs(suite.BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(suite.BasePersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(suite.BasePersistDocsAllColumnsMissing):
    pass


_OTHER_CASE = pytest.mark.skip(reason="to Spark a quoted name in another case is the same column")


@_OTHER_CASE
class TestPersistDocsQuotedColumnCaseSensitive(suite.BasePersistDocsQuotedColumnCaseSensitive):
    pass


@_OTHER_CASE
class TestPersistDocsQuotedDescriptionNotAppliedOnMismatch(
    suite.BasePersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestPersistDocsCommentOnQuotedColumn(suite.BasePersistDocsCommentOnQuotedColumn):
    pass
