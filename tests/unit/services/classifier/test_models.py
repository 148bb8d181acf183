"""Training: which records become examples, what is stored, what is used again."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef
from sklearn.tree import DecisionTreeClassifier
from support.services.classifier import write_trace
from support.services.service import new_context

from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.services.classifier import models
from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.examples import Examples, Extraction, extracted, flow_of, parts
from sfcperf.services.classifier.features import FEATURES
from sfcperf.services.classifier.metrics import evaluation
from sfcperf.services.classifier.models import Source
from sfcperf.services.classifier.scikit import ScikitEngine, Tree, write
from sfcperf.services.classifier.serving.latencies import Latencies
from sfcperf.traffic import labels
from sfcperf.traffic.split import trains

HOW = Extraction(window_ms=1000, slide_ms=0, early_packets=4, early_flows=16)
KINDS = ["benign", "a", "b"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_trace(tmp_path_factory.mktemp("trace"))


@pytest.fixture
def source(trace: tuple[Path, Path], tmp_path: Path, state_dir: Path) -> Source:
    """A copy that a test may change."""
    pcap, labelled = (Path(shutil.copy(file, tmp_path)) for file in trace)
    return Source(pcap, labelled, seed=1, share=0.5)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ScikitEngine]:
    (tmp_path / "service").mkdir()
    broker = Broker("", "records", "verdicts", "dead-letters", "group")
    made = ScikitEngine(new_context(tmp_path / "service"), {}, broker)
    yield made
    made.stop()


def train(engine: ScikitEngine, source: Source, how: Extraction = HOW) -> models.Model:
    return models.trained(engine, source, how, print)


def test_flows_that_train_are_not_tested(source: Source) -> None:
    found = parts(source.pcap, labels.read(source.labels), HOW, 1, 0.5)
    records = list(extracted(source.pcap, HOW))
    tested = [r for r in records if not trains(flow_of(r), 1, 0.5)]
    assert len(found.test.labels) == len(tested) < len(records)
    assert set(found.training.labels) == {"benign", "syn-flood", "udp-flood"}
    everything = parts(source.pcap, labels.read(source.labels), HOW, 1, 1)
    assert len(everything.test.labels) == 0
    assert len(everything.training.labels) > len(records)  # windows overlap


def test_frames_that_train_nothing_are_told(engine: ScikitEngine, source: Source) -> None:
    mpls = b"\2" * 12 + b"\x88\x47" + bytes(50)
    with source.pcap.open("ab") as trace:
        for _ in range(7):
            trace.write(struct.pack("<4I", 2**31, 0, len(mpls), len(mpls)) + mpls)
    said: list[str] = []
    model = models.trained(engine, source, HOW, said.append)
    assert model.manifest["packets_left_out"] == {"ethertype_0x8847": 7}
    assert any("trace.pcap: 7 of " in line for line in said)


def test_windows_that_train_overlap() -> None:
    for window_ms, slide_ms, pane_ms in (
        *((2000, 0, 250), (2000, 100, 100), (2000, 1000, 250)),
        *((300, 0, 100), (100, 0, 0), (1001, 0, 143)),
    ):
        how = replace(HOW, window_ms=window_ms, slide_ms=slide_ms)
        assert how.overlapping == replace(how, slide_ms=pane_ms)


def test_a_label_that_changes_within_a_record_is_none(source: Source, tmp_path: Path) -> None:
    limited = tmp_path / "limited.csv"
    text = source.labels.read_text().replace(",,,,,,,benign", "0,1,,,,,,benign")
    limited.write_text(text)
    found = parts(source.pcap, labels.read(limited), HOW, 1, 1).training
    whole = parts(source.pcap, labels.read(source.labels), HOW, 1, 1).training
    assert 0 < (found.labels == "benign").sum() < (whole.labels == "benign").sum()
    assert (found.labels == "syn-flood").sum() == (whole.labels == "syn-flood").sum()


def test_trees_divide_lengths_and_times_by_steps(source: Source) -> None:
    """On whichever side of a division a value is, all values of its step are. All labels weigh the
    same."""
    training = parts(source.pcap, labels.read(source.labels), HOW, 1, 1).training
    tree = DecisionTreeClassifier(random_state=0).fit(training.features, training.labels).tree_
    assert (training.features >= 0).all()
    for names, step in (
        (("max_fpktl", "total_fvolume", "max_bpktl"), 8),
        (("mean_fiat", "max_biat", "duration", "std_active", "min_idle"), 20_000),
    ):
        places = {FEATURES.index(name) for name in names}
        found = [t for f, t in zip(tree.feature, tree.threshold, strict=True) if f in places]
        middle = step // 2 - 1
        assert np.unique(training.features[:, sorted(places)] % step).tolist() == [middle]
        assert all(int(threshold) % step in (middle, step - 1) for threshold in found)
    weights = {
        label: training.weights[training.labels == label].sum() for label in set(training.labels)
    }
    assert len({round(weight, 6) for weight in weights.values()}) == 1
    assert training.weights.mean() == pytest.approx(1)


def test_a_model_is_trained_once(engine: ScikitEngine, source: Source) -> None:
    first = train(engine, source)
    when = (first.folder / "tree.npz").stat().st_mtime_ns
    assert train(engine, source).id == first.id
    assert (first.folder / "tree.npz").stat().st_mtime_ns == when
    others = [replace(HOW, early_packets=8), replace(HOW, early_flows=0)]
    assert len({first.id, *(train(engine, source, how).id for how in others)}) == 3
    manifest = first.manifest
    assert manifest["metrics"]["mcc"] == manifest["metrics"]["recall"] == 1
    assert manifest["unseen_kinds"] == []
    assert set(manifest["training_records"]) == {"benign", "syn-flood", "udp-flood"}


def test_all_flows_of_further_traces_train(engine: ScikitEngine, source: Source) -> None:
    more = replace(source, further=((source.pcap, source.labels),))
    one, two, three = (
        train(engine, each).manifest["training_records"]
        for each in (source, replace(source, share=1.0), more)
    )
    assert three == {label: one[label] + two[label] for label in one}


def _rewritten(folder: Path, **changes: Any) -> None:
    manifest = json.loads((folder / models.MANIFEST).read_text())
    (folder / models.MANIFEST).write_text(json.dumps({**manifest, **changes}))


DAMAGES: list[Callable[[Path], object]] = [
    lambda folder: (folder / "tree.npz").write_bytes(b"no tree"),
    lambda folder: (folder / "tree.npz").unlink(),
    lambda folder: (folder / "tree.joblib").touch(),
    lambda folder: (folder / models.MANIFEST).write_text("{"),
    lambda folder: (folder / models.MANIFEST).write_text('{"a":' * 100_000),
    lambda folder: _rewritten(folder, sha256={}),
    lambda folder: _rewritten(folder, sha256={"tree.npz": "0", "absent": "0"}),
    lambda folder: _rewritten(folder, schema_hash="0" * 16),
]


def test_a_damaged_model_is_refused_and_trained_again(engine: ScikitEngine, source: Source) -> None:
    """So is one of other features."""
    model = train(engine, source)
    for number, damage in enumerate(DAMAGES):
        copy = shutil.copytree(model.folder, model.folder.with_name(f"damaged-{number}"))
        damage(copy)
        with pytest.raises(InputError):
            models.load(copy)
        shutil.rmtree(copy)
    DAMAGES[0](model.folder)
    assert train(engine, source).manifest == model.manifest
    assert [path.name for path in model.folder.parent.iterdir()] == [model.id]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
def test_a_model_that_another_user_could_have_written_is_not_used(
    engine: ScikitEngine, source: Source
) -> None:
    model = train(engine, source)
    for place in (".", "..", "../..", "tree.npz"):
        os.chown(model.folder / place, 65534, 65534)
        for use in (lambda: models.load(model.folder), lambda: train(engine, source)):
            with pytest.raises(EnvironmentLacks, match="another user"):
                use()
        os.chown(model.folder / place, 0, 0)


class _Trap:
    def __reduce__(self) -> Any:
        return (os.system, ("false",))


def _damaged(nodes: Any, **values: Any) -> Any:
    changed = nodes.copy()
    for name, value in values.items():
        changed[name][0] = value
    return changed


@pytest.mark.parametrize(
    "damage",
    [
        lambda nodes, **more: {**more, "nodes": np.array([_Trap()], dtype=object)},
        lambda nodes, **more: {**more, "nodes": nodes, "labels": np.array([_Trap()])},
        lambda nodes, **more: {**more, "nodes": nodes[:-1]},
        lambda nodes, **more: {**more, "nodes": _damaged(nodes, left_child=0)},
        lambda nodes, **more: {**more, "nodes": _damaged(nodes, right_child=1 << 40)},
        lambda nodes, **more: {**more, "nodes": _damaged(nodes, left_child=-2)},
        lambda nodes, **more: {**more, "nodes": _damaged(nodes, feature=-1)},
        lambda nodes, **more: {**more, "nodes": _damaged(nodes, feature=len(FEATURES))},
        lambda nodes, **more: {**more, "nodes": nodes["feature"]},
        lambda nodes, **more: {**more, "nodes": nodes[:0]},
        lambda nodes, **more: more,
        lambda nodes, values, **more: {**more, "nodes": nodes, "values": values[:, 0]},
        lambda nodes, labels, **more: {**more, "nodes": nodes, "labels": labels[:1]},
        lambda nodes, labels, **more: {**more, "nodes": nodes, "labels": labels[:0]},
    ],
)
def test_a_file_that_is_no_tree_is_refused_and_executes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[..., dict[str, Any]]
) -> None:
    def executed(_: str) -> int:
        pytest.fail("it was executed")

    features = np.arange(10 * len(FEATURES)).reshape(10, -1)
    write(DecisionTreeClassifier(random_state=0).fit(features, KINDS[:2] * 5), tmp_path)
    with np.load(tmp_path / "tree.npz") as found:
        arrays = dict(found)
    np.savez(tmp_path / "tree.npz", **damage(**arrays))
    monkeypatch.setattr(os, "system", executed)
    with pytest.raises(InputError):
        Tree(tmp_path)


def test_a_trace_of_one_label_trains_nothing(
    engine: ScikitEngine, source: Source, tmp_path: Path
) -> None:
    only = tmp_path / "only.csv"
    only.write_text(",".join(labels.COLUMNS) + "\n,,,,,,,benign\n")
    with pytest.raises(InputError, match="only the labels: benign"):
        train(engine, Source(source.pcap, only, 1, 0.5))


def test_what_is_no_capture_is_refused(engine: ScikitEngine, source: Source) -> None:
    source.pcap.write_bytes(b"no capture")
    with pytest.raises(Exception, match="not a capture"):
        train(engine, source)


def test_the_tree_answers_as_scikit_learn(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    features = random.integers(0, 50, (500, len(FEATURES)))
    found = np.array(KINDS)[random.integers(0, 3, 500)]
    tree = DecisionTreeClassifier(random_state=0).fit(features[:300], found[:300])
    write(tree, tmp_path)
    assert Tree(tmp_path).predict(features) == tree.predict(features).tolist()


@pytest.mark.filterwarnings("ignore:A single label was found")
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)), min_size=1))
def test_metrics_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    found = np.array([label for label, _ in pairs])
    features = np.zeros((len(pairs), len(FEATURES)), dtype=np.int64)
    metrics = evaluation(found, [predicted for _, predicted in pairs], features)
    attack = [label != "benign" for label, _ in pairs]
    alarm = [predicted != "benign" for _, predicted in pairs]
    assert (metrics["mcc"] or 0) == pytest.approx(matthews_corrcoef(attack, alarm))
    assert set(metrics["kinds"]) == {label for label, _ in pairs} - {"benign"}
    assert metrics["fpr_early"] is None


def test_metrics_of_nothing() -> None:
    nothing: Any = np.zeros((0, len(FEATURES)), dtype=np.int64)
    metrics = evaluation(np.array([], dtype=np.str_), [], nothing)
    assert (metrics["mcc"], metrics["recall"], metrics["kinds"]) == (None, None, {})
    assert Examples(nothing, np.array([], dtype=np.str_)).weights.size == 0


@given(st.lists(st.integers(-5, 1000), min_size=1))
def test_percentiles_are_the_least_that_suffice(values: list[int]) -> None:
    latencies = Latencies()
    for value in values:
        latencies.add(value)
    for percent in (50, 99):
        found = latencies.percentile(percent)
        assert found == np.percentile(values, percent, method="inverted_cdf")
    assert latencies.summary()["count"] == len(values)
