"""The oracle is helper code of the tests: `from oracle.flights import …`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
