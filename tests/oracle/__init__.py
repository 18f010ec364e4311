"""What the tables must be, computed from the landed files without Spark and without our macros."""
