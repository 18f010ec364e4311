"""Hypothesis profiles; the default run takes Hypothesis' own `ci`, the same examples every time."""

from hypothesis import settings

# For the full run: new examples each time, and the line that reproduces a failure.
settings.register_profile(
    "search",
    settings.get_profile("ci"),
    derandomize=False,
    print_blob=True,
    database=settings.get_profile("default").database,
)
