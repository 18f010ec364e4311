"""`python -m alluvium.demo` is `alluvium-replay`."""

import sys

from alluvium.demo.cli import main

sys.exit(main())
