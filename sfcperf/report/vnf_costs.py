"""The report's answer to "Which VNF costs most?": a sentence, a bar for each VNF, and what is left
of the end-to-end time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.counts import count_text
from sfcperf.figures.attribution_bars import Bar, BarGroup, Part, Time, bar_groups
from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import scenario_name
from sfcperf.report.bar_axis import BarAxis
from sfcperf.results.store import RunFile, RunStore

MOST_OPEN = 4
"""Up to so many scenarios of a group, the page shows all of them at once."""

_CORES_WORTH_TELLING = 0.05
"""CPU cores that a VNF must use to be named as the busiest."""

Document = Mapping[str, Any]


@dataclass(frozen=True)
class CostRow:
    """A row of the section: what one VNF takes of the packets' time and of the CPU."""

    name: str
    bar: Part
    time: str
    difference: str
    """How much less than the first VNF; empty for that one."""
    p: str
    """P-value of that difference; empty for the first VNF."""
    cpu: str
    """CPU cores that the VNF used; empty if they were not measured."""


@dataclass(frozen=True)
class ScenarioCosts:
    """What each VNF costs in one scenario."""

    title: str
    answer: str
    is_sure: bool
    """Whether the answer is one VNF. False: the trials cannot tell which one costs most."""
    rows: tuple[CostRow, ...]
    """The VNFs, those with most time first."""
    rest: str
    """What is known of the time that VNFs do not take."""
    path: Bar
    path_axis: BarAxis | None
    """Axis as long as the end-to-end time. None if that time is not known, or if the parts are
    longer: then no path is drawn."""
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class CostGroup:
    """What each VNF costs in the scenarios of one probe and direction."""

    title: str
    answer: str
    is_sure: bool
    """Whether it is sure in all scenarios which VNF costs most."""
    styles: Mapping[str, palette.Style]
    axis: BarAxis
    scenarios: tuple[ScenarioCosts, ...]
    has_cpu: bool
    method: str


@dataclass(frozen=True)
class CostSection:
    """The report's section on what each VNF costs."""

    groups: tuple[CostGroup, ...]
    confidence: str
    centre: str
    """`mean` or `median`: a VNF's time is this of the means of its trials."""
    most_open: int = MOST_OPEN


def cost_section(run: RunStore) -> CostSection | None:
    """Return the section; None for a run in which no VNF was seen."""
    document = run.document(RunFile.ATTRIBUTION)
    if document is None:
        return None
    groups, centres = [], set()
    for group in bar_groups(document):
        ranked = [bar for bar in group.bars if bar.path["ranking"] is not None]
        if ranked:
            groups.append(_group(group, ranked))
            centres |= {bar.path["ranking"]["centre"] for bar in ranked}
    if not groups:
        return None
    # There is exactly one: the design declares it for the whole run.
    (centre,) = centres
    return CostSection(tuple(groups), f"{100 * document['confidence']:g} %", centre)


def answers(run: RunStore) -> list[str]:
    """Return the section in a few words: a line for each probe and direction."""
    section = cost_section(run)
    if section is None:
        return []
    return [f"{group.title}: {group.answer}" for group in section.groups]


def _group(group: BarGroup, bars: Sequence[Bar]) -> CostGroup:
    """Prepare one probe and direction. `bars`: those of the scenarios that have a ranking."""
    rankings = [bar.path["ranking"] for bar in bars]
    most = max(
        max(f["ci_high_us"] or 0.0, f["centre_us"]) for r in rankings for f in r["functions"]
    )
    words = _Words(units.scale_for([most], "us"))
    scenarios = tuple(map(words.scenario, bars))
    answer, is_sure = _overall(rankings, scenarios)
    return CostGroup(
        title=group.title,
        answer=answer,
        is_sure=is_sure,
        styles=group.styles,
        axis=BarAxis(most, words.scale),
        scenarios=scenarios,
        has_cpu=any(row.cpu for one in scenarios for row in one.rows),
        method=next((r["method"] for r in rankings if r["method"]), ""),
    )


def _overall(rankings: Sequence[Document], scenarios: Sequence[ScenarioCosts]) -> tuple[str, bool]:
    """Say which VNF costs most in how many scenarios, and whether that is sure in all of them."""
    if len(scenarios) == 1:
        return scenarios[0].answer, scenarios[0].is_sure
    firsts = [
        (ranking["most"][0], one.is_sure)
        for ranking, one in zip(rankings, scenarios, strict=True)
        if len(ranking["functions"]) > 1
    ]
    decided = Counter(name for name, is_sure in firsts if is_sure)
    undecided = Counter(name for name, is_sure in firsts if not is_sure)
    parts = [f"{name} costs most in {count}" for name, count in decided.items()]
    parts += [f"{name} took most in {count}, which is open" for name, count in undecided.items()]
    if alone := len(scenarios) - len(firsts):
        parts.append(f"{alone} have one VNF that was seen")
    return f"Of {count_text(len(scenarios), 'scenario')}: {'; '.join(parts)}.", not undecided


