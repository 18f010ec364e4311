"""SQL reaches Spark as it was written: literals, comments, descriptions, hooks and seeds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from dbt.tests.util import read_file, run_dbt
from functional import delta_rs
from pyspark.sql import SparkSession

from alluvium.engine.statements import statements
from alluvium.names import literal

NASTY = [
    "", " ", "'", "''", '"', "`", "\\", "\\\\", "\\'", "'\\", "\\n", "a\nb\r\n\tc", "\0", "\\0",
    "${name}", "$${system:user.name}", "$", "$'{x}", "\\${x}", "%s ? :name", "{{ x }}", ";",
    "{% y %}", "a -- b; c", "/* d; */ /*+ e */", "é 😀 \u2028 \u0130", "\\u0041 \\101 \\%",
    "it's \"x\" \\ ${y}",
]  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize("escaped", ["false", "true"])
@pytest.mark.parametrize("substitutes", ["false", "true"])
def test_a_literal_is_read_as_its_text(spark: SparkSession, escaped: str, substitutes: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    session.conf.set("spark.sql.variable.substitute", substitutes)
    literals = [literal(text) for text in NASTY]
    if escaped == "false":
        assert list(session.sql(f"select {', '.join(literals)}").first() or ()) == NASTY
    names = [f"c{place}" for place in range(len(NASTY))]
    columns = [f"{name} comment {text}" for name, text in zip(names, literals, strict=True)]
    session.sql(
        f"create or replace temporary view v ({', '.join(columns)})"
        f" as select {', '.join(['1'] * len(NASTY))}"
    )
    read = [session.table("v").schema[name].metadata.get("comment") for name in names]
    assert read == NASTY


@pytest.mark.spark
@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("select 1", ["select 1"]),
        (" select 1 ; ", ["select 1"]),
        ("set a = 1;\nselect 2;", ["set a = 1", "select 2"]),
        ("select ';' as `a;b`, \";\" -- ; no\n/* ; */", None),
        ("select 'it\\'s; fine'", None),
        ("select 'it''s; fine', 'a' ';'", None),
        ("select r'a\\'; select R\"b\\\"", ["select r'a\\'", 'select R"b\\"']),
        ("select /* a /* b; */ c; */ 1; select /*+ d */ 2", ["select /* a /* b; */ c; */ 1",
                                                             "select /*+ d */ 2"]),
        ("/* dbt; */ set a=1; -- last; \nselect 'x;y'",
         ["/* dbt; */ set a=1", "-- last; \nselect 'x;y'"]),
        ("begin\n select 1;\n select 2;\nend", None),
        ("/* c */ BEGIN\n select 1;\nend;", None),
        ("set a = 1; begin select ';'; end", ["set a = 1", "begin select ';'; end"]),
        ("-- only a comment;", ["-- only a comment;"]),
        ("select 1; -- done", ["select 1"]),
        ("select '😀;' ; select 'é'", ["select '😀;'", "select 'é'"]),
        ("set a = é; select 1", ["set a = é", "select 1"]),
        # Spark says what is wrong with these, before a part of them has run.
        ("insert into t values (1); select 'no end ;", None),
        ("insert into t values (1); /* no end ; */ */ /* ;", None),
        ("select a-b;select c/d", ["select a-b", "select c/d"]),
        ("select a--x;\n;select 2", ["select a--x;", "select 2"]),
        (";; ;select 1;;", ["select 1"]),
        ("", [""]),
    ],
)  # fmt: skip
def test_statements(spark: SparkSession, sql: str, found: list[str] | None) -> None:
    assert statements(spark, sql) == (found if found is not None else [sql])


TEXT = 'in ${currency}; it\'s "a" \\new C:\\dir `t` -- /* x */ ${system:user.name} %s é😀'
LONG = "first line;\n  second ${env:HOME}\n" + "x" * 3000
CHECK = "template <> 'a;b ${name}' -- why; not"
LETTERS = r"""
{{ config(materialized='table', persist_docs={'relation': true, 'columns': true},
    contract={'enforced': true}, tblproperties={"it's": "${env:HOME}; \\ '"},
    sql_header="declare or replace variable who string default 'a;${b}'; select r'\\';",
    pre_hook="create or replace table {{ this }}_log as select 'x;${x}' as v; -- done;",
    post_hook="insert into {{ this }}_log values (r'\\'), ('it\\'s; ${y}'); /* ; */ select 1") }}
