"""The engine `scikit-learn`: a decision tree, in a process that reads and writes Kafka."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sfcperf.errors import DeploymentError, EnvironmentLacks, InputError, errors_as
from sfcperf.plugins import Requirement
from sfcperf.results.files import replace_file
from sfcperf.services.base import ServiceContext
from sfcperf.services.classifier.engine import Broker, Engine
from sfcperf.services.classifier.examples import Examples
from sfcperf.services.classifier.features import FEATURES
from sfcperf.services.classifier.supervised import SupervisedProcess

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

FILE = "tree.npz"
START_TIMEOUT_S = 60.0
_LEAF = -1
"""Child of a node that has none, in scikit-learn's arrays."""
_SEED = 0
"""Seed for the order in which the tree tries features that divide equally well."""


class ScikitEngine(Engine):
    """Trains a decision tree in this process, and classifies in another one, the speed layer
    (`speed`)."""

    name = "scikit-learn"

    @classmethod
    def requirements(cls, parameters: Mapping[str, Any]) -> list[Requirement]:
        """Nothing beyond what all engines need: the extra `security` has all."""
        return []

    def __init__(
        self, context: ServiceContext, parameters: Mapping[str, Any], broker: Broker
    ) -> None:
        self._context = context
        self._broker = broker
        self._layer: SupervisedProcess | None = None
        self._folder: Path | None = None
        """Folder of the model with which the speed layer was started last."""
        self._restarts = 0
        """Restarts of the speed layers before the one that runs."""

    def version(self) -> str:
        """Version of scikit-learn: the files of a tree are for one version."""
        return version("scikit-learn")

    def train(self, examples: Examples, folder: Path) -> Mapping[str, Any]:
        """Grow a tree in this process, and write it to `tree.npz` in the folder; return its
        size."""
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(random_state=_SEED)
        tree.fit(examples.features, examples.labels, sample_weight=examples.weights)
        write(tree, folder)
        return {"depth": int(tree.get_depth()), "leaves": int(tree.get_n_leaves())}

    def predict(self, folder: Path, features: NDArray[np.int64]) -> Sequence[str]:
        """Read the tree in the folder, and label each row by it. Raises InputError for a file that
        is no tree."""
        return Tree(folder).predict(features) if len(features) else []

    def classify(self, folder: Path) -> None:
        """Start a speed layer with this model. The process of the model before is ended first; the
        new one goes on where that stopped. Nothing is done if the same model is in use."""
        if folder == self._folder and self.problem() is None:
            return
        self.stop()
        settings = self._context.state_dir / "speed.json"
        ready = self._context.state_dir / "speed.ready"
        ready.unlink(missing_ok=True)
        replace_file(
            settings,
            json.dumps({"broker": vars(self._broker), "model": str(folder), "ready": str(ready)}),
        )
        command = [sys.executable, "-m", "sfcperf.services.classifier.speed", str(settings)]
        layer = SupervisedProcess(
            self._context, f"{self._context.name}-speed", command, ready.exists
        )
        with errors_as(DeploymentError, EnvironmentLacks):
            layer.start(START_TIMEOUT_S)
        self._layer, self._folder = layer, folder

    def problem(self) -> str | None:
        """Return what is wrong with the speed layer's process; None if it works or never began."""
        return self._layer.problem() if self._layer else None

    @property
    def restarts(self) -> int:
        """Restarts of the speed layer's processes, of former models too."""
        return self._restarts + (self._layer.restarts if self._layer else 0)

    @property
    def pid(self) -> int | None:
        """Process id of the speed layer."""
        return self._layer.pid if self._layer else None

    def facts(self) -> Mapping[str, Any]:
        """Version of scikit-learn."""
        return {"scikit-learn": self.version()}

    def stop(self) -> None:
        """Stop the process of the speed layer, and keep the number of its restarts."""
        if self._layer is not None:
            self._layer.stop()
            self._restarts += self._layer.restarts
            self._layer = None


def write(tree: DecisionTreeClassifier, folder: Path) -> None:
    """Write a tree as plain arrays. Unlike a pickle, they can be read without executing
    anything."""
    state = tree.tree_.__getstate__()
    np.savez(
        folder / FILE,
        nodes=state["nodes"],
        values=state["values"],
        labels=tree.classes_.astype(np.str_),
    )


class Tree:
    """A stored decision tree, which labels rows of features."""

    def __init__(self, folder: Path) -> None:
        """Read what `write` wrote to the folder. Raises InputError for a file that is no tree of
        this version of scikit-learn."""
        try:
            with np.load(folder / FILE, allow_pickle=False) as found:
                nodes, values, labels = (found[name] for name in ("nodes", "values", "labels"))
            self._tree = _tree(nodes, values, labels)
        except (OSError, ValueError, LookupError, TypeError, BadZipFile) as error:
            raise InputError(f"this is no tree: {error}", where=str(folder / FILE)) from error
        self._labels: list[str] = labels[values[:, 0, :].argmax(axis=1)].tolist()
        """Label of each node."""

    def predict(self, features: NDArray[np.int64]) -> list[str]:
        """Label each row as the `predict` of scikit-learn's classifier would, but without its
        checks, which take longer than the tree itself for a few rows."""
        leaves = self._tree.apply(features.astype(np.float32))
        return [self._labels[leaf] for leaf in leaves.tolist()]


def _tree(nodes: NDArray[Any], values: NDArray[Any], labels: NDArray[Any]) -> Any:
    """Make scikit-learn's tree from its arrays. scikit-learn checks their shapes and types itself.
    Raises ValueError."""
    from sklearn.tree._tree import Tree as ScikitTree

    left, right, feature = (nodes[name] for name in ("left_child", "right_child", "feature"))
    inner = left != _LEAF
    numbers = np.arange(len(nodes))[inner]
    # scikit-learn follows children and features without checks, so a damaged file could crash the
    # process. In a sound tree, children come after their parents.
    children = np.stack([left[inner], right[inner]])
    is_right = (children > numbers).all() and (children < len(nodes)).all()
    if not len(nodes) or not is_right or not np.isin(feature[inner], range(len(FEATURES))).all():
        raise ValueError("its nodes lead nowhere")
    if labels.ndim != 1 or not len(labels):
        raise ValueError("it has no labels")
    tree = ScikitTree(len(FEATURES), np.array([len(labels)], np.intp), 1)
    # The depth is not stored: `apply`, the only method that is used, does not need it.
    tree.__setstate__({"max_depth": 0, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree
