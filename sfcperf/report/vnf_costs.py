"""The report's answer to "Which VNF costs most?": a sentence, bars of the VNFs alone, and where the
rest of the end-to-end time goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.figures.attribution_figure import attribution_groups, timed_parts
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import scenario_name
from sfcperf.presentation.wording import count_text
from sfcperf.results.store import RunFile, RunStore

MOST_OPEN = 4
"""Scenarios of a group up to which all are shown at once."""

_CORES_WORTH_TELLING = 0.05

Document = Mapping[str, Any]


@dataclass(frozen=True)
class CostBar:
    """The time of a VNF; lengths in percent of the longest."""

    name: str
    value: str
    width: float
    whisker: tuple[float, float] | None
    """Start and length of the interval."""
    colour: str
    dark: str


@dataclass(frozen=True)
class CostRow:
    """A row of the table."""

    name: str
    time: str
    difference: str
    """How much less than the first VNF; empty for that one."""
    p: str
    cpu: str


@dataclass(frozen=True)
class Share:
    """A part of the end-to-end time."""

    name: str
    text: str
    percent: float
    kind: str
    """`vnf`, `residual`, or `part`."""
    colour: str
    dark: str


@dataclass(frozen=True)
class ScenarioCosts:
    """One scenario of a group."""

    title: str
    answer: str
    is_sure: bool
    bars: tuple[CostBar, ...]
    rows: tuple[CostRow, ...]
    rest: str
    """What is known of the time that VNFs do not take."""
    shares: tuple[Share, ...]
    """They add up to 100 %; empty where the end-to-end time is not known, or less than its
    parts."""
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class CostGroup:
    """Scenarios of one probe and direction."""

    title: str
    answer: str
    is_sure: bool
    scenarios: tuple[ScenarioCosts, ...]
    has_cpu: bool
    method: str


@dataclass(frozen=True)
class CostSection:
    """What the section shows."""

    groups: tuple[CostGroup, ...]
    confidence: str
    centre: str
    """`mean` or `median`: what times of VNFs are, of the trials' means."""
    most_open: int = MOST_OPEN


def cost_section(run: RunStore) -> CostSection | None:
    """None for a run in which no VNF was seen."""
    document = run.document(RunFile.ATTRIBUTION)
    if document is None:
        return None
    groups, centres = [], set()
    for label, direction, members in attribution_groups(document):
        ranked = [member for member in members if member["ranking"] is not None]
        if ranked:
            groups.append(_group(label, direction, ranked))
            centres |= {member["ranking"]["centre"] for member in ranked}
    if not groups:
        return None
    # The design declares one for the run.
    (centre,) = centres
    return CostSection(tuple(groups), f"{100 * document['confidence']:g} %", centre)


def answers(run: RunStore) -> list[str]:
    """The section in a few words: a line for each probe and direction."""
    section = cost_section(run)
    if section is None:
        return []
    return [f"{group.title}: {group.answer}" for group in section.groups]


def _group(label: str, direction: str, members: Sequence[Document]) -> CostGroup:
    names = dict.fromkeys(name for m in members for name, _ in timed_parts(m))
    looks = {name: palette.style(index) for index, name in enumerate(names)}
    most = max(
        max(f["ci_high_us"] or 0.0, f["centre_us"])
        for m in members
        for f in m["ranking"]["functions"]
    )
    scale = units.scale_for([most], "us")
    layout = _Layout(scale, 100 / (most or 1.0), looks)
    scenarios = tuple(layout.scenario(member) for member in members)
    answer, is_sure = _overall(members, scenarios)
    return CostGroup(
        title=label if direction == "forward" else f"{label}, {direction}",
        answer=answer,
        is_sure=is_sure,
        scenarios=scenarios,
        has_cpu=any(row.cpu for one in scenarios for row in one.rows),
        method=next((m["ranking"]["method"] for m in members if m["ranking"]["method"]), ""),
    )


def _overall(members: Sequence[Document], scenarios: Sequence[ScenarioCosts]) -> tuple[str, bool]:
    """Of all scenarios: which VNF, in how many."""
    if len(scenarios) == 1:
        return scenarios[0].answer, scenarios[0].is_sure
    rankings = [member["ranking"] for member in members]
    several = [
        (ranking["most"][0], one.is_sure)
        for ranking, one in zip(rankings, scenarios, strict=True)
        if len(ranking["functions"]) > 1
    ]
    told = Counter(name for name, is_sure in several if is_sure)
    undecided = Counter(name for name, is_sure in several if not is_sure)
    parts = [f"{name} costs most in {count}" for name, count in told.items()]
    parts += [f"{name} took most in {count}, which is open" for name, count in undecided.items()]
    if alone := len(scenarios) - len(several):
        parts.append(f"{alone} have one VNF that was seen")
    return f"Of {count_text(len(scenarios), 'scenario')}: {'; '.join(parts)}.", not undecided


