"""K-means on one column, after the procedure that Coinbase published for SOON (part 2, 2023):
sanitise → features → fit → bucket → min and max per cluster → denormalise.

`points.make_points` sanitises. `normalise` makes features, `fit` finds the centres, `bucket` gives
every value its nearest one. Whoever holds all rows takes min and max of every bucket, so the ranges
are exact whatever sample the fit saw. These are values, not features. So nothing has to be computed
back (denormalised), and no rounding can narrow a range.
"""

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from alluvium.plan.ranges.points import Points, positions

SEED = 0
_one_fit = threading.Lock()
# From features, their weights and the number of clusters to the centres.
Fit = Callable[[npt.NDArray[np.float64], npt.NDArray[np.int64], int], npt.NDArray[np.float64]]


def kmeans_cuts(points: Points, k: int, sample_rows: int, fit: Fit) -> npt.NDArray[np.int64]:
    """Indices of the values that open the second, third, … cluster of at most `k`."""
    features = normalise(positions(points.values))
    chosen, weights = sample(features, points.counts, sample_rows)
    return bucket(features, np.sort(fit(chosen, weights, min(k, len(np.unique(chosen))))))


def normalise(places: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Features from 0 to 1 in the order of the values."""
    offsets = (places - places[0]).astype(np.float64)
    return np.asarray(offsets / (offsets[-1] or 1.0), dtype=np.float64)


def sample(
    features: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], sample_rows: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """At most `sample_rows` distinct values, each with its number of rows as weight."""
    if len(features) <= sample_rows:
        return features, counts
    chosen = np.random.default_rng(SEED).choice(len(features), sample_rows, replace=False)
    return features[chosen], counts[chosen]


def fit_sklearn(
    features: npt.NDArray[np.float64], weights: npt.NDArray[np.int64], k: int
) -> npt.NDArray[np.float64]:
    """The centres of at most `k` clusters, by scikit-learn."""
    from joblib import cpu_count
    from sklearn.cluster import KMeans  # takes a second to import
    from sklearn.exceptions import ConvergenceWarning

    model = KMeans(n_clusters=k, n_init=4, random_state=SEED)
    # Filters are of the whole process: the fit of another thread would put back the wrong ones.
    with _one_fit, warnings.catch_warnings():
        # Where joblib cannot count the cores it warns and prints a stack, once. As an error the
        # warning comes alone, and nobody is told.
        warnings.filterwarnings("error", "Could not find the number of physical cores")
        with suppress(UserWarning):
            cpu_count(only_physical_cores=True)
        # Features that differ by a rounding error may end in fewer clusters, which is fine.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features.reshape(-1, 1), sample_weight=weights.astype(np.float64))
    return np.asarray(model.cluster_centers_.ravel(), dtype=np.float64)


def bucket(
    features: npt.NDArray[np.float64], centres: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Where the nearest centre changes; empty clusters vanish."""
    borders = (centres[1:] + centres[:-1]) / 2
    cuts = np.unique(np.searchsorted(features, borders, side="right"))
    return cuts[(cuts > 0) & (cuts < len(features))]
