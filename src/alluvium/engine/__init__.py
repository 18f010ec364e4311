"""The embedded engine: Java, versions and jars; everything that must be right before Spark starts."""
