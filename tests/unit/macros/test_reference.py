"""docs/reference is what the script makes, has every key and macro, and its defaults hold."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

import prose
import pytest
import reference
import yaml
from dbt.config.profile import DEFAULT_THREADS
from support.rendered import Macros, Node

from alluvium import schema
from alluvium.delta.published.published import RETENTION
from alluvium.engine import pools
from alluvium.ingest.spec import parse_spec
from alluvium.plan.layout.settings import parse_layout
from dbt.adapters.alluvium import reuse
from dbt.adapters.alluvium.credentials import AlluviumCredentials
from dbt.adapters.alluvium.verbs import reusing

RULES = schema.settings()
SAID = reference.texts()
GROUPS = ("model", "source", "var", "config")
SECTION = re.compile(r"^##+ (.+?)\n(.*?)(?=^## |\Z)", re.M | re.S)


def keys(rule: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each key of a schema and in it, with what it may be."""
    of_any = rule.get("additionalProperties")
    for key, inner in rule.get("properties", {}).items():
        yield f"{before}{key}", inner
        yield from keys(inner, f"{before}{key}.")
    if isinstance(of_any, dict) and "properties" in of_any:
        yield from keys(of_any, f"{before}<name>.")


def settings() -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Each setting: its name, what it may be, and what is said of it."""
    for group in GROUPS:
        for name, rule in RULES[group].items():
            said = SAID[group][name]
            yield name, rule, said
            for key, inner in keys(rule):
                yield f"{name}: {key}", inner, said["keys"][key]


def defaults(group: str, name: str) -> dict[str, Any]:
    """The values of a block that are said to hold where none is given."""
    found: dict[str, Any] = {}
    for key, said in SAID[group][name]["keys"].items():
        if "default" in said:
            *outer, last = key.split(".")
            block = found
            for one in outer:
                block = block.setdefault(one, {})
            block[last] = said["default"]
    return found


def page(name: str) -> str:
    return (reference.FOLDER / name).read_text()


def test_the_pages_are_what_the_script_makes() -> None:
    made = reference.pages(RULES)
    assert {path.name for path in reference.FOLDER.glob("*.md")} == made.keys()
    assert {name for name in made if page(name) != made[name]} == set(), "run: make reference"


def test_the_macros_of_the_schema_are_what_the_script_makes(compiled: Macros) -> None:
    assert reference.SCHEMA.read_text() == reference.macros(RULES), "run: make reference"
    written = reference.STREAM_OPTIONS.read_text()
    assert written == reference.stream_options(), "run: make reference"
    for_jinja = {group: rules for group, rules in RULES.items() if group != "profile"}
    assert compiled.settings_schema() | {"values": compiled.value_schemas()} == for_jinja


def test_each_key_of_the_schema_is_there() -> None:
    for group in GROUPS:
        assert SAID[group].keys() == RULES[group].keys()
        for name, rule in RULES[group].items():
            assert SAID[group][name].get("keys", {}).keys() == dict(keys(rule)).keys(), name
    rows = re.findall(
        r"^\| `(\S+?)` \| (.+) \| (.+) \| (.+) \| `.+: .+` \|$", page("settings.md"), re.M
    )
    shown = [key for key, *_ in rows]
    nested = [key for group in GROUPS for rule in RULES[group].values() for key, _ in keys(rule)]
    plain = [name for group in GROUPS for name, one in SAID[group].items() if "keys" not in one]
    assert sorted(shown) == sorted([*nested, *plain, *SAID["profile"]])
    for name, _, said in settings():
        assert {"default", "otherwise"} & said.keys() or "keys" in said, name
        assert not {"default", "otherwise"} <= said.keys(), name


def test_examples_and_defaults_are_accepted() -> None:
    for name, rule, said in settings():
        assert schema.mistakes(name, said["example"], rule) == [], name
        if "default" in said:
            assert schema.mistakes(name, said["default"], rule) == [], name


def test_defaults_of_a_merge(macros: Macros) -> None:
    told = defaults("model", "alluvium_merge")
    assert len(told) == 5
    assert macros.merge_settings(Node(told)) == macros.merge_settings(Node({"ranges": {"x": 1}}))


def test_defaults_of_a_layout_and_a_stream() -> None:
    told = defaults("model", "alluvium_layout")
    assert len(told) == 7
    assert parse_layout("m", {"sort_by": "a", **told}) == parse_layout("m", {"sort_by": "a"})
    one = {"format": "json", "path": "landing"}
    told = defaults("source", "alluvium_stream")
    assert told == {"min_rows": 1}
    assert parse_spec("raw.a", one | told) == parse_spec("raw.a", one)


def test_defaults_of_a_published_model() -> None:
    """The code asks for the other value of the two."""
    told = defaults("model", "alluvium_publish")
    assert {f"interval {told.pop('retention')}"} == set(RETENTION.values())
    assert told.pop("require") is False
    adapter = reference.REPO / "src/dbt/adapters/alluvium"
    code = "".join(path.read_text() for path in adapter.rglob("*.py"))
    for key, value in told.items():
        asked = set(re.findall(rf"\b{key}\W* [!=]= ['\"](\w+)", code))
        assert asked == set(RULES["model"]["alluvium_publish"]["properties"][key]["enum"]) - {value}


def test_defaults_of_vars(macros: Macros) -> None:
    assert SAID["var"]["alluvium_tiers"]["default"] == macros.tiers()
    told = defaults("var", "alluvium_tiers")["<name>"]
    known = inspect.signature(pools.use).parameters
    assert told == {key: known[key].default for key in ("weight", "min_share")}
    files = [*reference.MACROS.rglob("*.sql"), *(reference.REPO / "models").rglob("*.yml")]
    code = "".join(path.read_text() for path in files)
    for name, said in SAID["var"].items():
        asked = set(re.findall(rf"\bvar\('{name}', ([^()]+?)\)", code))
        if name == reuse.META:  # Python asks for it, and for the other value alone
            assert said["default"] is True
            assert "given_vars().get(reuse.META) is False" in inspect.getsource(reusing)
        elif isinstance(said.get("default"), bool):
            assert asked == {str(said["default"]).lower()}
        elif name == "alluvium_demo":
            assert asked == {"project_name == 'alluvium'"}


def test_keys_and_defaults_of_the_profile() -> None:
    told = {key: said.get("default") for key, said in SAID["profile"].items()}
    assert told.pop("schema") is None
    assert told.pop("threads") == DEFAULT_THREADS
    known = {field.name: field for field in fields(AlluviumCredentials)}
    assert told.keys() == known.keys() - {"database", "schema"}
    rules = RULES["profile"]["target"]["properties"].keys()
    assert rules - {"type", "threads"} == known.keys() - {"database"}
    for key, value in told.items():
        made = known[key].default_factory
        assert value == (known[key].default if made is MISSING else made())
    AlluviumCredentials.validate({key: said["example"] for key, said in SAID["profile"].items()
                                  if key != "threads"})  # fmt: skip


def public() -> dict[str, dict[str, Any]]:
    """The macros and data tests for projects, each with what YAML says of it."""
    files = [
        path for path in reference.MACROS.rglob("*.sql") if path.parent.name[0] != "_"
        and not {"_internal", "_stock"} & set(path.parts)
    ]  # fmt: skip
    known = reference.documented()
    return {
        name: known[name]
        for path in files
        for name in ["test_" * (path.parent.name == "generic_tests") + path.stem]
    }


def test_each_macro_is_there_with_an_example() -> None:
    names = {
        "operations.md": set(RULES["operation"]),
        "tests.md": set(RULES["test"]),
        "macros.md": {name for name in public() if not name.startswith("test_")}
        - set(RULES["operation"]),
    }
    assert all(len(some) > 5 for some in names.values())
    assert {f"test_{name}" for name in names["tests.md"]} == {
        name for name in public() if name.startswith("test_")
    }
    for file, expected in names.items():
        sections = dict(SECTION.findall(page(file)))
        assert set(sections) == expected
        for name, text in sections.items():
            assert re.search(rf"^```(sh|sql|yaml)\n(?:[^`]*\n)?.*alluvium\.{name}\b", text, re.M), (
                name
            )


def test_each_materialization_is_there_with_an_example() -> None:
    begins = re.compile(r"\{%-? materialization (\w+), adapter='(\w+)'")
    folders = (reference.MACROS, reference.REPO / "src/dbt/include")
    found = {
        one for folder in folders for path in folder.rglob("*.sql")
        for one in begins.findall(path.read_text())
    }  # fmt: skip
    said = SAID["materializations"]
    assert found == {(name, adapter) for name, one in said.items() for adapter in one["adapters"]}
    sections = dict(SECTION.findall(page("materializations.md")))
    assert [name for name, text in sections.items() if "```" in text] == list(said)


def test_each_argument_has_a_description() -> None:
    """In the signature's order, with the default where it is a value."""
    signatures = reference.signatures()
    for name, doc in public().items():
        arguments = {one["name"]: one["description"] for one in doc.get("arguments", [])}
        # Jinja has a word `from`, so it comes by the way of `kwargs`.
        named = [key for key in arguments if (name, key) != ("diff", "from")]
        assert named == list(signatures[name]), name
        for key, text in arguments.items():
            value = signatures[name].get(key, "")
            assert text.strip(), (name, key)
            if value not in ("", "none", "[]"):
                plain = value.strip("'")
                assert re.search(rf"Default `?{re.escape(plain)}`?\b", text), (name, key, value)


