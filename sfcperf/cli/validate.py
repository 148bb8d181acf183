"""`sfcperf validate WORKFLOW`: is the file right, and can its driver build what it asks for."""

from __future__ import annotations

from sfcperf.cli.arguments import DriverOption, ProfileOption, SetOption, WorkflowArgument


def validate(
    workflow: WorkflowArgument,
    driver: DriverOption = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
) -> None:
    """Check a workflow without running it. Exit code 2 when something is wrong with it."""
    from sfcperf.cli.inputs import open_workflow
    from sfcperf.control.admission import admit

    loaded = open_workflow(workflow, overrides=set_, driver=driver, profile=profile)
    admit(loaded)
    scenarios = len(loaded.scenarios)
    print(f"{loaded.name}: valid, {scenarios} scenario{'s' if scenarios != 1 else ''}")
