"""What Jinja sees of the adapter: dbt's metaclass collects it from the class and its bases."""

from __future__ import annotations

import re
from pathlib import Path

from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.alluvium.impl import AlluviumAdapter

# Called while dbt parses, as they stand.
AT_PARSE = {"bare", "identifiers", "is_retry", "literal", "stored_names"}
# While dbt parses, something stands in their place.
REPLACED = {
    "adopt",
    "append_stream",
    "at",
    "batch_query",
    "batch_window",
    "branch",
    "check_bucket_column",
    "check_delta",
    "check_layout",
    "check_named_columns",
    "check_no_stream",
    "checkout",
    "clone",
    "clone_with_progress",
    "compact",
    "condition_mistakes",
    "count_by",
    "diff",
    "discard",
    "explain_merge",
    "explain_read",
    "fsck",
    "give_types",
    "generate_feed",
    "given_vars",
    "has_begun",
    "index_files",
    "kept_as_built",
    "layout_mistakes",
    "layout_suggestions",
    "limited",
    "load_seed",
    "made_columns",
    "merge",
    "merge_branch",
    "merge_progress",
    "newest_batch",
    "note_built",
    "note_bronze",
    "note_clone",
    "once_had_batch",
    "one_batch",
    "partition_columns",
    "predicate_mistakes",
    "publish",
    "publish_untested",
    "recover",
    "restore",
    "run_with_retries",
    "setting_mistakes",
    "shown_by",
    "skipped_batches",
    "storage",
    "stream_mistakes",
    "stream_response",
    "sync_fields",
    "table_log",
    "tag",
    "untag",
    "vacuum",
    "values_of",
    "with_bucket_column",
    "with_fields",
    "write_window",
}


def test_what_jinja_sees() -> None:
    ours = AlluviumAdapter._available_ - SparkAdapter._available_
    assert ours == AT_PARSE | REPLACED
    assert SparkAdapter._available_ <= AlluviumAdapter._available_


def test_macros_call_what_jinja_sees() -> None:
    repo = Path(__file__).parents[3]
    called = {
        name
        for folder in ("macros", "src/dbt/include")
        for path in (repo / folder).rglob("*.sql")
        for name in re.findall(r"\badapter\.(\w+)\(", path.read_text())
    }
    assert len(called) > 50
    # dbt's own object for Jinja adds `dispatch`.
    assert called - {"dispatch"} <= AlluviumAdapter._available_


def test_what_stands_in_at_parse() -> None:
    found = AlluviumAdapter._parse_replacements_
    of_spark = SparkAdapter._parse_replacements_
    assert found.keys() - of_spark.keys() == REPLACED
    assert {name: found[name] for name in of_spark} == of_spark


def test_of_one_class_each() -> None:
    """No verb hides a method of another one, so their order says nothing."""
    verbs = [one for one in AlluviumAdapter.__mro__ if ".alluvium.verbs." in one.__module__]
    own = [name for one in verbs for name in vars(one) if not name.startswith("__")]
    ignored = {"_abc_impl", "_available_", "_parse_replacements_"}
    assert sorted(set(own) - ignored) == sorted(name for name in own if name not in ignored)
