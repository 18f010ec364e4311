"""Scans whose tasks read whole files."""

# Bytes, more than any file has. Spark splits no file that is smaller than the cost of opening one,
# and two that cost that much never share a partition.
LARGEST = str(1 << 40)

WHOLE_FILES = {
    "spark.sql.files.maxPartitionBytes": LARGEST,
    "spark.sql.files.openCostInBytes": LARGEST,
}
"""Spark settings by which a file is never split, and a partition has one file."""
