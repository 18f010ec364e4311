"""Pure planning: no Spark, no JVM, no dbt, no input or output. See docs/architecture.md."""
