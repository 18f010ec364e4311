"""Columns that dbt's own settings of a model name, beside those that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException

from alluvium.engine.causes import explain
from alluvium.names import among, bare, did_you_mean, quoted

_OF_A_MERGE = ("unique_key", "merge_update_columns", "merge_exclude_columns")
_TEXTS = ("merge_update_columns", "merge_exclude_columns", "incremental_predicates", "predicates")
# A text may name several columns of a partition, as SQL does.
_SEVERAL = re.compile(r"\s*(`(?:[^`]|``)+`|\w+)\s*(?:,|\Z)")
_PART = re.compile(r"`((?:[^`]|``)+)`")


def as_list(value: str | Sequence[str] | None) -> list[str]:
    """A setting that takes one text or several; an empty text is none."""
    return [value] if isinstance(value, str) and value else list(value or [])


def lists(config: Mapping[str, Any]) -> dict[str, list[str] | None]:
    """Settings of a model that dbt-spark's macros would go through letter by letter, as lists.

    And those that they take for something where they are nothing. Examples are a partition by no
    column, and names in backticks that are compared with names without.
    """
    found = {
        key: as_list(config.get(key)) or None for key in _TEXTS if isinstance(config.get(key), str)
    }
    excluded = found.get("merge_exclude_columns") or config.get("merge_exclude_columns")
    if excluded:
        found["merge_exclude_columns"] = [bare(name) for name in excluded]
    if config.get("partition_by") is not None:
        found["partition_by"] = partitions(config.get("partition_by")) or None
    return found


def predicates(config: Mapping[str, Any]) -> list[str]:
    """A merge's own conditions, under either of the two names that dbt-spark has for them."""
    return as_list(config.get("predicates") or config.get("incremental_predicates"))


def partitions(given: str | Sequence[str] | None) -> list[str]:
    """The names in `partition_by`, as they are written."""
    if isinstance(given, str) and "".join(m[0] for m in _SEVERAL.finditer(given)) == given:
        return _SEVERAL.findall(given)
    return as_list(given)


def columns(
    config: Mapping[str, Any], strategy: str | None, *, is_new: bool
) -> dict[str, list[str]]:
    """The columns that settings of a model name, as they are written; empty where none names any.

    Args:
        config: of the model.
        strategy: how rows come into its table; None where it is made again each time.
        is_new: whether the table is yet to be made.
    """
    names = {key: as_list(config.get(key)) for key in _OF_A_MERGE if strategy == "merge"}
    # Iceberg partitions by what it makes of columns.
    if is_new and config.get("file_format", "delta") in (None, "delta"):
        names["partition_by"] = partitions(config.get("partition_by"))
    return {key: found for key, found in names.items() if found}


def unknown(
    config: Mapping[str, Any],
    strategy: str | None,
    selected: Iterable[str],
    stored: Iterable[str] | None = None,
) -> list[str]:
    """Every setting that names a column which is not there, each a line.

    Args:
        config: of the model.
        strategy: how rows come into its table; None where it is made again each time.
        selected: columns of the model's query.
        stored: columns of its table; None where there is none yet.
    """
    selected = list(selected)
    known = [*selected, *(stored or [])]
    names = columns(config, strategy, is_new=stored is None)
    return [
        f"{setting}: the model does not select {bare(name)}{did_you_mean(bare(name), selected)}"
        for setting, given in names.items()
        for name in given
        if not _is_known(name, known)
    ]


def identifiers(names: str | Sequence[str] | None, columns: Iterable[str]) -> list[str]:
    """Names in a setting as identifiers; what is none of `columns`, as a field of one, as it is."""
    known = list(columns)
    return [quoted(bare(name)) if among(bare(name), known) else name for name in as_list(names)]


def _is_known(name: str, known: Iterable[str]) -> bool:
    """Whether a name is that of a column, or of a field of one."""
    return among(bare(name), known) or ("`" not in name and among(name.split(".")[0], known))


def why(error: AnalysisException | ParseException, selected: Iterable[str]) -> str:
    """What is wrong with SQL over columns, in one line."""
    code = error.getCondition() or ""
    if code.startswith("UNRESOLVED_COLUMN"):
        parts = _PART.findall((error.getMessageParameters() or {}).get("objectName", ""))
        # A merge's own name for its batch or table is not a part of the column's.
        name = ".".join(part for part in parts if not part.startswith("DBT_INTERNAL_"))
        return f"the model does not select {name}{did_you_mean(name, selected)}"
    return re.sub(r"^\[[A-Z_.]+\]\s*", "", explain(error).text)
