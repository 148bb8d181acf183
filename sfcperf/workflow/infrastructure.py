"""The infrastructure alone, without a workflow, for `sfcperf doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.errors import InputError
from sfcperf.workflow.findings import Findings
from sfcperf.workflow.model import Infrastructure
from sfcperf.workflow.overrides import customise, parse_override
from sfcperf.workflow.profile import Profile
from sfcperf.workflow.schema import compose, parameters_with_defaults
from sfcperf.workflow.validate import section_misfits

_SECTION = "infrastructure"


def infrastructure(
    overrides: Sequence[str], driver: str | None, profile: Profile | None
) -> Infrastructure:
    """The infrastructure of a workflow without its own, run with these options.

    Raises InputError for an override of something else, WorkflowError for a configuration that the
    driver does not accept, EnvironmentLacks for a driver that cannot be imported.
    """
    for text in overrides:
        override = parse_override(text)
        if override.path[0] != _SECTION:
            raise InputError(
                "without a workflow, only the infrastructure can be changed",
                where=override.source,
                allowed=f"--set {_SECTION}.config.KEY=VALUE",
            )
    section = customise({}, overrides, driver, profile)[_SECTION]
    findings = Findings()
    # The driver's own schema can be composed only if the driver exists.
    for used in ([], ["driver"]):
        schema = compose([(kind, section[kind]) for kind in used])
        findings.add_misfits(section_misfits(schema, _SECTION, section))
        findings.raise_any()
    name = section["driver"]
    config = parameters_with_defaults("driver", name, section.get("config", {}))
    return Infrastructure(name, config)
