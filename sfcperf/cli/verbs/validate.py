"""`sfcperf validate WORKFLOW`: check the file, and that its driver can build it."""

from __future__ import annotations

from sfcperf.cli.arguments import DriverOption, ProfileOption, SetOption, WorkflowArgument
from sfcperf.counts import count_text


def validate(
    workflow: WorkflowArgument,
    driver: DriverOption = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
) -> None:
    """Check a workflow without running it. Whether this machine has what it needs, such as the
    programs of its VNFs, is checked by `sfcperf run`, before anything is built, and by `sfcperf run
    --dry-run`. Exit code: 2 if there is an error."""
    from sfcperf.cli.foreseen import say_warnings
    from sfcperf.cli.inputs import read_workflow
    from sfcperf.control import validation

    loaded, _ = read_workflow(workflow, set_, driver, profile)
    validation.validate(loaded)
    say_warnings(loaded)
    print(f"{loaded.name}: valid, {count_text(len(loaded.scenarios), 'scenario')}")
    print("not checked: whether this machine has what it needs (`sfcperf run --dry-run`)")
