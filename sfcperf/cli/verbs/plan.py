"""`sfcperf plan WORKFLOW`: what would be measured, in which order, and for how long."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sfcperf.cli.arguments import (
    DriverOption,
    ProfileOption,
    RepeatOption,
    SetOption,
    WorkflowArgument,
)
from sfcperf.counts import count_text

if TYPE_CHECKING:
    from sfcperf.workflow.model import Design, Scenario, Workflow


def plan(
    workflow: WorkflowArgument,
    driver: DriverOption = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
    repeat: RepeatOption = None,
) -> None:
    """Show the trials of a workflow and estimate the time. Nothing is run.

    Exit code: 2 if the driver cannot build the workflow, 3 if an infrastructure other than this
    machine lacks something or has no room for it.
    """
    from sfcperf.cli.foreseen import say_warnings
    from sfcperf.cli.inputs import read_workflow
    from sfcperf.control.validation import check_remote, choices, validate

    loaded, _ = read_workflow(workflow, set_, driver, profile, repeat)
    validate(loaded)
    print_plan(loaded)
    for line in choices(loaded):
        print(line)
    say_warnings(loaded)
    check_remote(loaded)


_EXAMPLE_PERCENT = 5


def print_plan(workflow: Workflow) -> None:
    """Print scenarios, order of the trials, what the results can show, and estimated time."""
    from sfcperf.cli.terminal.text import levels_text, shown
    from sfcperf.presentation.claim_needs import rounds_text
    from sfcperf.presentation.wording import duration_text
    from sfcperf.workflow.plan import trial_groups, workflow_s
    from sfcperf.workflow.variants import LEVEL

    design = workflow.design
    print(f"{workflow.name}: {count_text(len(workflow.scenarios), 'scenario')}")
    for scenario in workflow.scenarios:
        functions = " -> ".join(function.name for function in scenario.chain.functions)
        levels = shown(levels_text(scenario.levels))
        print(f"  {scenario.id}  {levels}: {functions or 'no chain'}")
    _print_vnfs(workflow)
    for spec in workflow.services:
        print(f"service {spec.name}: {spec.service}")
    _print_variants(workflow)
    rounds = [(True, number + 1) for number in range(design.warmup_rounds)]
    rounds += [(False, number + 1) for number in range(design.rounds)]
    print(f"order ({design.order}, seed {design.seed}):")
    for warmup, number in rounds:
        print(f"  {'warm-up' if warmup else 'round'} {number}")
        block = ""
        for group in trial_groups(workflow, number, warmup=warmup):
            # A new block begins where the name of the block changes.
            if workflow.variants and block != (block := _block(group.scenario)):
                print(f"    {shown(block)}")
            labels = shown(", ".join(trial.probe.label for trial in group.trials))
            name = f"  {group.scenario.levels[LEVEL]} " if workflow.variants else ""
            print(f"    {name}{group.scenario.id}: {labels}")
    if design.stop_when is not None:
        width = design.stop_when.relative_half_width
        print(
            f"  then more rounds, up to {design.stop_when.max_rounds}, until the half-width of "
            f"each interval is at most {width:.3g} of its {design.centre}"
        )
    print(_intervals(design))
    print(_detectable(workflow))
    if workflow.claims:
        print(rounds_text(workflow))
    per_round = sum(len(scenario.probes) for scenario in workflow.scenarios)
    trials = count_text(per_round * design.rounds, "trial")
    one_s = workflow_s(workflow)
    print(f"{trials}, about {duration_text(one_s)} with deployments and warm-up")
    if design.runs > 1:
        _print_runs(design, per_round * design.rounds, one_s)


def _print_vnfs(workflow: Workflow) -> None:
    """Print each VNF with its type and those knobs that differ from the defaults, and the commands
    and files of programs."""
    from sfcperf.cli.terminal.text import shown
    from sfcperf.package.replay.describe import function_text, program_lines

    for text in dict.fromkeys(map(function_text, workflow.functions)):
        print(f"VNF {shown(text)}")
    for line in program_lines(workflow):
        print(shown(line))


def _print_runs(design: Design, trials: int, run_s: float) -> None:
    """Print how many runs a campaign has, each of them as printed above, with their seeds and the
    time of all together."""
    from sfcperf.presentation.wording import duration_text
    from sfcperf.workflow.repeats import run_seed

    seeds = ", ".join(str(run_seed(design.seed, n + 1)) for n in range(min(design.runs, 3)))
    more = ", ..." if design.runs > 3 else ""
    print(
        f"{design.runs} runs of that, each with an order of its own (seeds {seeds}{more}): "
        f"{trials * design.runs} trials, about {duration_text(run_s * design.runs)}"
    )


def _intervals(design: Design) -> str:
    """Say whether the design has enough rounds for confidence intervals."""
    from sfcperf.analysis.statistics import Rules

    fewest = Rules(design.confidence, design.centre, design.rarest_mode).fewest
    stop = design.stop_when
    most = design.rounds if stop is None else max(design.rounds, stop.max_rounds)
    text = f"results: the {design.centre} of the trials"
    if most >= fewest:
        return f"{text}, with intervals at {100 * design.confidence:g} %"
    return f"{text}, without intervals: they need {fewest} rounds (design.centre, design.rounds)"


def _detectable(workflow: Workflow) -> str:
    """Say what `sfcperf compare` can show of the variants of a run, or of two such runs without
    variants; or how many rounds it takes to show anything."""
    from sfcperf.analysis.comparison import Options, least_rounds_text
    from sfcperf.analysis.two_sample.detectable import smallest_shift

    paired, rows, alpha = bool(workflow.variants), _compared_rows(workflow), Options().alpha
    sides = "the variants, round by round" if paired else "two such runs"
    rounds = workflow.design.rounds
    text = f"{sides}, compared in {count_text(rows, 'row')}: "
    # The first step of Holm's correction.
    shift = smallest_shift(rounds, alpha / max(1, rows), paired=paired)
    if shift is None:
        return (
            f"{text}{count_text(rounds, 'round')} can show no change, whatever its size; use "
            f"{least_rounds_text(alpha, rows, paired=paired)}"
        )
    scatter = "differences in a round" if paired else "trials"
    return (
        f"{text}changes of {shift:.1f} standard deviations of the {scatter} or more are found with "
        f"80 % ({shift * _EXAMPLE_PERCENT:.0f} % if these scatter by {_EXAMPLE_PERCENT} %)"
    )


def _compared_rows(workflow: Workflow) -> int:
    """Count the rows of primary metrics in a comparison of all variants with the first one, or of
    two such runs: what is measured on both sides."""
    from sfcperf import plugins
    from sfcperf.workflow.plan import without_variant
    from sfcperf.workflow.variants import LEVEL

    measured: dict[str, set[tuple[str, ...]]] = {}
    for scenario in workflow.scenarios:
        side = measured.setdefault(scenario.levels.get(LEVEL, ""), set())
        levels = json.dumps(without_variant(scenario), default=str)
        for spec in scenario.probes:
            metrics = plugins.load("probe", spec.probe).metrics(spec.parameters)
            side |= {(levels, spec.label, m.name, m.unit) for m in metrics if m.primary}
    if not workflow.variants:
        return sum(map(len, measured.values()))
    baseline = measured.pop(workflow.variants[0].name)
    return sum(len(baseline & side) for side in measured.values())


def _print_variants(workflow: Workflow) -> None:
    """Print the variants that are compared, and what each of them changes."""
    from sfcperf.cli.terminal.text import shown

    for number, variant in enumerate(workflow.variants):
        changes = ", ".join(
            f"{path} = {json.dumps(value, ensure_ascii=False)}"
            for path, value in variant.changes.items()
        )
        if number == 0:
            print("variants, the first is the baseline:")
        print(f"  {variant.name}: {shown(changes) or 'unchanged workflow'}")


def _block(scenario: Scenario) -> str:
    """Name the block of a scenario by the levels that its variants share. In a block, all variants
    run back to back."""
    from sfcperf.cli.terminal.text import levels_text
    from sfcperf.workflow.plan import without_variant

    shared = without_variant(scenario)
    return f"block {levels_text(shared)}" if shared else "block of all variants"
