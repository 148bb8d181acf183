"""The workflow as immutable values, after loading and expansion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sfcperf import plugins
from sfcperf.workflow.document import pointer


@dataclass(frozen=True)
class Node:
    """A compute node of the NFVI, with one SFF."""

    name: str
    vcpus: int | None = None
    """Number of CPUs of the node; None: those of the machine."""
    memory_mib: int | None = None
    """Memory of the node, MiB; None: that of the machine."""


@dataclass(frozen=True)
class Link:
    """A link between two nodes, the same in both directions."""

    between: tuple[str, str]
    rate_bps: int | None = None
    """Rate to which the link is shaped, bit/s; None: it is not shaped."""


@dataclass(frozen=True)
class Topology:
    """Nodes, links, and the nodes on which endpoints and chain are by default."""

    name: str
    """`T1`, `T2`, `T3` (paper, Fig. 7) or the user's own."""
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    placement: Mapping[str, str]
    """`client`, `server` and `chain` -> name of the node on which each is by default. One without a
    default is absent."""


@dataclass(frozen=True)
class Resources:
    """Resources that an instance may use."""

    vcpus: int = 1
    memory_mib: int = 256


@dataclass(frozen=True)
class EndpointSpec:
    """An endpoint as the workflow specifies it."""

    name: Literal["client", "server"]
    node: str
    """Name of the node that it is on."""
    resources: Resources | None = None
    """Resources of its instance; None: it may use any."""
    address: str | None = None
    """IPv4 address; None: the driver chooses."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keys under `options` of the endpoint, for drivers that reach physical endpoints."""


@dataclass(frozen=True)
class FunctionSpec:
    """One SF of the chain, as the workflow specifies it."""

    name: str
    """Unique in the scenario: VNF name and number, `fwd-1`."""
    vnf: str
    """Name of its VNF in the workflow's `vnfs`."""
    type: str
    """VNF type of its VNF."""
    position: int
    """Place in the chain; 1 is the first after the classifier."""
    node: str
    resources: Resources
    knobs: Mapping[str, Any]
    """Parameters of the VNF, validated against its type's, defaults filled in."""
    vnfd: Path | None
    """TOSCA descriptor; None: the type's own, if it has one."""
    files: Mapping[pointer.Path, str] = field(default_factory=dict)
    """Place in the knobs of each file or folder that they name, by an absolute path -> the path as
    the workflow has it."""

    @property
    def located(self) -> dict[str, Path]:
        """Files that its knobs name, and those in folders that they name: path as the workflow has
        it -> file."""
        found: dict[str, Path] = {}
        for place, path in self.files.items():
            file = Path(pointer.value_at(self.knobs, place))
            inside = sorted(each for each in file.rglob("*") if each.is_file())
            found |= {f"{path}/{each.relative_to(file)}": each for each in inside}
            if not file.is_dir():
                found[path] = file
        return found

    @property
    def knobs_as_written(self) -> Mapping[str, Any]:
        """The knobs, with the paths of files as the workflow has them: the same on any machine."""
        knobs = deepcopy(dict(self.knobs)) if self.files else self.knobs
        for place, path in self.files.items():
            pointer.value_at(knobs, place[:-1])[place[-1]] = path
        return knobs


@dataclass(frozen=True)
class Match:
    """Selects the packets that the classifier sends into the chain (client to server); others
    bypass it. Packets whose ports it cannot see, such as later fragments, enter if the rest
    matches."""

    ip_proto: Literal["any", "tcp", "udp", "icmp"] = "any"
    source: str | None = None
    """IPv4 prefix, as `destination`; None, here and below: any."""
    destination: str | None = None
    source_port: int | None = None
    destination_port: int | None = None


