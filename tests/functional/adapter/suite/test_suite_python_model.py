"""dbt's public adapter suite: python_model."""

import pytest
from dbt.tests.adapter.python_model import test_python_model, test_spark


class TestPythonModelTests(test_python_model.BasePythonModelTests):
    pass


class TestPythonIncrementalTests(test_python_model.BasePythonIncrementalTests):
    pass


class TestPythonMetaGetTests(test_python_model.BasePythonMetaGetTests):
    pass


class TestPythonEmptyTests(test_python_model.BasePythonEmptyTests):
    pass


class TestPythonSampleTests(test_python_model.BasePythonSampleTests):
    pass


class TestPySparkTests(test_spark.BasePySparkTests):
    """Koalas became pandas-on-Spark in Spark 3.2: its model is built with that."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "pandas_df.py": test_spark.PANDAS_MODEL,
            "pyspark_df.py": test_spark.PYSPARK_MODEL,
            "pandas_on_spark_df.py": test_spark.PANDAS_ON_SPARK_MODEL,
            "koalas_df.py": test_spark.KOALAS_MODEL.replace("databricks.koalas", "pyspark.pandas"),
        }
