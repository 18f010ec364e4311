"""The pages of docs/reference: every setting, operation, macro, data test and materialization.

What is accepted is read from src/alluvium/settings.json, signatures from the macros. Descriptions
and examples are in the YAML beside them, the words about settings and materializations in
docs/reference/settings.yml. `make reference` writes the pages, and as macros the schema and the
names in src/alluvium/ingest/options.json.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import proven
import yaml
from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

from alluvium.ingest import options

REPO = Path(__file__).resolve().parents[1]
MACROS = REPO / "macros"
FOLDER = REPO / "docs/reference"
SCHEMA = MACROS / "_internal/config/settings_schema.sql"
STREAM_OPTIONS = MACROS / "_stock/streaming/stream_options.sql"
PREFIX = "dbt_macro__"
HELD = "\ue000"  # a space at which no line ends
MADE = "<!-- `make reference` writes this page: change what it is made from. -->\n"
Rule = Mapping[str, Any]


def macros(rules: Rule) -> str:
    """The file of macros that give the dbt package the schema: Jinja reads no other files.

    As JSON, which costs dbt less to compile than as Jinja.
    """
    groups = {key: of for key, of in rules.items() if key not in ("values", "profile")}
    settings = ",\n".join(f"{json.dumps(key)}: {_by_name(of)}" for key, of in groups.items())
    return (
        "{#- What each setting and argument may be: written by `make reference` from"
        " src/alluvium/settings.json. -#}\n"
        + _macro("_settings_schema", f"{{{settings}}}")
        + "\n\n{#- What a value may be, by names. -#}\n"
        + _macro("_value_schemas", _by_name(rules["values"]))
    )


def stream_options() -> str:
    """The macro that tells stock targets the parser's options with an effect, by format.

    No SQL of theirs reads a header, or a record that spans lines.
    """
    others = {*options.LISTING_OPTIONS, options.HEADER, options.MULTI_LINE}
    parsed = {
        fmt: [name for name in options.accepted(fmt, has_schema=True) if name not in others]
        for fmt in options.LINE_FORMATS
    }
    return (
        "{#- The parser's options with an effect, by format: written by `make reference` from"
        " src/alluvium/ingest/options.json. -#}\n" + _macro("_stream_options", _by_name(parsed))
    )


def _by_name(rules: Rule) -> str:
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rule)}" for name, rule in rules.items())
    return f"{{\n{lines}\n}}"


def _macro(name: str, text: str) -> str:
    return (
        f"{{% macro {name}() %}}\n{{%- set schema -%}}\n{text}\n{{%- endset -%}}\n"
        "{{ return(fromjson(schema)) }}\n{% endmacro %}\n"
    )


def texts() -> dict[str, Any]:
    """What is said of settings and materializations."""
    found: dict[str, Any] = yaml.safe_load((FOLDER / "settings.yml").read_text())
    return found


def inner_rules(rule: Rule, before: str = "") -> Iterator[tuple[str, Rule]]:
    """The keys of a mapping and of those in it, each with its rule."""
    more = rule.get("additionalProperties")
    if isinstance(more, Mapping) and "properties" in more:
        yield from inner_rules(more, f"{before}<name>.")
    for key, inner in (rule.get("properties") or {}).items():
        yield before + key, inner
        yield from inner_rules(inner, f"{before}{key}.")


def accepted(rule: Rule) -> str:
    if "enum" in rule:
        return ", ".join(f"`{value}`" for value in rule["enum"])
    if "properties" in rule:
        return "`false`, or " * ("false" in rule["type"]) + "a mapping of the keys below"
    said = str(rule["accepted"])
    return f"`{said}`" if said.startswith("{") else said


def shown(value: Any) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def default(said: Mapping[str, Any]) -> str:
    return f"`{shown(said['default'])}`" if "default" in said else str(said["otherwise"])


def table(head: str, rows: list[tuple[str, ...]]) -> str:
    names = head.split(", ")
    lines = [names, ["---"] * len(names), *(map(_cell, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def settings_page(rules: Rule) -> str:
    said = texts()
    page = f"""# Settings
{MADE}
Each setting with what is accepted, its default, its meaning and an example. `alluvium.validate`
checks them before the first statement of a run, and names every mistake.

