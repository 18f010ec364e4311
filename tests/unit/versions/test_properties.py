"""Which properties go along when files are published."""

from __future__ import annotations

import json

import pytest

from alluvium.plan.versions import properties

MODE = "delta.columnMapping.mode"
# The columns in which files keep the ids of rows.
TRACKED = {
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
}


def test_each_property_is_of_one_list() -> None:
    lists = [properties.CARRIED, properties.OWN, set(properties.REFUSED)]
    assert sum(map(len, lists)) == len(set().union(*lists))


def test_what_says_how_files_are_read_is_carried() -> None:
    source = {MODE: "name", "delta.checkpointInterval": "5", "delta.constraints.x": "a > 0"}
    own = {"delta.checkpointInterval": "50", "delta.constraints.old": "b > 0", "team": "birds"}
    assert properties.published({**source, "team": "fish"}, own) == {
        MODE: "name",
        "delta.constraints.x": "a > 0",
        "delta.checkpointInterval": "50",
        "delta.enableDeletionVectors": "true",
        "team": "birds",
    }
    assert "delta.appendOnly" not in properties.published({}, {"delta.appendOnly": "true"})


@pytest.mark.parametrize(
    ("source", "published", "said"),
    [
        ({"delta.enableRowTracking": "true"}, None, "delta.enableRowTracking is true"),
        (
            {"delta.enableRowTracking": "true", **TRACKED},
            None,
            "delta.enableRowTracking is true, which asks for ids of rows that only their own table"
            " keeps; accepted: to take that away by `alter table s.t drop feature rowTracking`",
        ),
        # As turning it off leaves a table.
        ({"delta.enableRowTracking": "false", **TRACKED}, None, "`alter table s.t drop feature ro"),
        (TRACKED, None, "`alter table s.t drop feature rowTracking`"),
        (
            {"delta.universalFormat.enabledFormats": "iceberg"},
            None,
            "metadata of Iceberg beside the log; accepted: to take that away by `alter table s.t"
            " unset tblproperties ('delta.universalFormat.enabledFormats')`",
        ),
        ({"delta.newThing": "1"}, None, "nothing is known of its property delta.newThing, so it"),
        ({"delta.newThing": "1"}, None, "by `alter table s.t unset tblproperties ('delta.newThi"),
        ({MODE: "name"}, {}, "went from none to name"),
        ({}, {MODE: "id"}, "went from id to none"),
    ],
)
def test_what_stops_a_publish(
    source: dict[str, str], published: dict[str, str] | None, said: str
) -> None:
    (mistake,) = properties.mistakes(source, published, "s.t")
    assert said in mistake


def test_what_the_config_may_not_say() -> None:
    own = {MODE: "name", "delta.enableRowTracking": "true", "delta.checkpointInterval": "5"}
    first, second = properties.own_mistakes(own)
    assert first == f"tblproperties: {MODE} comes with the files; accepted: it on the candidate"
    assert second.startswith("tblproperties: delta.enableRowTracking is true, which asks for")


def test_what_stops_none() -> None:
    usual = {"delta.enableRowTracking": "false", "delta.appendOnly": "true", "mine": "yes"}
    assert list(properties.mistakes({**usual, MODE: "name"}, None, "s.t")) == []
    assert list(properties.mistakes({MODE: "name"}, {MODE: "name"}, "s.t")) == []


def test_comments_are_of_the_published_table() -> None:
    def schema(**comments: str | None) -> str:
        fields = [
            {
                "name": name,
                "type": "long",
                "nullable": True,
                "metadata": {"delta.columnMapping.id": 1}
                | ({} if comment is None else {"comment": comment}),
            }
            for name, comment in comments.items()
        ]
        return json.dumps({"type": "struct", "fields": fields})

    source, own = schema(id="a candidate", ü=None, new="new"), schema(id="for readers", ü="ä")
    found = json.loads(properties.schema(source, own))
    said = {field["name"]: field["metadata"].get("comment") for field in found["fields"]}
    assert said == {"id": "for readers", "ü": "ä", "new": None}
    # What is the same stays as it is written.
    own = schema(id="for readers")
    assert properties.schema(schema(id="other"), own) is own
