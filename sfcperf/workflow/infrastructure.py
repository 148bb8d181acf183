"""The infrastructure of a workflow: its driver, with the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.errors import InputError
from sfcperf.workflow.check import check_sections, named_plugins
from sfcperf.workflow.document import Findings
from sfcperf.workflow.expand import Expansion
from sfcperf.workflow.model import Infrastructure
from sfcperf.workflow.overrides import customise, parse_override
from sfcperf.workflow.profile import Profile
from sfcperf.workflow.schema import compose, parameters_with_defaults


def build_infrastructure(value: Mapping[str, Any]) -> Infrastructure:
    """Build the infrastructure from a section that fits the schema."""
    driver = value["driver"]
    config = parameters_with_defaults("driver", driver, value.get("config", {}))
    return Infrastructure(driver, config)


def load_infrastructure(
    overrides: Sequence[str], driver: str | None, profile: Profile | None
) -> Infrastructure:
    """Load the infrastructure that a workflow without an `infrastructure` section would get with
    these options.

    Raises InputError for an override of something else, WorkflowError for a configuration that the
    driver does not accept, EnvironmentLacks for a driver that cannot be imported.
    """
    for text in overrides:
        override = parse_override(text)
        if override.path[0] != "infrastructure":
            raise InputError(
                "without a workflow, only the infrastructure can be changed",
                where=override.source,
                allowed="--set infrastructure.config.KEY=VALUE",
            )
    # A document with this one section, which has no factors, is checked like any other.
    expansion = Expansion(customise({}, overrides, driver, profile), {})
    check_sections(expansion, compose(named_plugins(expansion)), Findings())
    return build_infrastructure(expansion.document["infrastructure"])
