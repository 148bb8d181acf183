"""The store of models: a model that was trained with the same trace, parameters and engine is used
again.

A model is a folder with what the engine writes and `model.json`: the hash of the features' schema,
the SHA-256 of each file, how it was trained, and its metrics.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from sfcperf import ownership, strict_json
from sfcperf.environment.state_root import state_folder
from sfcperf.errors import InputError
from sfcperf.services.classifier.engine import Engine
from sfcperf.services.classifier.examples import Extraction, joined, parts
from sfcperf.services.classifier.features import FEATURES, SCHEMA_HASH
from sfcperf.services.classifier.metrics import evaluation
from sfcperf.traffic import labels as labelling
from sfcperf.traffic import making
from sfcperf.traffic.labels import BENIGN

MANIFEST = "model.json"
VERSION = 6
"""Version of the way in which examples are made."""


@dataclass(frozen=True)
class Source:
    """What a model is trained with: one trace whose flows train or test it, and further ones."""

    pcap: Path
    labels: Path
    seed: int
    """Seed of the split into flows that train and the rest."""
    share: float
    """Share of the flows that train, 0 to 1."""
    further: tuple[tuple[Path, Path], ...] = ()
    """Captures with their labels; all flows of these train."""


@dataclass(frozen=True)
class Model:
    """A stored model."""

    folder: Path
    manifest: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Hash of all that it was trained with."""
        return self.folder.name


def load(folder: Path) -> Model:
    """Load a stored model. Raises InputError if it is damaged, or was trained with other features;
    EnvironmentLacks if another user could have written it, and so also its hashes."""
    try:
        _check_ours(folder)
        manifest = strict_json.loads((folder / MANIFEST).read_bytes())
        wanted, found = manifest["sha256"], _digests(folder)
        differing = sorted(n for n in {*wanted, *found} if wanted.get(n) != found.get(n))
        schema_hash = manifest["schema_hash"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"this is no model: {error}", where=str(folder)) from error
    if differing or not found:
        names = ", ".join(differing) or "there are none"
        raise InputError(f"files of the model were changed: {names}", where=str(folder))
    if schema_hash != SCHEMA_HASH:
        raise InputError(
            f"the model was trained with other features ({schema_hash})",
            where=str(folder),
            allowed=f"features {SCHEMA_HASH}",
            hint="remove the folder: the model is then trained again",
        )
    return Model(folder, manifest)


def _check_ours(folder: Path) -> None:
    """Raise EnvironmentLacks if another user could write the model, or a folder that leads to
    it."""
    for each in (folder.parent.parent.resolve(), folder.parent, folder):
        ownership.check_folder(each)
    for each in folder.rglob("*"):
        (ownership.check_folder if each.is_dir() else ownership.check_file)(each)


def trained(engine: Engine, source: Source, how: Extraction, say: Callable[[str], None]) -> Model:
    """Return the stored model for these inputs, or train one if none is stored undamaged. The
    inputs are the engine and its version, the features, the traces with labels, and the extraction.
    `say` gets lines for the log. Raises InputError or MeasurementError for a trace that cannot be
    used, and EnvironmentLacks."""
    inputs = {
        "version": VERSION,
        "engine": engine.name,
        "engine_version": engine.version(),
        "schema_hash": SCHEMA_HASH,
        "pcap": making.sha256(source.pcap),
        "labels": making.sha256(source.labels),
        "seed": source.seed,
        "share": source.share,
        "further": [
            (making.sha256(pcap), making.sha256(labels)) for pcap, labels in source.further
        ],
        **asdict(how),
    }
    key = sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]
    folder = state_folder("models") / key
    if folder.exists():
        try:
            return load(folder)
        except InputError as error:
            say(f"the stored model is not used: {error.message}")
            shutil.rmtree(folder)
    _train(engine, source, how, inputs, folder, say)
    return load(folder)


def _train(
    engine: Engine,
    source: Source,
    how: Extraction,
    inputs: Mapping[str, Any],
    folder: Path,
    say: Callable[[str], None],
) -> None:
    """Train and test a model, and store it in `folder`. The folder gets this name when all is
    written, so that nobody finds half of a model. `inputs` are what its id is the hash of."""
    labels = labelling.read(source.labels)
    found = parts(source.pcap, labels, how, source.seed, source.share)
    for line in found.captured.left_out.lines(found.captured.number):
        say(f"{source.pcap.name}: {line}")
    # With a share of 1, all flows train.
    further = [
        parts(pcap, labelling.read(file), how, source.seed, 1).training
        for pcap, file in source.further
    ]
    training = joined([found.training, *further])
    present = np.unique(training.labels)
    if BENIGN not in present or len(present) < 2:
        raise InputError(
            f"the flows that train have only the labels: {', '.join(present) or 'none'}",
            where=str(source.pcap),
            allowed=f"{BENIGN}, and a kind of attack or more",
            hint="a longer trace, or a greater share",
        )
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        made = Path(temporary) / "model"
        made.mkdir()
        facts = engine.train(training, made)
        predicted = engine.predict(made, found.test.features)
        manifest = {
            **inputs,
            "features": FEATURES,
            "sha256": _digests(made),
            "facts": dict(facts),
            "packets_left_out": found.captured.left_out,
            "training_records": {
                str(label): int((training.labels == label).sum()) for label in present
            },
            "metrics": evaluation(found.test.labels, predicted, found.test.features),
            "unseen_kinds": sorted(set(found.test.labels.tolist()) - set(present.tolist())),
        }
        (made / MANIFEST).write_text(json.dumps(manifest, indent=1))
        made.rename(folder)


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of the model except the manifest."""
    files = (f for f in sorted(folder.rglob("*")) if f.is_file() and f.name != MANIFEST)
    return {str(file.relative_to(folder)): making.sha256(file) for file in files}
