"""Values of settings beside a JSON Schema that says what they may be: every mistake, in words.

`settings.json` beside this module is the one source: a JSON Schema for each setting and argument.
Three keys of it are for people. `accepted` is what a message says of a value, `missing` what it
says of one that is not there. A `secret` is never shown. Types beyond JSON's are `false`, and
`moment`, a date that may have a time. To be short, a text stands for one of `values`, and `like`
begins with one. `make reference` writes it out for the dbt package. The options of readers are in
the same form: `ingest/options.json`.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from alluvium.names import did_you_mean

_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?)?"
)


@cache
def settings() -> dict[str, Any]:
    """The rules by kind (`model`, `source`, `var`, `operation`, …) and name, all written out."""
    return read(Path(__file__).with_name("settings.json"))


def read(file: Path) -> dict[str, Any]:
    """Groups of rules by name, all written out."""
    groups: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return {
        group: {name: _written_out(rule, groups["values"]) for name, rule in rules.items()}
        for group, rules in groups.items()
    }


def _written_out(rule: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """A rule without the names of others; a mapping refuses other keys, a choice is told."""
    if isinstance(rule, str):
        rule = {"like": rule}
    found = _written_out(values[rule["like"]], values) if "like" in rule else {}
    if "properties" in rule:
        found |= {"type": "object", "required": [], "additionalProperties": False}
    for key, value in rule.items():
        if key == "properties":
            found[key] = {name: _written_out(inner, values) for name, inner in value.items()}
        elif key == "anyOf":
            found[key] = [_written_out(one, values) for one in value]
        elif key in ("items", "additionalProperties"):
            found[key] = _written_out(value, values)
        elif key != "like":
            found[key] = value
    if "enum" in rule:
        found["accepted"] = ", ".join(rule["enum"])
    return found


def mistakes(where: str, value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Every mistake in a value, each a line that begins with `where`; none where it is accepted.

    Args:
        where: what holds the value, such as ``orders: meta.alluvium_merge``.
        value: as YAML, `config()` or `--vars` gave it.
        schema: what it may be.
    """
    found: list[str] = []
    for error in _Validator(dict(schema)).iter_errors(value):
        # A mapping without two keys, or with two that nobody knows, is two errors or one.
        found += [line for line in _lines(where, value, schema, error) if line not in found]
    return found


def right(block: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping less what is not as its schema says, in mappings inside it too; else an empty one.

    Rules across keys look at these values: a wrong one hides no mistake, and makes no second one.
    """
    found: dict[str, Any] = {}
    for key, value in block.items() if isinstance(block, Mapping) else ():
        rule = (schema.get("properties") or {}).get(key, schema["additionalProperties"])
        if rule and rule.get("type") == "object" and isinstance(value, Mapping):
            found[key] = right(value, rule)
        elif rule and not mistakes(key, value, rule):
            found[key] = value
    return found


def shown(value: Any) -> str:
    """A value for a message, as JSON."""
    return json.dumps(value, default=str)


def is_moment(value: Any) -> bool:
    """Whether a value is a day of the calendar, and maybe a time of it: a text, or YAML's date."""
    match = _MOMENT.fullmatch(str(value))
    if match is None or not isinstance(value, (str, datetime.date)):
        return False
    try:
        datetime.date.fromisoformat(match[1])
    except ValueError:
        return False
    return True


def _lines(
    where: str, value: Any, schema: Mapping[str, Any], error: ValidationError
) -> Iterator[str]:
    place, at, rule = where, value, schema
    for key in error.absolute_path:
        inner = (rule.get("properties") or {}).get(key, rule.get("additionalProperties"))
        if not isinstance(inner, Mapping):
            break  # an item of a list: the list is what is not accepted
        place, at, rule = f"{place}.{key}", at[key], inner
    properties = rule.get("properties") or {}
    if error.validator == "additionalProperties":
        for key in at:
            if key not in properties:
                yield (
                    f"{place}: unknown key {key}; accepted: {', '.join(properties)}"
                    f"{did_you_mean(key, properties)}"
                )
    elif error.validator == "required":
        for key in rule["required"]:
            if key not in at:
                said = properties[key].get("missing") or properties[key]["accepted"]
                yield f"{place}.{key}: missing; accepted: {said}"
    elif rule.get("secret"):
        yield f"{place}: accepted: {rule['accepted']}"
    elif error.validator == "type" and ("properties" in rule or "additionalProperties" in rule):
        said = f" keys: {', '.join(properties)}" if properties else f": {rule['accepted']}"
        yield f"{place}: {shown(at)} is not a mapping; accepted{said}"
    else:
        yield f"{place}: {shown(at)} is not accepted; accepted: {rule['accepted']}"


_types = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "object": lambda _, value: isinstance(value, Mapping),
        "array": lambda _, value: isinstance(value, list | tuple),
        "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
        "false": lambda _, value: value is False,
        "moment": lambda _, value: is_moment(value),
    }
)
_Validator = extend(Draft202012Validator, type_checker=_types)
