"""The infrastructure alone, without a workflow around it: what `doctor` checks."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.errors import InputError
from sfcperf.workflow import pointer
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.findings import Findings
from sfcperf.workflow.model import Infrastructure
from sfcperf.workflow.overrides import customise, parse_override
from sfcperf.workflow.profile import Profile
from sfcperf.workflow.schema import compose, parameters_of, section_schema
from sfcperf.workflow.validate import misfits

_SECTION = "infrastructure"


def infrastructure(
    overrides: Sequence[str], driver: str | None, profile: Profile | None
) -> Infrastructure:
    """As a workflow that says nothing about its infrastructure would be run with these options.

    Raises InputError for an override of something else, WorkflowError for what the driver does not
    take, EnvironmentLacks for a driver that cannot be imported.
    """
    for text in overrides:
        override = parse_override(text)
        if override.path[0] != _SECTION:
            raise InputError(
                "there is no workflow here that it could change",
                where=override.source,
                allowed=f"--set {_SECTION}.config.KEY=VALUE",
            )
    section = customise({}, overrides, driver, profile)[_SECTION]
    findings = Findings()
    _check(section, (), findings)
    _check(section, [("driver", section["driver"])], findings)
    name = section["driver"]
    config = with_defaults(parameters_of("driver", name), section.get("config", {}))
    return Infrastructure(name, config)


def _check(section: object, used: Sequence[tuple[str, str]], findings: Findings) -> None:
    for misfit in misfits(section_schema(compose(used), _SECTION), section):
        where = pointer.to_pointer((_SECTION, *misfit.path))
        findings.add(where, misfit.message, allowed=misfit.allowed, hint=misfit.hint)
    findings.raise_any()