select 'Dear ${name}' as template, r'C:\d;${x}' as `raw`, /* a /* b; */ c; */ who as who -- ${z};
"""
SCHEMA = yaml.safe_dump(
    {
        "models": [
            {
                "name": "letters",
                "description": TEXT,
                "constraints": [{"type": "check", "name": "rule", "expression": CHECK}],
                "columns": [
                    {"name": "template", "data_type": "string", "description": LONG},
                    {"name": "raw", "data_type": "string", "description": TEXT},
                    {"name": "who", "data_type": "string"},
                ],
            },
            {
                "name": "seen",
                "description": TEXT,
                "columns": [{"name": "v", "description": LONG.strip()}],
                "config": {"persist_docs": {"relation": True, "columns": True}},
            },
            {"name": "grown", "columns": [{"name": "v", "description": TEXT}],
             "config": {"persist_docs": {"columns": True}}},
        ],
        "seeds": [
            {
                "name": "texts",
                "description": TEXT,
                "config": {"persist_docs": {"relation": True, "columns": True},
                           "column_types": {"v": "string"}},
                "columns": [{"name": "v", "description": TEXT}],
            }
        ],
        "snapshots": [
            {"name": "history", "relation": "ref('letters')", "description": TEXT,
             "config": {"unique_key": "`raw`", "strategy": "check", "check_cols": "all",
                        "persist_docs": {"relation": True}}}
        ],
        "unit_tests": [
            {
                "name": "keeps",
                "model": "seen",
                "given": [{"input": "ref('texts')", "rows": [{"v": TEXT}, {"v": "\\"}]},
                          {"input": "ref('nested')", "rows": [{"l": "array('it''s', r'a\\b')"}]}],
                "expect": {"rows": [{"v": TEXT, "l": "array('it''s', r'a\\b')"},
                                    {"v": "\\", "l": "array('it''s', r'a\\b')"}]},
            }
        ],
    }
)  # fmt: skip


@contextmanager
def _hive_log(session: SparkSession) -> Iterator[Any]:
    """What Hive's metastore says of calls that it repeats, as a `java.io.StringWriter`."""
    jvm = session._jvm
    log4j = jvm.org.apache.logging.log4j
    name = "org.apache.hadoop.hive.metastore.RetryingHMSHandler"
    logger = log4j.LogManager.getContext(False).getLogger(name)
    written = jvm.java.io.StringWriter()
    layout = log4j.core.layout.PatternLayout.createDefaultLayout()
    appender = log4j.core.appender.WriterAppender.createAppender(
        layout, None, written, "written", False, True
    )
    appender.start()
    logger.addAppender(appender)
    try:
        yield written
    finally:
        logger.removeAppender(appender)


@pytest.mark.spark
class TestTexts:
    """One project whose every text holds what SQL, Spark or dbt might take for something else."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "letters.sql": LETTERS,
            "nested.sql": "select array('a') as l",
            "seen.sql": "select v, l from {{ ref('texts') }} cross join {{ ref('nested') }}",
            "grown.sql": "{{ config(materialized='incremental',"
            " sql_header=\"declare variable few string default '${x};';\") }}"
            " select v from {{ ref('texts') }} where v <> few -- ;",
            "schema.yml": SCHEMA,
        }

    @pytest.fixture(scope="class")
    def seeds(self):
        quoted = TEXT.replace('"', '""')
        return {"texts.csv": f'v\n"{quoted}"\n"a;\n\'${{b}}\\"\n'}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "query-comment": {"comment": "models/*.sql; it's ${env:HOME}", "append": True},
            "on-run-end": "select 'a;b'; select '${c}' -- ;",
        }

    def test_all_arrive(self, project, home):
        with _hive_log(SparkSession.active()) as log:
            run_dbt(["build"])
            run_dbt(["run", "--select", "grown", "seen"])  # what is there is compared
        # Hive is asked again after a refusal of a long comment. By itself it would wait two seconds
        # each time, ten times; its waits together are shorter here than one of those.
        waits = re.findall(r"Retrying HMSHandler after (\d+) ms", log.toString())
        assert 0 < sum(map(int, waits)) < 2_000, waits

        def rows(sql):
            return [tuple(row) for row in project.run_sql(sql, fetch="all")]

        assert rows("select * from {schema}.letters") == [("Dear ${name}", "C:\\d;${x}", "a;${b}")]

        def texts(table):
            found = delta_rs.read(home, f"select v from {project.test_schema}.{table}")
            return sorted(found["v"])

        assert texts("letters_log") == ["\\", "it's; ${y}", "x;${x}"]
        assert texts("texts") == sorted(set(texts("grown"))) == ["a;\n'${b}\\", TEXT]
        properties = dict(rows("show tblproperties {schema}.letters"))
        assert properties["it's"] == "${env:HOME}; \\ '"
        assert properties["delta.constraints.rule"].startswith("template <> 'a;b ${name}'")
        with pytest.raises(Exception, match="DELTA_VIOLATE_CONSTRAINT"):
            project.run_sql("insert into {schema}.letters values ('a;b ${{name}}', 'x', 'y')")

        run_dbt(["docs", "generate"])
        nodes = json.loads(read_file("target", "catalog.json"))["nodes"]
        letters = nodes["model.test.letters"]
        assert letters["metadata"]["comment"] == TEXT
        assert letters["columns"]["template"]["comment"] == LONG
        assert letters["columns"]["raw"]["comment"] == TEXT
        assert nodes["model.test.seen"]["metadata"]["comment"] == TEXT
        assert nodes["model.test.seen"]["columns"]["v"]["comment"] == LONG.strip()
        assert nodes["model.test.grown"]["columns"]["v"]["comment"] == TEXT
        assert nodes["seed.test.texts"]["metadata"]["comment"] == TEXT
        assert nodes["seed.test.texts"]["columns"]["v"]["comment"] == TEXT
        assert nodes["snapshot.test.history"]["metadata"]["comment"] == TEXT
