"""The workflow: what a user writes, validated, expanded into scenarios, and planned.

`load` makes a Workflow from a file, `plan` orders its trials, `schema` composes the JSON Schema.
The values of a loaded workflow are exported here.
"""

from sfcperf.workflow.model import (
    ChainSpec,
    Design,
    EndpointSpec,
    FunctionSpec,
    Infrastructure,
    MonitorSpec,
    ProbeSpec,
    Resources,
    Scenario,
    Topology,
    Workflow,
)

__all__ = [
    "ChainSpec",
    "Design",
    "EndpointSpec",
    "FunctionSpec",
    "Infrastructure",
    "MonitorSpec",
    "ProbeSpec",
    "Resources",
    "Scenario",
    "Topology",
    "Workflow",
]
