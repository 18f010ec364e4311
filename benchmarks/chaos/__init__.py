"""Rounds in which writers are killed and disturbed."""

import sys

from merging.home import REPOSITORY

# What tests and benchmarks share: `support`.
sys.path.append(str(REPOSITORY / "tests"))
