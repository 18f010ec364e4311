"""Tables as delta-rs reads them."""

from __future__ import annotations

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder


def by_query(table: DeltaTable, query: str = "select * from t") -> pa.Table:
    """The rows of a query on `t`: it reads deletion vectors, which Arrow's reader refuses."""
    return pa.table(QueryBuilder().register("t", table).execute(query).read_all())
