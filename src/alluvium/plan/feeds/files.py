"""The files of a feed over bronze: the merged model, and its YAML with tests."""

from __future__ import annotations

import json
from collections.abc import Sequence

from alluvium.plan.feeds.sample import Sample

ORDER = "[_position, _source_offset]"


def generate(name: str, key: Sequence[str], sample: Sample, bronze: str) -> dict[str, str]:
    """The texts of a merged model over bronze and of its YAML, by the names of their files.

    Args:
        name: The merged model.
        key: Columns of the source's key.
        bronze: The bronze model.

    Raises:
        ValueError: The key is not among the columns of the sample.
    """
    names = [column.name for column in sample.columns]
    for one in key:
        if one not in names:
            raise ValueError(f"key: no event of the sample has {one}; accepted: {', '.join(names)}")
    return {
        f"{name}.sql": _model(name, key, sample, bronze),
        f"{name}.yml": _settings(name, key, sample, bronze),
    }


def _model(name: str, key: Sequence[str], sample: Sample, bronze: str) -> str:
    macro = "debezium" if sample.form == "flat" else sample.form
    ddl = ",\n        ".join(column.ddl for column in sample.columns).replace("'", "\\'")
    arguments = [f"alluvium.new_events(ref('{bronze}'), '{name}')", f"key={list(key)!r}"]
    if sample.form == "flat":
        arguments.append("flat=true")
    if sample.form == "debezium":
        arguments.append(
            f"connector='{sample.connector}'" if sample.connector else "position='offset'"
        )
    arguments.append(f"columns='{ddl}'")
    questions = [
        f"-- {column.name}: {column.question}." for column in sample.columns if column.question
    ]
    if questions:
        questions.insert(0, "-- Types that the events do not say. Please look at:")
    if sample.form == "debezium" and not sample.connector:
        questions.insert(0, "-- The events do not name their connector: connector= is safer.")
    lines = [*questions, f"select * from {{{{ alluvium.{macro}("]
    return "\n".join([*lines, "    " + ",\n    ".join(arguments), ") }} as changes", ""])


def _settings(name: str, key: Sequence[str], sample: Sample, bronze: str) -> str:
    settings, columns = ["          reject_by: _rejected"], []
    if sample.form == "json":
        settings.insert(0, "          order_by: _source_offset  # a column of the events is safer")
    else:
        settings[:0] = [f"          order_by: {ORDER}", "          delete_when: _op = 'd'"]
        settings.append("          keep_by: _unavailable")
        columns = [
            "    columns:",
            "      - name: _unavailable",
            "        data_tests: [alluvium.known_columns]",
        ]
    declared = json.dumps([column.name for column in sample.columns])
    keys = json.dumps(list(key))
    envelope = "" if sample.form in ("debezium", "mongodb") else ", envelope: false"
    return "\n".join(
        [
            "version: 2",
            "",
            "models:",
            f"  - name: {name}",
            "    config:",
            "      materialized: incremental",
            "      incremental_strategy: merge",
            "      file_format: delta",
            f"      unique_key: {keys}",
            "      meta:",
            "        alluvium_merge:",
            *settings,
            "        alluvium_layout:",
            f"          sort_by: {keys}",
            '      post_hook: "{{ alluvium.compact(this) }}"',
            "    data_tests:",
            f"      - alluvium.unique_key: {{arguments: {{columns: {keys}}}}}",
            "      - alluvium.rejected_share:",
            f"          arguments: {{events: ref('{bronze}'), max: 0.01}}",
            "      - alluvium.undeclared_fields:",
            f"          arguments: {{events: ref('{bronze}'), columns: {declared}{envelope}}}",
            *columns,
            "",
        ]
    )
