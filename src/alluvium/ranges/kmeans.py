"""K-means on one column, after the procedure that Coinbase published for SOON (part 2, 2023):
sanitise → features → fit → bucket → min and max per cluster.

`points.make_points` sanitises, and whoever holds all rows takes min and max of every bucket, so
the ranges are exact whatever sample the fit saw.
"""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from alluvium.ranges.points import Points, positions

_SEED = 0


def kmeans_cuts(points: Points, k: int, sample_rows: int) -> npt.NDArray[np.int64]:
    """Indices of the values that open the second, third, … cluster of at most `k`."""
    features = normalise(positions(points.values))
    return bucket(features, fit(*sample(features, points.counts, sample_rows), k))


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
    chosen = np.random.default_rng(_SEED).choice(len(features), sample_rows, replace=False)
    return features[chosen], counts[chosen]


def fit(
    features: npt.NDArray[np.float64], weights: npt.NDArray[np.int64], k: int
) -> npt.NDArray[np.float64]:
    """The sorted centres of at most `k` clusters."""
    clusters = min(k, len(np.unique(features)))
    model = KMeans(n_clusters=clusters, n_init=4, random_state=_SEED)
    with warnings.catch_warnings():
        # Features that differ by a rounding error may end in fewer clusters, which is fine.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features.reshape(-1, 1), sample_weight=weights.astype(np.float64))
    return np.sort(model.cluster_centers_.ravel())


def bucket(
    features: npt.NDArray[np.float64], centres: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Where the nearest centre changes; empty clusters vanish."""
    borders = (centres[1:] + centres[:-1]) / 2
    cuts = np.unique(np.searchsorted(features, borders, side="right"))
    return cuts[(cuts > 0) & (cuts < len(features))]
