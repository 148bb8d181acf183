"""`sfcperf validate WORKFLOW`: check the file, and that its driver can build it."""

from __future__ import annotations

from sfcperf.cli.arguments import DriverOption, ProfileOption, SetOption, WorkflowArgument


def validate(
    workflow: WorkflowArgument,
    driver: DriverOption = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
) -> None:
    """Check a workflow without running it. Exit code: 2 if there is an error."""
    from sfcperf.cli.inputs import open_workflow
    from sfcperf.control import validation

    loaded = open_workflow(workflow, overrides=set_, driver=driver, profile=profile)
    validation.validate(loaded)
    scenarios = len(loaded.scenarios)
    print(f"{loaded.name}: valid, {scenarios} scenario{'s' if scenarios != 1 else ''}")
