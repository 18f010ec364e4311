"""Seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.base import available
from dbt.adapters.contracts.connection import AdapterResponse

from dbt.adapters.alluvium import seeds
from dbt.adapters.alluvium.verbs.base import SessionAdapter

if TYPE_CHECKING:
    import agate


class Seeding(SessionAdapter):
    @available.parse_none
    def load_seed(
        self, create: str, rows: agate.Table, column_types: dict[str, str]
    ) -> AdapterResponse:
        """Write `rows` by `create`, a CREATE TABLE up to its AS, each column cast to its type."""
        with self._working() as session:
            return seeds.load(session, create, rows, column_types)
