"""K-means fitted by Spark's own library, as SOON does it: several jobs, seconds each."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium.plan.ranges.kmeans import SEED, Fit


def fit_in(session: SparkSession) -> Fit:
    """A fit that runs in this session; see `alluvium.plan.ranges.kmeans`."""

    def fit(
        features: npt.NDArray[np.float64], weights: npt.NDArray[np.int64], k: int
    ) -> npt.NDArray[np.float64]:
        from pyspark.ml.clustering import KMeans
        from pyspark.ml.feature import VectorAssembler

        rows = session.createDataFrame(
            pa.table({"feature": features, "weight": weights.astype(np.float64)})
        )
        vectors = VectorAssembler(inputCols=["feature"], outputCol="features").transform(rows)
        model = KMeans(k=k, weightCol="weight", seed=SEED).fit(vectors)
        return np.concatenate(model.clusterCenters())

    return fit