def test_what_is_said_in_tables_is_prose_too() -> None:
    """The check of the pages leaves tables out."""
    texts = [said["about"] for _, _, said in settings()]
    texts += [said["about"] for said in SAID["profile"].values()]
    texts += [one["description"] for doc in public().values() for one in doc.get("arguments", [])]
    assert len(texts) > 200
    for text in texts:
        found = prose.check(reference.FOLDER / "a.md", text).mistakes
        assert [one.said for one in found if not re.search("line of|ease of", one.said)] == [], text
        assert text.strip().endswith("."), text


def test_each_setting_of_ours_is_named_on_its_page() -> None:
    for group in ("model", "source", "var"):
        for name, said in SAID[group].items():
            told = (reference.REPO / f"docs/{said['page']}.md").read_text()
            for key in (name, *said.get("keys", {})):
                assert re.search(rf"\b{key.removeprefix('<name>.').split('.')[-1]}\b", told), key


def test_what_dbt_docs_shows_has_descriptions() -> None:
    counted = 0
    for folder in ("models", "python_models", "seeds"):
        for path in (reference.REPO / folder).rglob("*.yml"):
            known = yaml.safe_load(path.read_text())
            of_sources = [
                table for source in known.get("sources", []) for table in source["tables"]
            ]
            for node in [*known.get("models", []), *known.get("seeds", []), *of_sources]:
                described = [node, *node.get("columns", [])]
                assert [one["name"] for one in described if not one.get("description")] == []
                counted += len(described)
    assert counted > 250


@pytest.mark.parametrize(
    ("text", "prose", "examples"),
    [
        ("One.\nTwo (docs/a-b.md).", "One. Two ([a-b](../a-b.md)).", []),
        (
            "One.\n\n    {% raw %}a {{ b }}\n      c{% endraw %}\n\n    d\n\nTwo.\n",
            "One.\n\nTwo.",
            ["a {{ b }}\n  c", "d"],
        ),
    ],
)
def test_a_description_in_its_parts(text: str, prose: str, examples: list[str]) -> None:
    assert reference.split_description(text) == (prose, examples)
