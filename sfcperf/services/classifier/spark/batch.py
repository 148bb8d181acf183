"""The batch layer of the engine `spark`: a decision tree of MLlib (Meng et al. 2016)."""

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
"""Most bins for a feature, as in the SFCPerf paper (section VI)."""
MAX_DEPTH = 30
"""Greatest depth of the tree; MLlib allows no more."""
_SEED = 0
_TREE = "tree"
_LABELS = "labels.json"


class Model(NamedTuple):
    """A tree, and the label for each number that it predicts."""

    tree: DecisionTreeClassificationModel
    labels: Sequence[str]


def train(
    spark: SparkSession,
    features: NDArray[np.int64],
    labels: NDArray[np.str_],
    weights: NDArray[np.float64],
    folder: Path,
) -> Mapping[str, Any]:
    """Train a tree and write it to the folder; return its depth and its number of leaves."""
    from pyspark.ml.classification import DecisionTreeClassifier

    kinds, places = np.unique(labels, return_inverse=True)
    more = {"label": pa.array(places.astype(float)), "weight": pa.array(weights)}
    # Rounded sums of weights depend on their order. With one partition the order, and so the tree,
    # is the same each time.
    examples = _vectors(spark, features, more).coalesce(1).cache()
    tree = DecisionTreeClassifier(
        featuresCol=VECTOR, weightCol="weight", maxBins=MAX_BINS, maxDepth=MAX_DEPTH, seed=_SEED
    ).fit(examples)
    examples.unpersist()
    # Not `save`: with it each executor would write to the disk of its own machine.
    tree._java_obj.write().saveToLocal(str(folder / _TREE))
    (folder / _LABELS).write_text(json.dumps(kinds.tolist()))
    # Each node that is no leaf has two children.
    return {"depth": tree.depth, "leaves": (tree.numNodes + 1) // 2}


def load(spark: SparkSession, folder: Path) -> Model:
    """Load the model that `train` wrote."""
    from pyspark.ml.classification import DecisionTreeClassificationModel

    java = _machine(spark).org.apache.spark.ml.classification.DecisionTreeClassificationModel
    tree = DecisionTreeClassificationModel(java.read().loadFromLocal(str(folder / _TREE)))
    # Two columns are switched off: nobody reads them, and they cost more than the prediction.
    tree.setRawPredictionCol("").setProbabilityCol("").setPredictionCol(PREDICTION)
    return Model(tree.setFeaturesCol(VECTOR), json.loads((folder / _LABELS).read_text()))


def predict(spark: SparkSession, model: Model, features: NDArray[np.int64]) -> list[str]:
    """Label each row."""
    judged = model.tree.transform(_vectors(spark, features, {})).select(PREDICTION)
    return [model.labels[int(place)] for place in judged.toArrow()[PREDICTION].to_numpy()]


def _vectors(
    spark: SparkSession, features: NDArray[np.int64], more: Mapping[str, pa.Array]
) -> DataFrame:
    """Make a DataFrame with a vector for each row, and the columns `more`."""
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as f

    # The values are doubles, as in the speed layer.
    values = pa.array(features.astype(np.float64).ravel())
    lists = pa.FixedSizeListArray.from_arrays(values, features.shape[1]).cast(
        pa.list_(pa.float64())
    )
    rows = spark.createDataFrame(pa.table({"row": lists, **more}))
    return rows.select(array_to_vector(f.col("row")).alias(VECTOR), *more)


def _machine(spark: SparkSession) -> Any:
    """The object by which Python reaches the JVM's classes."""
    return spark._jvm
