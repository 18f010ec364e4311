"""Log events, drawn from a seed: services after Zipf, and rows that arrive late."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

SERVICES, ZIPF = 200, 1.1
STATUSES = (200, 301, 404, 429, 500)
STATUS_SHARES = (0.90, 0.04, 0.03, 0.01, 0.02)
ENVS = ("prod", "staging", "test", "dev")
ENV_SHARES = (0.7, 0.15, 0.1, 0.05)
HOSTS = 2_000
# Microseconds since 1970: 2024-03-01, and how much time the rows of a file take to arrive.
START, FILE_TIME = 1_709_251_200_000_000, 60_000_000
# Most rows are this late on average, some of them far later (exponential, microseconds).
LATE, VERY_LATE, VERY_LATE_SHARE = 20_000_000, 3_600_000_000, 0.02
SORT_BY = ("service", "status", "env", "logged_at")
SCHEMA = pa.schema(
    [
        ("service", pa.string()),
        ("status", pa.int32()),
        ("env", pa.string()),
        ("logged_at", pa.timestamp("us", tz="UTC")),
        ("host", pa.string()),
        ("latency_ms", pa.int32()),
        ("message", pa.string()),
    ]
)
Numbers = npt.NDArray[np.int64]


def service_shares() -> npt.NDArray[np.float64]:
    """Of all rows, by rank."""
    weights = 1.0 / np.arange(1, SERVICES + 1) ** ZIPF
    shares: npt.NDArray[np.float64] = weights / weights.sum()
    return shares


def service_names() -> list[str]:
    """By rank: their order as texts says nothing of how often they come."""
    places = np.random.default_rng(0).permutation(SERVICES)
    return [f"service-{place:03}" for place in places]


def file_rows(seed: int, file: int, mean: int) -> int:
    """Half as many rows as the mean to half as many again."""
    return int(np.random.default_rng((seed, file, 0)).integers(mean // 2, mean + mean // 2 + 1))


@dataclass(frozen=True)
class Drawn:
    """Rows of a writer's file as numbers, in the order of their arrival.

    service, status, env: places in `service_names()`, STATUSES and ENVS.
    logged_at: microseconds since 1970.
    """

    service: Numbers
    status: Numbers
    env: Numbers
    logged_at: Numbers
    host: Numbers
    latency: Numbers
    trace: Numbers


def draw(seed: int, file: int, rows: int) -> Drawn:
    """The same seed and file give the same rows."""
    rng = np.random.default_rng((seed, file, 1))
    arrived = START + file * FILE_TIME + np.sort(rng.integers(0, FILE_TIME, rows))
    mean = np.where(rng.random(rows) < VERY_LATE_SHARE, VERY_LATE, LATE)
    return Drawn(
        service=rng.choice(SERVICES, rows, p=service_shares()),
        status=rng.choice(len(STATUSES), rows, p=STATUS_SHARES),
        env=rng.choice(len(ENVS), rows, p=ENV_SHARES),
        logged_at=arrived - rng.exponential(mean).astype(np.int64),
        host=rng.integers(0, HOSTS, rows),
        latency=rng.lognormal(3.0, 1.0, rows).astype(np.int64),
        trace=rng.integers(0, 2**62, rows),
    )


def events(seed: int, file: int, rows: int) -> pa.Table:
    """The rows of `draw` as a table."""
    drawn = draw(seed, file, rows)
    status = pa.array(np.array(STATUSES, dtype=np.int32)[drawn.status])
    columns = [
        pa.array(service_names()).take(pa.array(drawn.service)),
        status,
        pa.array(ENVS).take(pa.array(drawn.env)),
        pa.array(drawn.logged_at, pa.timestamp("us", tz="UTC")),
        pa.array([f"host-{one:04}" for one in range(HOSTS)]).take(pa.array(drawn.host)),
        pa.array(drawn.latency.astype(np.int32)),
        _joined("GET /items/", drawn.trace % 9973, " answered ", status, ", trace ", drawn.trace),
    ]
    return pa.table(columns, schema=SCHEMA)


def key_numbers(seed: int, file: int, rows: int) -> Numbers:
    """The sort keys of `draw` as numbers in the same order, for simulations without text.

    Times that are less than a tenth of a second apart are one.
    """
    drawn = draw(seed, file, rows)
    places = np.empty(SERVICES, dtype=np.int64)
    places[np.argsort(service_names())] = np.arange(SERVICES)
    env = np.argsort(np.argsort(ENVS))[drawn.env]
    buckets = (places[drawn.service] * len(STATUSES) + drawn.status) * len(ENVS) + env
    # Nothing is more than a month late.
    since = (drawn.logged_at - START + 31 * 86_400_000_000) // 100_000
    numbers: Numbers = (buckets << 28) + since
    return numbers


def arrived_at(file: int) -> float:
    """When a file is committed, in seconds since 1970: behind its last row."""
    return (START + (file + 1) * FILE_TIME) / 1e6


def _joined(*parts: object) -> pa.Array:
    texts = [
        part if isinstance(part, str) else pc.cast(pa.array(part), pa.string()) for part in parts
    ]
    return pc.binary_join_element_wise(*texts, "")
