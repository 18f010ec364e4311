"""Rounds in which writers are killed and disturbed."""

import sys

from merging.home import REPOSITORY

# The places of rows on a Z-curve are counted as the tests do.
sys.path.append(str(REPOSITORY / "tests"))
