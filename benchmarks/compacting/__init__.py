"""What `benchmarks/compaction.py` is made of."""

import sys

from merging.home import REPOSITORY

# The simulation of a bucket, and the file system that counts, are those of the tests.
sys.path.append(str(REPOSITORY / "tests"))
