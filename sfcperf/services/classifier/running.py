"""A running classifier: its engine, its serving layer, and what they do in each trial."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sfcperf import retry, waiting
from sfcperf.errors import (
    DeploymentError,
    EnvironmentLacks,
    InputError,
    MeasurementError,
    SfcperfError,
    errors_as,
)
from sfcperf.hosts import clock
from sfcperf.management.deployment import Deployment, ServiceFunction
from sfcperf.rest.client import local_session
from sfcperf.services.base import RunningService, ServiceContext
from sfcperf.services.classifier import ledger, models, settings
from sfcperf.services.classifier.engine import Broker, Engine
from sfcperf.services.classifier.examples import Extraction
from sfcperf.services.classifier.kafka_client import TopicEnds
from sfcperf.services.classifier.models import Model, Source
from sfcperf.services.classifier.serving.client import ServingLayer
from sfcperf.services.kafka.service import RunningKafka
from sfcperf.traffic import suricata
from sfcperf.traffic.kept import kept
from sfcperf.workflow.model import FunctionSpec, Scenario

CAUGHT_UP_S = 60.0
"""How long verdicts on the records of a trial are waited for."""
_LOOK_S = 0.05
_BEYOND_WINDOW_S = 0.5
"""Time after the end of a window in which the IDS makes its records and sends them."""
_CLEAR_S = 30.0


class RunningClassifier(RunningService):
    """The engine and the serving layer of a classifier. They work for one chain at a time.

    `Classifier.start` makes it and calls `start`; then the run makes the calls of a RunningService.
    """

    def __init__(
        self, context: ServiceContext, parameters: Mapping[str, Any], engine: type[Engine]
    ) -> None:
        """Nothing is started yet. Raises EnvironmentLacks if the service that the parameter `kafka`
        names is no Kafka."""
        self._context = context
        self._parameters = parameters
        kafka = context.services[parameters["kafka"]]
        if not isinstance(kafka, RunningKafka):
            raise EnvironmentLacks(
                f"the service {parameters['kafka']!r}, where the classifier finds records, is no "
                "Kafka",
                hint='{"service": "kafka"}',
            )
        self._broker = Broker(
            bootstrap=kafka.address,
            records=kafka.topics["records"],
            verdicts=kafka.topics["verdicts"],
            dead_letters=kafka.topics["dead-letters"],
            group=f"sfcperf-{context.name}-{context.tag}",
        )
        self.engine = engine(context, parameters, self._broker)
        self.serving = ServingLayer(context, self._broker)
        self._ends = TopicEnds(self._broker.bootstrap)
        self._functions: tuple[ServiceFunction, ...] = ()
        """Functions of the chain that send their records to our broker; empty without a chain."""
        self._targets: list[dict[str, str]] = []
        """Rule interfaces of the chain: URL and token of each, as in `session.Target`."""
        self._model: Model | None = None
        """Model of the last chain with such functions."""
        self._window_s = 0.0
        self._one_clock = True
        """Whether the functions share this machine's clock."""
        self._begun: ledger.Reading | None = None
        """Counts of records when the trial began; None between trials, or without functions."""
        self._stored = 0
        """How many records of the last trial the broker has."""
        self._last_status: Mapping[str, Any] = {}
        """Status of the serving layer at the end of the last trial; empty before, and during a
        trial."""

    @property
    def address(self) -> str:
        """Address of the serving layer's REST interface."""
        return self.serving.address

    def start(self) -> None:
        """Make or find the traces for training, then start both layers. Raises EnvironmentLacks."""
        with errors_as(EnvironmentLacks, MeasurementError):
            # The traces are kept, so that `chain_deployed` finds them.
            self._source(self._parameters)
        self.engine.start()
        self.serving.start()

    def problem(self) -> str | None:
        """Say what is wrong with a layer that has failed and is not started again; None if there is
        none."""
        return self.engine.problem() or self.serving.process.problem()

    def recover(self) -> None:
        """Start layers again that have failed for good. Raises EnvironmentLacks."""
        if self.serving.process.problem() is not None:
            self.serving.process.stop()
            self.serving.start()
        if self.engine.problem() is not None and self._model is not None:
            with errors_as(EnvironmentLacks, DeploymentError):
                self.engine.classify(self._model.folder)

    def counters(self) -> Mapping[str, int]:
        """Counters of both layers, since their start.

        `verdicts_malicious`, `verdicts_benign`, `records_poisoned` (dead letters) and their sum
        `records_received`; `verdicts_repeated` after a restart of the speed layer;
        `records_of_before`, verdicts on records from before the trial; `verdicts_malformed` and
        `dead_letters_malformed`, messages of strangers in these topics; `rules_sent`,
        `rules_refused` and `rules_refused_REASON`, `rules_withheld` (by the policy, for lack of
        room), `sends_retried`; `speed_restarts` and `serving_restarts`. Raises MeasurementError.
        """
        found: Mapping[str, int] = self.serving.status()["counters"]
        received = ("verdicts_malicious", "verdicts_benign", "records_poisoned")
        return {
            "records_received": sum(found[name] for name in received),
            **found,
            "speed_restarts": self.engine.restarts,
            "serving_restarts": self.serving.process.restarts,
        }

    def facts(self) -> Mapping[str, Any]:
        """The engine, its versions, and where the REST interface is."""
        return {"engine": self.engine.name, **self.engine.facts(), "rest": f"http://{self.address}"}

    # --- chains ---

    def chain_deployed(self, deployment: Deployment, scenario: Scenario) -> Mapping[str, Any]:
        """Classify with the model for the parameters of the chain's IDS, which is trained now if it
        is not stored. Return its id, metrics and the number of rule interfaces; without an IDS, the
        model is None. Raises DeploymentError."""
        parameters = self._of_chain(scenario)
        specs = self._ids(scenario)
        names = {spec.name for spec in specs}
        self._functions = tuple(f for f in deployment.functions if f.name in names)
        if not specs:
            return {"model": None}
        with errors_as(DeploymentError, MeasurementError):
            self._one_clock = all(clock.of_this_kernel(f.host) for f in self._functions)
        how = _extraction(specs)
        _check_ttl(scenario, deployment, float(parameters["ttl_s"]))
        with errors_as(DeploymentError, SfcperfError, context="no model"):
            self._model = models.trained(
                self.engine, self._source(parameters), how, self._context.log
            )
        self.engine.classify(self._model.folder)
        self._window_s = how.window_ms / 1000
        self._targets = [
            {"url": f.rule_interface.url, "token": f.rule_interface.token}
            for f in deployment.functions
            if f.rule_interface is not None
        ]
        self._limits = asdict(settings.limits(parameters))
        manifest = self._model.manifest
        return {
            "model": self._model.id,
            "metrics": manifest["metrics"],
            "unseen_kinds": manifest["unseen_kinds"],
            "rule_interfaces": len(self._targets),
        }

    def chain_removed(self) -> None:
        """Let the serving layer set no more rules."""
        self._functions, self._targets, self._begun = (), [], None
        try:
            # An empty session has no rule interfaces.
            self.serving.begin({})
        except MeasurementError as error:
            self._context.log(error.message)

    def _of_chain(self, scenario: Scenario) -> Mapping[str, Any]:
        """The parameters for this scenario; those of `settings.PER_CHAIN` may differ from the
        parameters of other scenarios."""
        own = (s.parameters for s in scenario.services if s.name == self._context.name)
        return next(own, self._parameters)

    def _ids(self, scenario: Scenario) -> list[FunctionSpec]:
        """Functions of the chain that send their records to our broker."""
        return [
            spec
            for spec in scenario.chain.functions
            if spec.type == "ids" and spec.knobs["kafka"] == self._parameters["kafka"]
        ]

    def _source(self, parameters: Mapping[str, Any]) -> Source:
        """What the model is trained with; traces are made if they are not kept. Raises
        EnvironmentLacks, or MeasurementError when a trace cannot be made."""
        training, share = parameters["training"], float(parameters["share"])
        seed = int(training["seed"])
        if training["pcap"]:
            pcap, labels = Path(training["pcap"]), training["labels"]
            files = [pcap, Path(labels)] if labels else [pcap]
            _check_readable(files)
            first = self._labelled(files, training)
        else:
            first = self._kept(seed, training)
        further = tuple(self._kept(int(seed), training) for seed in training["further_seeds"])
        return Source(*first, seed, share, further)

    def _kept(self, seed: int, training: Mapping[str, Any]) -> tuple[Path, Path]:
        """The trace of this seed, which is made if it is not kept, and the file of the labels that
        train."""
        trace = kept(seed, float(training["duration_s"]), self._context.log)
        return self._labelled([trace.pcap, trace.labels], training)

    def _labelled(self, files: Sequence[Path], training: Mapping[str, Any]) -> tuple[Path, Path]:
        """A capture, and the file of the labels that train. `files`: the capture, and its own
        labels if there are any. These train, unless the parameter `labeller` is Suricata."""
        if training["labeller"] == settings.FILE:
            pcap, labels = files
            return pcap, labels
        rules = [Path(rule) for rule in training["suricata_rules"]] or [suricata.RULES]
        _check_readable([*rules, suricata.CONFIG])
        with errors_as(EnvironmentLacks, InputError):
            return files[0], suricata.kept(files[0], rules)

    # --- trials ---

    def begin_trial(self) -> None:
        """Remove all rules, and forget all verdicts before. Raises MeasurementError."""
        self._last_status = {}
        if not self._functions:
            return
        assert self._model is not None
        # First, no more rules may be set; otherwise some could come after the clearing.
        self.serving.begin({})
        self._clear()
        verdicts = self._ends.of(self._broker.verdicts)
        dead_letters = self._ends.of(self._broker.dead_letters)
        self._begun = ledger.read(self._functions, lambda: self._ends.of(self._broker.records))
        self.serving.begin(
            {
                "targets": self._targets,
                "records_from": _in_order(self._begun.ends),
                "verdicts_from": _in_order(verdicts),
                "dead_letters_from": _in_order(dead_letters),
                "limits": self._limits,
                "model": self._model.manifest,
            }
        )

    def end_trial(self) -> tuple[str, ...]:
        """Wait for the records of the last window, and for what follows from them. Return why the
        trial should not be believed. Raises MeasurementError."""
        if self._begun is None:
            return ()
        waiting.sleep(self._window_s + _BEYOND_WINDOW_S)
        ended = ledger.read(self._functions, lambda: self._ends.of(self._broker.records))
        stored = self._stored = ended.stored - self._begun.stored

        def caught_up() -> bool:
            self._last_status = self.serving.status()
            return int(self._last_status["records"]) >= stored

        # If the time is over first, `_unclassified` says so.
        retry.until(caught_up, timeout_s=CAUGHT_UP_S, period_s=_LOOK_S)
        doubts = (
            ledger.difference(self._begun, ended),
            self._unclassified(stored),
            self._last_status["problem"],
        )
        self._begun = None
        return tuple(reason for reason in doubts if reason)

    def _unclassified(self, stored: int) -> str | None:
        """Say why some of the trial's `stored` records still have no verdict; None if all have
        one, by the last status."""
        done = self._last_status["records"]
        if done >= stored:
            return None
        why = self._last_status["retrying"] or self.problem() or "the classifier is too slow"
        return f"{stored - done} of {stored} records have no verdict after {CAUGHT_UP_S:g} s: {why}"

    def _clear(self) -> None:
        """Remove all rules at all interfaces. Raises MeasurementError."""
        import requests

        for target in self._targets:
            # The default binds this target, whatever the loop does later.
            def clear(target: Mapping[str, str] = target) -> None:
                with local_session(target["token"]) as session:
                    answer = session.delete(f"{target['url']}/rules", timeout=_CLEAR_S)
                answer.raise_for_status()

            try:
                retry.call(
                    clear,
                    lambda error: isinstance(error, requests.RequestException),
                    timeout_s=_CLEAR_S,
                    first_s=0.1,
                    longest_s=1.0,
                )
            except requests.RequestException as error:
                raise MeasurementError(
                    f"rules of earlier trials cannot be removed: {error}", where=target["url"]
                ) from error

    def trial_notes(self) -> Mapping[str, Any]:
        """Notes on the trial that ended last.

        `records_received` and `records_stored` are the records that were judged and that the broker
        has, counted by their places in its topics; counters of services, in contrast, are read a
        moment after the trial has begun. `labels` counts verdicts by label. `verdict`, `in_force`
        and, where the functions share this machine's clock, `first_packet` are latencies, see
        `session.Status`.
        """
        names = ["labels", "verdict", "in_force"]
        if self._one_clock:
            names.append("first_packet")
        found = {name: self._last_status[name] for name in names if name in self._last_status}
        if "records" in self._last_status:
            found["records_received"] = self._last_status["records"]
            found["records_stored"] = self._stored
        return found

    def stop(self) -> None:
        """End both layers."""
        self.serving.process.stop()
        self.engine.stop()
        self._ends.close()


