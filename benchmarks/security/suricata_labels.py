"""Labels from Suricata's alerts against true ones, and what a decision tree learns from either.

    sudo .venv/bin/python benchmarks/security/suricata_labels.py

The traces are those of `sfcperf traffic make`, 60 s each, which are made where they are missing.
The tree learns from seeds 2, 3 and 4, and is judged by the true labels of seed 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Row, Run
from sklearn.tree import DecisionTreeClassifier

from sfcperf.services.classifier.examples import Examples, Extraction, joined, parts
from sfcperf.services.classifier.metrics import evaluation
from sfcperf.traffic import suricata
from sfcperf.traffic.agreement import agreement, table
from sfcperf.traffic.kept import kept
from sfcperf.traffic.labelled import LabelledTrace
from sfcperf.traffic.labels import Labels, read
from sfcperf.traffic.making import Trace

TRAIN, TEST = (2, 3, 4), 1
SECONDS = 60
SMALL = 0.001
HOW = Extraction(window_ms=2000, slide_ms=0, early_packets=4, early_flows=16)


def labels(_: Run) -> Iterator[Row]:
    """The agreement, then both trees."""
    traces = {seed: kept(seed, SECONDS, print) for seed in (*TRAIN, TEST)}
    true = {seed: read(trace.labels) for seed, trace in traces.items()}
    given = {seed: Labels(suricata.alerts(trace.pcap).rows) for seed, trace in traces.items()}
    judged = LabelledTrace(traces[TEST].pcap, true[TEST])
    print(table(agreement(judged, given[TEST])))
    # In windows as a chain has them: nearly no flow is put aside.
    test = parts(traces[TEST].pcap, true[TEST], HOW, TEST, SMALL).test
    for name, of in (("the true labels", true), ("Suricata's labels", given)):
        training = joined([_examples(traces[seed], of[seed]) for seed in TRAIN])
        tree = DecisionTreeClassifier(random_state=0)
        tree.fit(training.features, training.labels, sample_weight=training.weights)
        found = evaluation(test.labels, tree.predict(test.features).tolist(), test.features)
        others = ", ".join(f"{key} {found[key]:.4f}" for key in ("recall", "fpr"))
        yield Row(f"MCC, trained with {name}", found["mcc"], remarks=others)


def _examples(trace: Trace, found: Labels) -> Examples:
    return parts(trace.pcap, found, HOW, TEST, 1).training


if __name__ == "__main__":
    Benchmark(__doc__, {labels: 1}).main()