@dataclass(frozen=True)
class _Words:
    """Puts the scenarios of a group into words, with all times in one unit. A `ranking` is that of
    a path in attribution.json: its `functions` have those with most time first. Its `most` names
    the first one, and all that this one was not shown to exceed."""

    scale: units.Scale

    def scenario(self, bar: Bar) -> ScenarioCosts:
        """Put one scenario into words."""
        ranking = bar.path["ranking"]
        answer, is_sure = self._answer(ranking)
        return ScenarioCosts(
            title=scenario_name(bar.path["scenario"]),
            answer=answer,
            is_sure=is_sure,
            rows=tuple(self._rows(ranking)),
            rest=_rest(bar),
            path=bar,
            path_axis=_path_axis(bar),
            remarks=tuple(_cpu_remarks(ranking["functions"])),
        )

    def _answer(self, ranking: Document) -> tuple[str, bool]:
        """Say which VNF costs most, or why that is open; return also whether it is sure."""
        functions, most = ranking["functions"], ranking["most"]
        first = functions[0]
        # `{}` is the place of the verb.
        time = f"{first['name']} {{}}: {self._time(first)} per packet"
        if len(functions) == 1:
            return f"{time.format('is the only VNF that was seen')}.", True
        if len(most) == 1:
            others = "the other one" if len(functions) == 2 else "each of the others"
            p = max(d["p"] for d in ranking["differences"] if first["name"] == d["more"])
            return f"{time.format('costs most')}, more than {others} (p = {p:.2g}).", True
        return f"Open: {self._why_open(ranking)}", False

    def _why_open(self, ranking: Document) -> str:
        """Say why no VNF is shown to cost most, and how many trials would help, if that is
        known."""
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

    def _rows(self, ranking: Document) -> Iterator[CostRow]:
        """Yield a row for each VNF, those with most time first."""
        first = ranking["functions"][0]["name"]
        # Name of another VNF -> the difference of the first one to it.
        to_first = {d["less"]: d for d in ranking["differences"] if d["more"] == first}
        for function in ranking["functions"]:
            pair, cores = to_first.get(function["name"]), function["cpu_cores"]
            yield CostRow(
                name=function["name"],
                bar=_alone(function),
                time=self._time(function),
                difference=self._difference(pair),
                p="" if pair is None else f"{pair['p']:.2g}",
                cpu="" if cores is None else f"{cores:.2g}",
            )

    def _difference(self, pair: Document | None) -> str:
        """Return a difference with its interval; empty for None, the first VNF."""
        if pair is None:
            return ""
        return self._estimate(pair["shift_us"], pair)

    def _time(self, function: Document) -> str:
        """Return the time of a VNF with its interval."""
        return self._estimate(function["centre_us"], function)

    def _estimate(self, value: float, interval: Document) -> str:
        """Return a time (us) with the interval in a document, if that has one."""
        low, high = interval["ci_low_us"], interval["ci_high_us"]
        half = units.half_width(low, high)
        shown = self.scale.number(value, half)
        return self.scale.with_unit(
            shown if half is None else f"{shown} {self.scale.interval(low, high)}"
        )


def _alone(function: Document) -> Part:
    """Return a VNF's time as a bar of its own, which starts at 0."""
    centre = function["centre_us"]
    time = Time(centre, function["ci_low_us"], function["ci_high_us"])
    return Part(function["name"], "part", 0.0, centre, time)


def _path_axis(bar: Bar) -> BarAxis | None:
    """Return ScenarioCosts.path_axis of a bar."""
    end = bar.end
    if end is None or end.value_us <= 0 or bar.residual is None:
        return None
    if any(part.kind == "over" or part.time.value_us < 0 for part in bar.parts):
        return None
    return BarAxis(end.value_us, units.scale_for([end.value_us], "us"))


def _rest(bar: Bar) -> str:
    """Say where the end-to-end time goes; empty if it is not known. Times are means, as only these
    add up."""
    end, total, residual = bar.end, bar.sum, bar.residual
    if end is None or total is None or residual is None or bar.percent(total) is None:
        return ""
    others = bar.path["parts"]
    of_what = "" if others else " of SFFs, links and queues"
    parts = [
        ("VNFs", total),
        *((part["name"], Time(part["time"]["mean_us"])) for part in others),
        (f"residual{of_what}", residual),
    ]
    scale = units.scale_for([end.value_us], "us")
    shares = [
        f"{name} {scale.quantity(time.value_us)} ({bar.percent(time):.0f} %)"
        for name, time in parts
    ]
    return f"Of {scale.quantity(end.value_us)} end to end (means): {', '.join(shares)}."


def _cpu_remarks(functions: Sequence[Document]) -> Iterator[str]:
    """Yield a remark if another VNF than the slowest (the first of `functions`) uses most CPU, and
    more than twice as much: it works beside the way of the packets, which costs CPU and no
    delay."""
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