@dataclass(frozen=True)
class ChainSpec:
    """The SFP: its SFs in order, which packets enter it, and their encapsulation."""

    functions: tuple[FunctionSpec, ...]
    match: Match
    encapsulation: Literal["auto", "nsh-eth", "nsh-vxlan-gpe", "mpls"]
    reverse: Literal["symmetric", "bypass"]
    """`symmetric`: replies traverse the same SFs in reverse order; `bypass`: replies bypass
    them."""
    spi: int
    """SPI of the forward path; the reverse path has the same with bit 23 set."""
    initial_si: int
    """SI that the classifier sets, 1 to 255; greater than the number of SFs."""
    bypass_unparsed: bool = False
    """Whether frames that the classifier cannot parse bypass the chain, instead of being
    dropped."""


@dataclass(frozen=True)
class ProbeSpec:
    """A probe of the workflow, with validated parameters, defaults filled in."""

    index: int
    """Index in the workflow's `probes`."""
    probe: str
    """Name of the plug-in."""
    label: str
    """Unique in the workflow."""
    parameters: Mapping[str, Any]

    @property
    def plugins(self) -> tuple[str, ...]:
        """Names of the plug-ins whose tools the probe needs, its own first."""
        return (self.probe, *plugins.load("probe", self.probe).uses(self.parameters))


@dataclass(frozen=True)
class MonitorSpec:
    """A monitor with validated parameters, defaults filled in."""

    monitor: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ServiceSpec:
    """A service with validated parameters, defaults filled in."""

    name: str
    """Name in the workflow."""
    service: str
    """Name of the plug-in."""
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class PluginSpec:
    """An analysis or a publisher with validated parameters, defaults filled in."""

    name: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Infrastructure:
    """A driver and its configuration."""

    driver: str
    config: Mapping[str, Any]
    """Validated against the driver's parameters, defaults filled in."""


@dataclass(frozen=True)
class Scenario:
    """One combination of factor levels, fully resolved: a driver builds it."""

    id: str
    """`s000`, `s001`, ... in the order of expansion (last factor varies fastest)."""
    levels: Mapping[str, Any]
    """Factor -> level as shown in results (a topology object is shown by its name)."""
    topology: Topology
    client: EndpointSpec
    server: EndpointSpec
    chain: ChainSpec
    probes: tuple[ProbeSpec, ...]
    monitors: tuple[MonitorSpec, ...]
    infrastructure: Infrastructure | None = None
    """Infrastructure of the scenario's variant; None: that of the workflow."""
    services: tuple[ServiceSpec, ...] = ()
    """Services of the run, in the order in which they were started. Between scenarios, only
    parameters differ that the service lists as `per_chain`."""


@dataclass(frozen=True)
class Variant:
    """One side of an interleaved comparison: the workflow with some values changed."""

    name: str
    """Level `variant` of its scenarios, by which results name it."""
    changes: Mapping[str, Any]
    """Path -> value, as for `--set`."""


@dataclass(frozen=True)
class StopWhen:
    """Sequential stopping: more rounds until all primary metrics are precise enough."""

    relative_half_width: float
    """Largest half-width of a confidence interval that is precise enough, as a ratio of the centre
    (`Design.centre`)."""
    max_rounds: int
    """A scenario stops after so many rounds, precise or not."""


@dataclass(frozen=True)
class SentinelSpec:
    """A chain of length 0 that is measured between blocks of trial groups, to see whether the
    machine changed."""

    probe: ProbeSpec
    metric: str
    """Metric of the probe that is compared."""
    every_visits: int = 4
    """Trial groups in a block; the last block of a round may have fewer. With variants, it is
    rounded up to a multiple of their number."""
    max_change_ratio: float = 0.2
    """Allowed difference of a reading from the median of the readings before it, as a ratio."""
    calibration: int = 6
    """How many good readings are taken before the first trial."""