def _in_order(ends: Mapping[int, int]) -> list[int]:
    """Offsets in the order of their partitions."""
    return [ends[number] for number in sorted(ends)]


def _extraction(specs: Sequence[FunctionSpec]) -> Extraction:
    """How all of these functions make records. Raises DeploymentError if they differ."""
    found = {
        Extraction(
            window_ms=round(1000 * float(spec.knobs["window_s"])),
            slide_ms=round(1000 * float(spec.knobs["slide_s"])),
            early_packets=int(spec.knobs["early_packets"]),
            early_flows=int(spec.knobs["early_flows"]),
        )
        for spec in specs
    }
    if len(found) > 1:
        raise DeploymentError(
            "the functions of type ids make records in different ways, for which there is no "
            "common model",
            hint="give them the same window_s, slide_s, early_packets and early_flows",
        )
    return found.pop()


def _check_ttl(scenario: Scenario, deployment: Deployment, ttl_s: float) -> None:
    """Raise DeploymentError if a function would refuse rules that last `ttl_s`."""
    takers = {f.name for f in deployment.functions if f.rule_interface is not None}
    for spec in scenario.chain.functions:
        longest_s = float(spec.knobs.get("max_ttl_s", ttl_s))
        if spec.name in takers and longest_s < ttl_s:
            raise DeploymentError(
                f"{spec.name} takes rules of at most {longest_s:g} s, and the classifier sets some "
                f"of {ttl_s:g} s",
                hint="a greater max_ttl_s, or a smaller ttl_s",
            )


def _check_readable(files: Sequence[Path]) -> None:
    """Raise EnvironmentLacks if this user cannot read one of these files."""
    for file in files:
        if not os.access(file, os.R_OK):
            raise EnvironmentLacks("what trains the model cannot be read", where=str(file))