- [Of a model](#settings-of-a-model), in its `meta`.
- [Of a source](#settings-of-a-source), in its `meta`.
- [Vars](#vars) of the project.
- [Keys of dbt's own](#keys-of-dbts-own) that a merge reads.
- [The profile](#the-profile) of an alluvium target.
"""
    for group, heading in (
        ("model", "Settings of a model"),
        ("source", "Settings of a source"),
        ("var", "Vars"),
        ("config", "Keys of dbt's own"),
    ):
        page += f"\n## {heading}\n" + _group(rules[group], said[group], group)
    known = rules["profile"]["target"]["properties"]
    rows = [
        (key, one.get("accepted") or accepted(known[key]), one)
        for key, one in said["profile"].items()
    ]
    example = {"type": "alluvium", **{key: one["example"] for key, one in said["profile"].items()}}
    page += "\n## The profile\nThe keys of a target with `type: alluvium`. `schema` is needed.\n"
    return page + _yaml({"outputs": {"dev": example}}) + "\n" + _settings(rows)


def _group(rules: Rule, said: Mapping[str, Any], group: str) -> str:
    meta = group in ("model", "source")
    plain = [(key, accepted(rules[key]), one) for key, one in said.items() if "keys" not in one]
    page = _settings(plain, links=True) if plain else ""
    for key, one in said.items():
        if "keys" not in one:
            continue
        known = dict(inner_rules(rules[key]))
        rows = [(name, accepted(known[name]), of) for name, of in one["keys"].items()]
        example = {key: one["example"]}
        page += f"\n### {key}\n{one['about']} See [{one['page']}](../{one['page']}.md).\n"
        if "properties" not in rules[key]:
            held = "this example" if one.get("default") == one["example"] else default(one)
            page += _wrapped(f"Accepted: {accepted(rules[key])}. Default: {held}.") + "\n"
        page += _yaml({"meta": example} if meta else {"vars": example}) + "\n" + _settings(rows)
    return page


def _yaml(value: Any) -> str:
    text = yaml.safe_dump(value, sort_keys=False, width=10_000, default_flow_style=None)
    return f"\n```yaml\n{text}```\n"


def _settings(rows: list[tuple[str, str, Any]], links: bool = False) -> str:
    """A table of settings; `links` where each of them has a page of its own."""
    return "\n" * links + table(
        "key, accepted, default, meaning, example",
        [
            (
                f"`{key}`",
                may_be,
                default(one),
                one["about"] + f" See [{one.get('page')}](../{one.get('page')}.md)." * links,
                f"`{key.rsplit('.', 1)[-1]}: {shown(one['example'])}`",
            )
            for key, may_be, one in rows
        ],
    )


@cache
def documented() -> dict[str, dict[str, Any]]:
    """What YAML says of each macro that dbt's docs show."""
    return {
        macro["name"]: macro
        for path in sorted(MACROS.rglob("*.yml"))
        for macro in yaml.safe_load(path.read_text())["macros"]
        if macro.get("docs", {}).get("show", True)
    }


@cache
def signatures() -> dict[str, dict[str, str]]:
    """The arguments of each macro and data test, each with its default as it is written."""
    found = {}
    for path in MACROS.rglob("*.sql"):
        for macro in get_environment(None).parse(path.read_text()).find_all(nodes.Macro):
            names = [argument.name for argument in macro.args]
            values = [""] * (len(names) - len(macro.defaults)) + [*map(_written, macro.defaults)]
            found[macro.name.removeprefix(PREFIX)] = dict(zip(names, values, strict=True))
    return found


def _written(default: Any) -> str:
    value = default.as_const()
    return repr(value) if isinstance(value, (str, list)) else str(value).lower()


def split_description(text: str) -> tuple[str, list[str]]:
    """What a description says, and its examples: what is indented."""
    text = re.sub(r"\{% (end)?raw %\}", "", text)
    prose, examples = [], []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.splitlines()
        if all(line.startswith("    ") for line in lines):
            examples.append("\n".join(line[4:] for line in lines))
        else:
            prose.append(_wrapped(block))
    return "\n\n".join(prose), examples


def _wrapped(text: str) -> str:
    """As lines of a page, with links to other pages; code stays on a line."""
    text = re.sub(r"\bdocs/([\w-]+)\.md", r"[\1](../\1.md)", " ".join(text.split()))
    text = re.sub("`[^`]+`", lambda code: code[0].replace(" ", HELD), text)
    lines = textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)
    return lines.replace(HELD, " ")


def _fenced(examples: Iterable[str]) -> str:
    """Examples, those of a language in one block."""
    by_language: dict[str, list[str]] = {}
    for one in examples:
        language = "sh" if one.startswith("dbt ") else "sql" if "{{" in one else "yaml"
        by_language.setdefault(language, []).append(one)
    return "".join(
        f"\n```{language}\n" + "\n".join(some) + "\n```\n" for language, some in by_language.items()
    )


def _macros_page(names: list[str], rules: Rule, title: str, about: str, prefix: str = "") -> str:
    known, given = documented(), signatures()
    page = f"# {title}\n{MADE}\n{_wrapped(about)}\n"
    for name in sorted(names):
        doc, rule = known[prefix + name], rules.get(name, {})
        may_be = {key: accepted(one) for key, one in rule.get("properties", {}).items()}
        said, examples = split_description(doc["description"])
        page += f"\n## {name}\n{said}\n"
        arguments = doc.get("arguments", [])
        if not prefix:
            needed = rule.get("required", ())
            defaults = {key: given[name].get(key) for key in given[name] if key not in needed}
            written = (
                f"{key}={defaults[key]}" if defaults.get(key) else key
                for key in (one["name"] for one in arguments)
            )
            page += f"\n```\nalluvium.{name}({', '.join(written)})\n```\n"
        page += _fenced(examples)
        if arguments:
            page += "\n" + table(
                "argument, accepted, meaning",
                [
                    (
                        f"`{one['name']}`",
                        may_be.get(one["name"], one["type"]),
                        _wrapped(one["description"]),
                    )
                    for one in arguments
                ],
            )
    return page.replace("named as for `new_events`", "[named](macros.md#new_events) as usual")


def macro_names(rules: Rule) -> list[str]:
    """The public macros that are neither operations nor data tests."""
    return [
        name
        for name in documented()
        if name not in rules["operation"] and not name.startswith("test_")
    ]


def materializations_page() -> str:
    page = f"# Materializations\n{MADE}\nWhat `materialized` of a model may be, beside dbt's own.\n"
    for name, one in texts()["materializations"].items():
        targets = " and ".join(f"`{adapter}`" for adapter in one["adapters"])
        said = f"{one['about']} Targets: {targets}. See docs/{one['page']}.md."
        page += f"\n## {name}\n{_wrapped(said)}\n{_fenced([one['example'].strip()])}"
    return page


def pages(rules: Rule) -> dict[str, str]:
    """Each page by the name of its file."""
    return {
        "settings.md": settings_page(rules),
        "operations.md": _macros_page(
            list(rules["operation"]),
            rules["operation"],
            "Operations",
            "What `dbt run-operation alluvium.<name>` does."
            " `compact`, `index` and `vacuum` are post-hooks too."
            " What nothing brings back is a dry run by default.",
        ),
        "macros.md": _macros_page(
            macro_names(rules), {}, "Macros", "Macros for models, snapshots, tests and hooks."
        ),
        "tests.md": _macros_page(
            list(rules["test"]),
            rules["test"],
            "Data tests",
            "Tests for the YAML of a model or a column.",
            prefix="test_",
        ),
        "materializations.md": materializations_page(),
        "targets.md": proven.page(MADE),
    }
