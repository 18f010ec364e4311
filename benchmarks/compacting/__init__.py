"""What `benchmarks/compaction.py` is made of."""

import sys

from merging.home import REPOSITORY

# What tests and benchmarks share: `support`.
sys.path.append(str(REPOSITORY / "tests"))
