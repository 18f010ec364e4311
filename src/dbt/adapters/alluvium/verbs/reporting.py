"""What tables went through: the history of one in lines."""

from __future__ import annotations

from dbt.adapters.base import available

from alluvium.delta.commit_files import TableLog
from alluvium.report.log_lines import log_lines, names, parsed_moment, version_lines
from dbt.adapters.alluvium.handle import mistakes
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Reporting(SessionAdapter):
    @available.parse_list
    def table_log(
        self,
        table: str,
        model: str,
        limit: int | None = None,
        since: str | None = None,
        show: int | None = None,
        published: dict[str, str] | None = None,
    ) -> list[str]:
        """The history of a table in lines: `log_lines`; or one version of it: `version_lines`.

        Args:
            since: a date, or a date and time, in UTC.
            show: the version.
            published: by the name of its model, published tables that may show this one.

        Raises:
            DbtRuntimeError: the table is none of Delta's, or its log does not tell the version.
        """
        with self._working() as session, mistakes("alluvium.commits"):
            table_log = TableLog(session, table)
            pointers = names(session, table_log, published or {})
            if show is not None:
                return list(version_lines(table_log, model, show, pointers))
            begins = None if since is None else parsed_moment(since)
            return list(log_lines(table_log, model, limit, begins, pointers))