@dataclass(frozen=True)
class NoiseGate:
    """Limits for what the machine may do around a trial that counts; None: no limit."""

    max_steal_ratio: float | None = 0.05
    """CPU time given to other guests before or after the trial, as a ratio of the time that the
    CPUs in use wanted."""
    max_run_queue: float | None = 0.25
    """Runnable tasks of other processes before the trial, per CPU."""
    max_other_cpu_ratio: float | None = 0.25
    """CPU time of other processes, as a ratio of the time of all CPUs."""
    max_frequency_drop_ratio: float | None = 0.1
    """How far the CPUs' frequency may be below the run's median, as a ratio. A throttled CPU is
    outside the gate, too."""
    sentinel: SentinelSpec | None = None
    """None: no sentinel is measured."""
    max_reruns: int = 2
    """How often one trial may be run again."""
    budget_ratio: float = 0.25
    """How many reruns the whole run may have, as a ratio of its planned trials."""
    settle_s: float = 2
    """Pause before the first reruns of a round, seconds; it doubles before each further series."""


@dataclass(frozen=True)
class Design:
    """The experiment's design: how often, in which order and until when its trials are measured."""

    rounds: int
    """Planned rounds; `stop_when` may add more."""
    warmup_rounds: int
    order: Literal["randomized-blocks", "sequential"]
    seed: int
    confidence: float
    """Confidence of intervals, e.g. 0.95."""
    stop_when: StopWhen | None
    """None: all scenarios stop after the planned rounds."""
    max_retries: int
    """How often a failed trial is retried."""
    noise_gate: NoiseGate | None = None
    """None: noise is recorded, but no trial is excluded or run again for it."""
    centre: Literal["mean", "median"] = "median"
    """Which of the two describes the trials of one scenario, probe and metric."""
    rarest_mode: float = 0.1
    """Share of trials in the rarest mode of the values. A mean gets an interval only if its trials
    had the chance to contain that mode."""
    runs: int = 1
    """How many independent runs of the whole workflow a campaign has."""

    @property
    def sentinel(self) -> SentinelSpec | None:
        """The noise gate's sentinel, if it has one."""
        return None if self.noise_gate is None else self.noise_gate.sentinel


@dataclass(frozen=True)
class FigureLine:
    """One of several quantities in a figure, drawn as a line of its own."""

    name: str
    """Name in the legend."""
    probe: str
    """Label of the probe during whose trials it was measured."""
    metric: str
    """Metric of the probe, or of the observations of `source`."""
    source: str | None = None
    """Source in telemetry; None: the metric is the probe's."""


FigureKind = Literal["line", "bar", "box", "ecdf", "ecdf-trials", "time"]
DISTRIBUTIONS = ("ecdf", "ecdf-trials")
"""Kinds that draw the distribution of samples, or of the trials' means."""


@dataclass(frozen=True)
class FigureSpec:
    """A figure to draw from the summaries: y against x, one line per level of `series`."""

    name: str
    """File name without ending, e.g. `fig8a`."""
    title: str
    probe: str
    """Label of the probe. For a figure with `lines`, it is the label of the figure's derived
    results."""
    metric: str
    """Metric that is shown; for a figure with `lines`, that of the first line."""
    x: str
    """Factor on the x axis."""
    series: str | None
    """Factor whose levels have a line each; None: there is one line."""
    x_label: str
    """Empty: the axis has the factor's name."""
    y_label: str
    """Empty: the axis has metric and unit."""
    y_scale: float
    """Values are multiplied by this before drawing (1e-3 for us -> ms)."""
    fit: Literal["none", "linear"]
    """Whether a line is fitted per series and its R^2 printed."""
    kind: FigureKind = "line"
    centre: Literal["mean", "median"] | None = None
    """What points and bars show, each with its own interval; None: what the design declares."""
    lines: tuple[FigureLine, ...] = ()
    """Quantities that have a line each; empty: the figure shows one metric of one probe."""
    legend: tuple[tuple[str, str, str], ...] = ()
    """(Factor, text of a level, its name in the legend). Other levels have the factor's name and
    their own."""


@dataclass(frozen=True)
class Operand:
    """A value that each round gives for a claim: the mean of a metric over scenarios, a difference
    or a ratio of two means, or a slope."""

    probe: str
    """Label of the probe."""
    metric: str
    """Metric of the probe, or of a monitor during its trials."""
    monitor: str | None = None
    """Source of the monitor's metric; None: the probe's metric."""
    at: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Factor -> texts of the levels whose scenarios are averaged."""
    minus: Mapping[str, tuple[str, ...]] | None = None
    """Levels whose mean is subtracted; factors that it lacks have those of `at`."""
    over: Mapping[str, tuple[str, ...]] | None = None
    """Levels by whose mean it is divided in each round, in the same way."""
    slope: str | None = None
    """Factor against which the metric's slope is taken; None: its mean."""


