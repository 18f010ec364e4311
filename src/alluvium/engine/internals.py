"""Classes of Spark that Python asks for by name, and what it calls of them.

Spark promises few of them from version to version. `test_internals.py` looks for all of it in the
jars. Those of Delta are in `alluvium.delta.internals`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Internal:
    """A class of the JVM; one whose name ends with `$` stands for the Scala `object` itself.

    Attributes:
        name: with its package.
        members: its static methods and fields that are used, or those of the `object`. As
            `fromJson(String)`, parameters by their types without packages; `new` is a constructor.
    """

    name: str
    members: tuple[str, ...] = ()


def _of(package: str, name: str, *members: str) -> Internal:
    return Internal(f"{package}.{name}", members)


_SPARK = "org.apache.spark"
_SQL = f"{_SPARK}.sql"
_CATALYST = f"{_SQL}.catalyst"
_PARSER = f"{_CATALYST}.parser"
_ANTLR = "org.antlr.v4.runtime"

ATTRIBUTE_SET = _of(_CATALYST, "expressions.AttributeSet$", "apply(Iterable)")
CAST = _of(_CATALYST, "expressions.Cast", "canANSIStoreAssign(DataType, DataType)")
CATALOG_TABLE_TYPE = _of(_CATALYST, "catalog.CatalogTableType$", "MANAGED()")
CHAR_STREAMS = _of(_ANTLR, "CharStreams", "fromString(String)")
COMMAND_EXECUTION_MODE = _of(_SQL, "execution.CommandExecutionMode$", "SKIP()")
COMPUTE_CURRENT_TIME = _of(_CATALYST, "optimizer.ComputeCurrentTime$", "apply(LogicalPlan)")
CSV_OPTIONS = _of(_CATALYST, "csv.CSVOptions", "new(Map, boolean, String)")
CSV_PARSER = _of("com.univocity.parsers.csv", "CsvParser", "new(CsvParserSettings)")
DATASET = _of(_SQL, "classic.Dataset$", "ofRows(SparkSession, LogicalPlan)")
DATA_TYPE = _of(_SQL, "types.DataType", "fromJson(String)")
EXPRESSION_UTILS = _of(_SQL, "classic.ExpressionUtils$", "column(Expression)", "expression(Column)")
FUNCTIONS = _of(_SQL, "functions")  # public, as `DATA_TYPE`, `OUTPUT_MODE` and `STORAGE_LEVEL`
HADOOP_FS_RELATION = _of(_SQL, "execution.datasources.HadoopFsRelation")
INJECT_RUNTIME_FILTER = _of(_CATALYST, "optimizer.InjectRuntimeFilter")
JSON_OPTIONS = _of(_CATALYST, "json.JSONOptions", "new(Map, String, String)")
LITERAL = _of(_CATALYST, "expressions.Literal", "new(Object, DataType)")
OUTPUT_MODE = _of(_SQL, "streaming.OutputMode", "Append()")
PARTITION_PRUNING = _of(_SQL, "execution.dynamicpruning.PartitionPruning")
PHYSICAL_OPERATION = _of(_CATALYST, "planning.PhysicalOperation$", "unapply(LogicalPlan)")
POOL = _of(_SPARK, "scheduler.Pool", "new(String, Enumeration$Value, int, int)")
PROJECT = _of(_CATALYST, "plans.logical.Project", "new(Seq, LogicalPlan)")
PYTHON_UTILS = _of(_SPARK, "api.python.PythonUtils", "toScalaMap(Map)")
SCHEDULING_MODE = _of(_SPARK, "scheduler.SchedulingMode", "FAIR()")
SQL_LEXER = _of(
    _PARSER, "SqlBaseLexer", "new(CharStream)", "BEGIN", "SEMICOLON", "UNRECOGNIZED"
)  # fmt: skip
SQL_METRICS = _of(_SQL, "execution.metric.SQLMetrics", "createMetric(SparkContext, String)")
STORAGE_LEVEL = _of(_SPARK, "storage.StorageLevel", "MEMORY_AND_DISK()")
TABLE_IDENTIFIER = _of(_CATALYST, "TableIdentifier", "new(String, Option)")
TOKEN_STREAM = _of(_ANTLR, "CommonTokenStream", "new(TokenSource)")
TREE_PATTERN = _of(
    _CATALYST, "trees.TreePattern$", "CURRENT_LIKE()", "PLAN_EXPRESSION()", "PYTHON_UDF()"
)
UNSUPPORTED_OPERATIONS = _of(
    _CATALYST,
    "analysis.UnsupportedOperationChecker",
    "checkForStreaming(LogicalPlan, OutputMode)",
)
UPPER_CASE_STREAM = _of(_PARSER, "UpperCaseCharStream", "new(CodePointCharStream)")

# What Delta asks a session to be set to.
DELTA_CATALOG = _of(_SQL, "delta.catalog.DeltaCatalog")
DELTA_EXTENSION = _of("io.delta.sql", "DeltaSparkSessionExtension")
