"""Claims: builds them from their section, and checks that what they need is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf import plugins
from sfcperf.workflow.document import Findings, choices
from sfcperf.workflow.document.pointer import Path
from sfcperf.workflow.model import Claim, Operand, ProbeSpec, Scenario
from sfcperf.workflow.references import level_text
from sfcperf.workflow.variants import LEVEL

_LEVELS = ("at", "minus", "over")
"""Keys of an operand that choose levels."""


def claims_of(values: Sequence[Mapping[str, Any]]) -> tuple[Claim, ...]:
    """Build the claims of a section that fits the schema. Nothing else is checked."""
    return tuple(_claim(value) for value in values)


def build_claims(
    values: Sequence[Mapping[str, Any]], scenarios: Sequence[Scenario], findings: Findings
) -> tuple[Claim, ...]:
    """Build the claims of a section that fits the schema, and check them against factors, levels,
    probes, metrics and units."""
    for index in check_tests(values, findings):
        _Check(index, values[index], findings, scenarios).operands()
    return claims_of(values)


def check_tests(values: Sequence[Mapping[str, Any]], findings: Findings) -> list[int]:
    """Check what needs neither scenarios nor plug-ins: that ids are unique, what tests each claim,
    and when it holds. Return the places of the claims that say so."""
    seen: set[str] = set()
    complete = []
    for index, value in enumerate(values):
        check = _Check(index, value, findings)
        if value["id"] in seen:
            check.report("id", f"duplicate claim {value['id']!r}")
        seen.add(value["id"])
        if check.is_complete():
            complete.append(index)
    return complete


def mark_removed(whole: Mapping[str, Any], applied: dict[str, Any]) -> None:
    """Note `not_tested` in the claims of `applied` that need a level or a probe which the preset or
    `--set` removed or replaced. `whole`: the document before these; both may have errors, which are
    found later."""
    levels, present = (
        {name: _labels(values) for name, values in _factors(document).items()}
        for document in (whole, applied)
    )
    probes, measured = _probes(whole), _probes(applied)
    claims = applied.get("claims")
    for value in claims if isinstance(claims, list) else ():
        if not isinstance(value, dict) or "not_tested" in value:
            continue
        lacking = [
            f"no level {text} of {factor!r}"
            for factor, text in _levels_within(value)
            if text in levels.get(factor, ()) and text not in present.get(factor, ())
        ] + [
            f"no probe {label!r} that is a {probes[label]}"
            for label in _probes_within(value)
            if label in probes and measured.get(label) != probes[label]
        ]
        if lacking:
            value["not_tested"] = f"this run has {lacking[0]}"


@dataclass(frozen=True)
class _Check:
    """Checks one claim, and adds its errors to the findings."""

    index: int
    value: Mapping[str, Any]
    """Entry of the section."""
    findings: Findings
    scenarios: Sequence[Scenario] = ()

    def report(
        self, at: str | Path, message: str, allowed: str | None = None, hint: str | None = None
    ) -> None:
        """Report an error at a key of the claim, or at a path inside of it; `()` is the claim."""
        inside = (at,) if isinstance(at, str) else at
        self.findings.add(("claims", self.index, *inside), message, allowed, hint)

    def is_complete(self) -> bool:
        """Whether the claim has what a test needs; reports what is missing or too much."""
        value = self.value
        if "not_tested" in value:
            return False
        tests = [key for key in ("quantity", "order") if key in value]
        if len(tests) != 1:
            self.report(
                (),
                "it has `quantity` and `order`" if tests else "it does not say how to test it",
                "one of `quantity` and `order`",
                'a claim that no run can test has "not_tested", the reason',
            )
            return False
        ends = [value[key] for key in ("above", "below") if key in value]
        if "order" in value and ends:
            self.report((), "an order has no `above` and `below`", hint="use `quantity`")
        elif "quantity" in value and not ends:
            self.report((), "it does not say when it holds", "`above`, `below`, or both")
        if len(ends) == 2 and ends[0] >= ends[1]:
            self.report("below", f"{ends[1]:g} is not more than `above`, {ends[0]:g}")
        quantity = value.get("quantity", {})
        if quantity.get("r_squared") and ("slope" not in quantity["of"] or "to" in quantity):
            self.report(("quantity", "r_squared"), "R² needs a `slope` in `of`, and no `to`")
        return True

    def operands(self) -> None:
        """Check all operands, and the unit of the quantity."""
        quantity = self.value.get("quantity", {})
        named: list[tuple[Path, Mapping[str, Any]]] = [
            (("quantity", key), quantity[key]) for key in ("of", "to") if key in quantity
        ]
        named += [(("order", n), each) for n, each in enumerate(self.value.get("order", []))]
        units = [self._operand(at, each) for at, each in named]
        has_unit = (
            "quantity" in self.value
            and len(named) == 1
            and not quantity.get("r_squared")
            and "over" not in quantity["of"]
        )
        if has_unit and units[0] is not None:
            self._unit(units[0])
        elif not has_unit and "unit" in self.value:
            self.report("unit", "this quantity has no unit")

    def _unit(self, unit: str) -> None:
        if "unit" not in self.value:
            self.report((), "'unit' is missing, that of `above` and `below`", allowed=unit)
        elif self.value["unit"] != unit:
            metric = self.value["quantity"]["of"]["metric"]
            self.report("unit", f"the unit of {metric} is {unit}", allowed=unit)

    def _operand(self, at: Path, value: Mapping[str, Any]) -> str | None:
        """Check an operand; return the unit of its metric, None if that is unknown."""
        for key in _LEVELS:
            for factor, chosen in value.get(key, {}).items():
                self._levels((*at, key, factor), factor, _listed(chosen))
        if "slope" in value:
            self._slope((*at, "slope"), value["slope"])
        one_of = [key for key in ("slope", "minus", "over") if key in value]
        if len(one_of) > 1:
            self.report((*at, one_of[1]), f"it has {one_of[0]!r} already", "one of the two")
        probes = {probe.label: probe for each in self.scenarios for probe in each.probes}
        probe = probes.get(value["probe"])
        if probe is None:
            message = f"there is no probe labelled {value['probe']!r}"
            self.report((*at, "probe"), message, **choices(value["probe"], probes))
            return None
        if "monitor" in value:
            if not any(scenario.monitors for scenario in self.scenarios):
                self.report((*at, "monitor"), "this workflow has no monitors")
            return None
        return self._metric_unit((*at, "metric"), probe, value["metric"])

    def _metric_unit(self, at: Path, probe: ProbeSpec, name: str) -> str | None:
        metrics = {m.name: m for m in plugins.load("probe", probe.probe).metrics(probe.parameters)}
        if name not in metrics:
            message = f"the probe {probe.label!r} has no metric {name!r}"
            self.report(at, message, **choices(name, metrics))
            return None
        return str(metrics[name].unit)

    def _levels(self, at: Path, factor: str, chosen: Iterable[Any]) -> None:
        known = self._known(factor)
        if known is None:
            factors = list(self.scenarios[0].levels)
            self.report(at, f"there is no factor {factor!r}", **choices(factor, factors))
            return
        texts = [level_text(level) for level in known]
        for level in map(level_text, chosen):
            if level not in texts:
                self.report(at, f"{factor!r} has no level {level!r}", **choices(level, texts))

    def _slope(self, at: Path, factor: str) -> None:
        known = self._known(factor)
        if known is None:
            factors = list(self.scenarios[0].levels)
            self.report(at, f"there is no factor {factor!r}", **choices(factor, factors))
        elif any(isinstance(level, bool | str) for level in known):
            self.report(at, f"levels of {factor!r} are not all numbers: there is no slope")

    def _known(self, factor: str) -> list[Any] | None:
        """Levels of a factor; None if no scenario has it."""
        levels = [each.levels[factor] for each in self.scenarios if factor in each.levels]
        return levels or None


def _claim(value: Mapping[str, Any]) -> Claim:
    """Build a claim from an entry of the section."""
    quantity = value.get("quantity", {})
    own = {k: v for k, v in value.items() if k not in ("quantity", "order")}
    return Claim(
        **own,
        of=_operand(quantity["of"]) if "of" in quantity else None,
        to=_operand(quantity["to"]) if "to" in quantity else None,
        r_squared=quantity.get("r_squared", False),
        order=tuple(_operand(each) for each in value.get("order", ())),
    )


def _operand(value: Mapping[str, Any]) -> Operand:
    chosen = {key: _texts(value[key]) for key in _LEVELS if key in value}
    return Operand(**{**value, **chosen})


def _texts(levels: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {factor: tuple(map(level_text, _listed(value))) for factor, value in levels.items()}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _factors(document: Mapping[str, Any]) -> dict[str, Any]:
    """The factors of a document, and the names of its variants as levels of one more."""
    factors = document.get("factors")
    variants = document.get("variants")
    return {
        **(factors if isinstance(factors, dict) else {}),
        LEVEL: list(variants) if isinstance(variants, dict) else [],
    }


def _labels(values: Any) -> set[str]:
    """Texts of levels as results show them: that of a level with a name is the name."""
    listed = values if isinstance(values, list) else []
    return {level_text(v["name"] if isinstance(v, dict) and "name" in v else v) for v in listed}


def _levels_within(value: Any) -> list[tuple[str, str]]:
    """All (factor, text of a level) that a claim names, wherever they are in it."""
    if isinstance(value, list):
        return [pair for item in value for pair in _levels_within(item)]
    if not isinstance(value, dict):
        return []
    pairs = [
        (factor, level_text(level))
        for key in _LEVELS
        if isinstance(value.get(key), dict)
        for factor, chosen in value[key].items()
        for level in _listed(chosen)
    ]
    return [*pairs, *(pair for item in value.values() for pair in _levels_within(item))]


def _probes(document: Mapping[str, Any]) -> dict[str, str]:
    """Label of each probe of a document -> its plug-in."""
    probes = document.get("probes")
    return {
        str(probe.get("name", probe.get("probe"))): str(probe.get("probe"))
        for probe in (probes if isinstance(probes, list) else ())
        if isinstance(probe, dict)
    }


def _probes_within(value: Any) -> list[str]:
    """Labels of all probes that a claim names."""
    if isinstance(value, list):
        return [label for item in value for label in _probes_within(item)]
    if not isinstance(value, dict):
        return []
    own = [value["probe"]] if isinstance(value.get("probe"), str) else []
    return [*own, *(label for item in value.values() for label in _probes_within(item))]