@dataclass(frozen=True)
class Claim:
    """A sentence about the results, with the quantity and the range by which a run tests it."""

    id: str
    text: str
    source: str
    """Where it is published."""
    conditions: str = ""
    """Set-up of the source."""
    published: float | str | None = None
    """Published value, in the unit of the quantity, or the direction in words."""
    digitised: bool = False
    """Whether the published value was read off a plot."""
    of: Operand | None = None
    """The quantity, or the numerator of the ratio; None for a claim about an order, or without a
    test."""
    to: Operand | None = None
    """Denominator of the ratio; None: there is none."""
    r_squared: bool = False
    """Whether the quantity is R² of the line whose slope `of` is."""
    order: tuple[Operand, ...] = ()
    """Means that rise in this order; empty: the claim is about a quantity."""
    above: float | None = None
    """The claim holds above this, in the unit of the quantity; None: however low it is."""
    below: float | None = None
    """The claim holds below this; None: however high it is."""
    unit: str = ""
    """Unit of the metric, where the quantity has one."""
    margin: str = ""
    """Where `above` and `below` come from."""
    not_comparable: str = ""
    """Why the set-up can neither confirm nor refute the claim; empty: it can."""
    not_tested: str = ""
    """Why no run of the workflow tests the claim; empty: one does."""

    @property
    def operands(self) -> tuple[Operand, ...]:
        """All operands of the quantity or the order."""
        return (*(each for each in (self.of, self.to) if each is not None), *self.order)


@dataclass(frozen=True)
class Workflow:
    """A whole experiment, validated and expanded."""

    name: str
    description: str
    driver: str
    config: Mapping[str, Any]
    scenarios: tuple[Scenario, ...]
    design: Design
    publish: tuple[PluginSpec, ...]
    figures: tuple[FigureSpec, ...]
    document: Mapping[str, Any]
    """The JSON document after overrides, before expansion; kept as workflow.applied.json."""
    folder: Path
    """Folder of the workflow's file, at which relative paths in it start."""
    variants: tuple[Variant, ...] = ()
    """Variants of an interleaved comparison; empty without one. The first is the baseline, whose
    infrastructure is `driver` and `config`."""
    analyses: tuple[PluginSpec, ...] = ()
    """Analyses besides the summary, in the order of the workflow."""
    claims: tuple[Claim, ...] = ()
    vnfds: Mapping[str, Path] = field(default_factory=dict)
    """VNF descriptors of the document: path as given -> file."""

    @property
    def functions(self) -> Iterator[FunctionSpec]:
        """The functions of all scenarios."""
        return (function for each in self.scenarios for function in each.chain.functions)

    @property
    def files(self) -> dict[str, Path]:
        """Files that knobs of VNFs name: path as the workflow has it -> file."""
        return {path: file for each in self.functions for path, file in each.located.items()}

    @property
    def services(self) -> tuple[ServiceSpec, ...]:
        """Services of the run, with the parameters that the first scenario gives them."""
        return self.scenarios[0].services

    @property
    def infrastructures(self) -> tuple[Infrastructure, ...]:
        """Infrastructures of all scenarios, each once; the workflow's own comes first."""
        infrastructures = [Infrastructure(self.driver, self.config)]
        for scenario in self.scenarios:
            infrastructure = self.infrastructure_of(scenario)
            if infrastructure not in infrastructures:
                infrastructures.append(infrastructure)
        return tuple(infrastructures)

    def infrastructure_of(self, scenario: Scenario) -> Infrastructure:
        """Infrastructure of a scenario: that of its variant, or else the workflow's."""
        return scenario.infrastructure or Infrastructure(self.driver, self.config)
