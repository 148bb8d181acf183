"""The batch layer: a decision tree of MLlib (Meng et al. 2016)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfcperf.services.classifier.spark.columns import PREDICTION, VECTOR

if TYPE_CHECKING:
    from pyspark.ml.classification import DecisionTreeClassificationModel
    from pyspark.sql import DataFrame, SparkSession

MAX_BINS = 1024
"""As in the paper (section VI)."""
MAX_DEPTH = 30
"""The most that MLlib can."""
_SEED = 0
_TREE = "tree"
_LABELS = "labels.json"


class Model(NamedTuple):
    """A tree, and what its predictions mean."""

    tree: DecisionTreeClassificationModel
    labels: Sequence[str]


def train(
    spark: SparkSession,
    features: NDArray[np.int64],
    labels: NDArray[np.str_],
    weights: NDArray[np.float64],
    folder: Path,
) -> Mapping[str, Any]:
    """Write a model to the folder; gives its depth and its number of leaves."""
    from pyspark.ml.classification import DecisionTreeClassifier

    kinds, places = np.unique(labels, return_inverse=True)
    more = {"label": pa.array(places.astype(float)), "weight": pa.array(weights)}
    # Sums of weights depend on their order: one partition gives the same tree each time.
    examples = _vectors(spark, features, more).coalesce(1).cache()
    tree = DecisionTreeClassifier(
        featuresCol=VECTOR, weightCol="weight", maxBins=MAX_BINS, maxDepth=MAX_DEPTH, seed=_SEED
    ).fit(examples)
    examples.unpersist()
    # Not `save`, by which each executor writes to the disk of its own machine.
    tree._java_obj.write().saveToLocal(str(folder / _TREE))
    (folder / _LABELS).write_text(json.dumps(kinds.tolist()))
    return {"depth": tree.depth, "leaves": (tree.numNodes + 1) // 2}


def load(spark: SparkSession, folder: Path) -> Model:
    """What `train` wrote."""
    from pyspark.ml.classification import DecisionTreeClassificationModel

    java = _machine(spark).org.apache.spark.ml.classification.DecisionTreeClassificationModel
    tree = DecisionTreeClassificationModel(java.read().loadFromLocal(str(folder / _TREE)))
    # Columns that nobody reads, and that cost more than the prediction.
    tree.setRawPredictionCol("").setProbabilityCol("").setPredictionCol(PREDICTION)
    return Model(tree.setFeaturesCol(VECTOR), json.loads((folder / _LABELS).read_text()))


def predict(spark: SparkSession, model: Model, features: NDArray[np.int64]) -> list[str]:
    """The label of each row."""
    judged = model.tree.transform(_vectors(spark, features, {})).select(PREDICTION)
    return [model.labels[int(place)] for place in judged.toArrow()[PREDICTION].to_numpy()]


def _vectors(
    spark: SparkSession, features: NDArray[np.int64], more: Mapping[str, pa.Array]
) -> DataFrame:
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as f

    # Doubles, as the speed layer has them.
    values = pa.array(features.astype(np.float64).ravel())
    lists = pa.FixedSizeListArray.from_arrays(values, features.shape[1]).cast(
        pa.list_(pa.float64())
    )
    rows = spark.createDataFrame(pa.table({"row": lists, **more}))
    return rows.select(array_to_vector(f.col("row")).alias(VECTOR), *more)


def _machine(spark: SparkSession) -> Any:
    """What Python reaches the JVM's classes by."""
    return spark._jvm
