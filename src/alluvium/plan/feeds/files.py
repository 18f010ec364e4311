"""The files of a feed over bronze: the merged model, and its YAML with tests."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import Template

from alluvium.plan.feeds.sample import Column, Sample, is_jinja

ORDER = "[_position, _source_offset]"
_MAPPING = "\n      tblproperties: {delta.columnMapping.mode: name}"
# Of events that may leave out what did not change.
_COLUMNS = """\
    columns:
      - name: _unavailable
        data_tests: [alluvium.known_columns]
"""


def generate(name: str, key: Sequence[str], sample: Sample, bronze: str) -> dict[str, str]:
    """The texts of a merged model over bronze and of its YAML, by the names of their files.

    Args:
        name: The merged model.
        key: Columns of the source's key.
        bronze: The bronze model.

    Raises:
        ValueError: The key is not among the columns of the sample.
    """
    columns, left_out = _apart(sample.columns, key)
    names = [column.name for column in columns]
    for one in key:
        if why := next((other.question for other in left_out if other.name == one), ""):
            raise ValueError(f"key: {one}: {why}; accepted: {', '.join(names)}")
        if one not in names:
            raise ValueError(f"key: no event of the sample has {one}; accepted: {', '.join(names)}")
    return {
        f"{name}.sql": _model(name, key, replace(sample, columns=columns), left_out, bronze),
        f"{name}.yml": _settings(name, key, sample, bronze, columns),
    }


def _apart(columns: Sequence[Column], key: Sequence[str]) -> tuple[list[Column], list[Column]]:
    """The columns of the model, and those that it cannot have, with the reason."""
    fit = [column for column in columns if column.type]
    left_out = [column for column in columns if not column.type]
    # Of names that Spark cannot tell apart a key's stays, or the first.
    first: dict[str, Column] = {}
    for column in sorted(fit, key=lambda column: column.name not in key):
        kept = first.setdefault(column.name.lower(), column)
        if kept is not column:
            why = f"its name is {kept.name} but for the case"
            left_out.append(Column(column.name, "", why))
    return [column for column in fit if first[column.name.lower()] is column], left_out


def _text(value: str) -> str:
    """A text in Jinja."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _remarks(title: str, columns: Sequence[Column]) -> list[str]:
    """Comments on columns, under a title where there are some; no name begins Jinja in them."""
    lines = []
    for column in columns:
        name = (column.name or repr("")).encode("utf-8", "backslashreplace").decode()
        text = f"{name}: {column.question}."
        lines.append("-- " + " ".join(text.split()).replace("{", "{ "))
    return [f"-- {title}", *lines] if lines else []


def _model(
    name: str, key: Sequence[str], sample: Sample, left_out: Sequence[Column], bronze: str
) -> str:
    macro = "debezium" if sample.form == "flat" else sample.form
    ddl = ",\n        ".join(column.ddl for column in sample.columns)
    arguments = [f"alluvium.new_events(ref('{bronze}'), '{name}')", f"key={list(key)!r}"]
    if sample.form == "flat":
        arguments.append("flat=true")
    if sample.form == "debezium":
        arguments.append(
            f"connector='{sample.connector}'" if sample.connector else "position='offset'"
        )
    if sample.is_one_of_many:
        arguments.append(f"table={_text(str(sample.table))}")
    arguments.append(f"columns={_text(ddl)}")
    asked = [column for column in sample.columns if column.question]
    questions = _remarks("Types that the events do not say. Please look at:", asked)
    questions += _remarks("Left out, for no column can be as they are:", left_out)
    if sample.form == "debezium" and not sample.connector:
        questions.insert(0, "-- The events do not name their connector: connector= is safer.")
    lines = [*questions, f"select * from {{{{ alluvium.{macro}("]
    return "\n".join([*lines, "    " + ",\n    ".join(arguments), ") }} as changes", ""])


def _is_mapped(column: Column) -> bool:
    """Whether Delta stores a column only under a name of its own, or a field inside it."""
    fields = re.findall("`((?:[^`]|``)*)`", column.type)
    return any(re.search(r"[ ,;{}()\n\t=]", name) for name in (column.name, *fields))


def _settings(
    name: str, key: Sequence[str], sample: Sample, bronze: str, stored: Sequence[Column]
) -> str:
    settings, columns = ["reject_by: _rejected"], ""
    if sample.form == "json":
        settings.insert(0, "order_by: _source_offset  # a column of the events is safer")
    else:
        settings[:0] = [f"order_by: {ORDER}", "delete_when: _op = 'd'"]
        settings.append("keep_by: _unavailable")
        columns = _COLUMNS
    # Those too that the model leaves out: they are known.
    names = [one.name for one in sample.columns if one.name and not is_jinja(one.name)]
    envelope = "" if sample.form in ("debezium", "mongodb") else ", envelope: false"
    table = f", table: {json.dumps(sample.table)}" if sample.is_one_of_many else ""
    template = Path(__file__).with_name("model.yml.template").read_text(encoding="utf-8")
    made = Template(template).substitute(
        name=name,
        keys=json.dumps(list(key)),
        mapping=_MAPPING if any(map(_is_mapped, stored)) else "",
        settings="\n          ".join(settings),
        bronze=bronze,
        declared=json.dumps(list(dict.fromkeys(names))),
        further=envelope + table,
    )
    return made + columns