@dataclass(frozen=True)
class _Layout:
    """From times to words and positions."""

    scale: units.Scale
    percent_per_us: float
    looks: Mapping[str, palette.Style]

    def scenario(self, member: Document) -> ScenarioCosts:
        ranking = member["ranking"]
        functions = ranking["functions"]
        answer, is_sure = self._answer(ranking)
        rest, shares = self._rest(member)
        return ScenarioCosts(
            title=scenario_name(member["scenario"]),
            answer=answer,
            is_sure=is_sure,
            bars=tuple(map(self._bar, functions)),
            rows=tuple(self._rows(ranking)),
            rest=rest,
            shares=shares,
            remarks=tuple(_cpu_remarks(functions)),
        )

    def _answer(self, ranking: Document) -> tuple[str, bool]:
        functions, most = ranking["functions"], ranking["most"]
        first = functions[0]
        time = f"{first['name']} {{}}: {self._time(first)} per packet"
        if len(functions) == 1:
            return f"{time.format('is the only VNF that was seen')}.", True
        if len(most) == 1:
            others = "the other one" if len(functions) == 2 else "each of the others"
            p = max(d["p"] for d in ranking["differences"] if first["name"] == d["more"])
            return f"{time.format('costs most')}, more than {others} (p = {p:.2g}).", True
        return f"Open: {self._why_open(ranking)}", False

    def _why_open(self, ranking: Document) -> str:
        functions, most, trials = ranking["functions"], ranking["most"], ranking["trials"]
        named = {
            f["name"]: f"{f['name']} ({self.scale.quantity(f['centre_us'])})" for f in functions
        }
        if trials < ranking["least_trials"]:
            return (
                f"{named[most[0]]} took most, but {count_text(trials, 'trial')} cannot show a "
                f"difference between {len(functions)} VNFs; {ranking['least_trials']} can."
            )
        names = " and ".join(named[name] for name in most[:3])
        if len(most) > 3:
            names += f" and {len(most) - 3} more"
        sentence = f"{names} cannot be told apart in {trials} trials"
        if ranking["trials_needed"]:
            return f"{sentence}; some {ranking['trials_needed']} would, if they differ as seen."
        return f"{sentence}."

    def _bar(self, function: Document) -> CostBar:
        look = self.looks[function["name"]]
        low, high = function["ci_low_us"], function["ci_high_us"]
        whisker = None if low is None else (self._percent(low), self._percent(high - low))
        return CostBar(
            name=function["name"],
            value=self._time(function),
            width=self._percent(function["centre_us"]),
            whisker=whisker,
            colour=look.colour,
            dark=look.dark,
        )

    def _percent(self, value_us: float) -> float:
        return round(max(value_us, 0.0) * self.percent_per_us, 2)

    def _rows(self, ranking: Document) -> Iterator[CostRow]:
        first = ranking["functions"][0]["name"]
        less = {d["less"]: d for d in ranking["differences"] if d["more"] == first}
        for function in ranking["functions"]:
            pair, cores = less.get(function["name"]), function["cpu_cores"]
            yield CostRow(
                name=function["name"],
                time=self._time(function),
                difference=self._difference(pair),
                p="" if pair is None else f"{pair['p']:.2g}",
                cpu="" if cores is None else f"{cores:.2g}",
            )

    def _difference(self, pair: Document | None) -> str:
        if pair is None:
            return ""
        return self._estimate(pair["shift_us"], pair)

    def _time(self, function: Document) -> str:
        return self._estimate(function["centre_us"], function)

    def _estimate(self, value: float, interval: Document) -> str:
        low, high = interval["ci_low_us"], interval["ci_high_us"]
        half = units.half_width(low, high)
        shown = self.scale.number(value, half)
        return self.scale.with_unit(
            shown if half is None else f"{shown} {self.scale.interval(low, high)}"
        )

    def _rest(self, member: Document) -> tuple[str, tuple[Share, ...]]:
        """Means: only they add up."""
        end, total = member["end_to_end"], member["sum"]
        if end is None or total is None or member["residual"] is None or end["mean_us"] <= 0:
            return "", ()
        parts = [("VNFs", "vnf", total["mean_us"])]
        parts += [(p["name"], "part", p["time"]["mean_us"]) for p in member["parts"]]
        others = "" if member["parts"] else " of SFFs, links and queues"
        parts.append((f"residual{others}", "residual", member["residual"]["mean_us"]))
        scale = units.scale_for([end["mean_us"]], "us")
        shares = []
        for index, (name, kind, mean_us) in enumerate(parts):
            # Other colours than those of single VNFs.
            percent, look = 100 * mean_us / end["mean_us"], palette.style(len(self.looks) + index)
            text = f"{name} {scale.quantity(mean_us)} ({percent:.0f} %)"
            shares.append(Share(name, text, percent, kind, look.colour, look.dark))
        sentence = (
            f"Of {scale.quantity(end['mean_us'])} end to end (means): "
            f"{', '.join(share.text for share in shares)}."
        )
        drawn = all(share.percent >= 0 for share in shares)
        return sentence, tuple(shares) if drawn else ()


def _cpu_remarks(functions: Sequence[Document]) -> Iterator[str]:
    """VNFs that work beside the way of the packets take CPU, and little of their time."""
    known = [f for f in functions if f["cpu_cores"] is not None]
    if len(known) < 2:
        return
    busiest = max(known, key=lambda f: f["cpu_cores"])
    of_first = functions[0]["cpu_cores"] or 0.0
    if busiest["cpu_cores"] > max(_CORES_WORTH_TELLING, 2 * of_first):
        yield (
            f"{busiest['name']} uses most CPU, {busiest['cpu_cores']:.2g} cores, though "
            "packets spend less time in it: work beside their way, such as the inspection of "
            "copies, costs CPU and no delay."
        )
