"""Scenarios: builds a scenario for each combination of levels, and checks what a schema cannot
express."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any, TypeVar

from sfcperf import plugins
from sfcperf.errors import InputError
from sfcperf.workflow import chain as chains
from sfcperf.workflow.document import Findings, pointer
from sfcperf.workflow.document.likeness import TELL_APART, alike, check_alike
from sfcperf.workflow.expand import Expansion
from sfcperf.workflow.infrastructure import build_infrastructure
from sfcperf.workflow.model import (
    EndpointSpec,
    Infrastructure,
    MonitorSpec,
    PluginSpec,
    ProbeSpec,
    Resources,
    Scenario,
)
from sfcperf.workflow.references import Combination, Level
from sfcperf.workflow.schema import parameters_with_defaults
from sfcperf.workflow.services import build_services, check_parameters, check_references
from sfcperf.workflow.topology import Report, build_topology
from sfcperf.workflow.vnfd import Descriptor, read_descriptor

T = TypeVar("T")
MAX_FILE_BYTES = 16 << 30
"""Largest size of a file that a knob names. Some files of the system have no end."""


@dataclass(frozen=True)
class ScenarioSet:
    """The scenarios of a document, or those of all variants together."""

    infrastructure: Infrastructure
    factors: Mapping[str, tuple[Level, ...]]
    scenarios: tuple[Scenario, ...]
    descriptors: Mapping[str, Path]
    """VNF descriptors of the document: path as given -> file."""


def build_scenarios(
    expansion: Expansion, folder: Path, within: Path | None, findings: Findings
) -> ScenarioSet:
    """Build the scenarios of an expansion whose sections all fit the schema. Errors are reported;
    from the first one on, no more scenarios are built, and the result must not be used.

    Relative paths start at `folder`, and must lead to files `within` a folder (None: to any file).
    """
    builder = _Builder(expansion, folder, within, findings)
    return ScenarioSet(
        build_infrastructure(expansion.document["infrastructure"]),
        expansion.factors,
        builder.scenarios(),
        builder.descriptors,
    )


class _Builder:
    """Builds the scenarios. Each form of a section is built once, however many scenarios share it.
    `descriptors` has the VNF descriptors of the scenarios built so far."""

    def __init__(
        self, expansion: Expansion, folder: Path, within: Path | None, findings: Findings
    ) -> None:
        self._expansion = expansion
        self._folder = folder
        self._within = within
        self._findings = findings
        self._built: dict[tuple[Any, ...], Any] = {}
        """Section and key of its form -> what was built from it."""
        self.descriptors: dict[str, Path] = {}

    def scenarios(self) -> tuple[Scenario, ...]:
        """Build the scenarios in order. After an error, only further errors are looked for, until
        there are so many that more would not be shown."""
        built = []
        for index, combination in enumerate(self._expansion.combinations()):
            scenario = self._scenario(f"s{index:03d}", combination)
            if scenario is not None:
                built.append(scenario)
            elif self._findings.are_many:
                break
        return tuple(built)

    def _scenario(self, scenario_id: str, combination: Combination) -> Scenario | None:
        """Build one scenario, and report its errors. None if any error has been found so far, in
        this scenario or before."""
        report = self._report(combination)
        topology = self._section("topology", combination, "T1", build_topology)
        vnfs = self._section("vnfs", combination, {}, self._vnfs)
        probes = self._section("probes", combination, [], _probes)
        monitors = self._section("monitors", combination, [], _monitors)
        services = self._section("services", combination, {}, build_services)
        endpoints = self._value("endpoints", combination, {})
        client = chains.build_endpoint("client", endpoints.get("client", {}), topology, report)
        server = chains.build_endpoint("server", endpoints.get("server", {}), topology, report)
        chain_value = self._value("chain", combination, {})
        functions = chains.build_functions(chain_value, vnfs, topology, report)
        chain = chains.build_chain(chain_value, functions, report)
        check_references(functions, services, report)
        if self._findings or client is None or server is None:
            return None
        # The checks that follow need values without errors.
        _check_addresses(client, server, report)
        probes = tuple(_with_port(probe, chains.port_for(probe, chain)) for probe in probes)
        chains.check_reachable(chain, client, server, topology, report)
        chains.check_classified(chain, client, server, probes, report)
        chains.check_redirections(chain, report)
        chains.check_redirected(chain, probes, report)
        levels = {name: level.label for name, level in combination.items()}
        return Scenario(
            scenario_id,
            levels,
            topology,
            client,
            server,
            chain,
            probes,
            monitors,
            services=services,
        )

    def _vnfs(self, value: Mapping[str, Any], report: Report) -> dict[str, chains.Vnf]:
        """Build the VNFs, by name; report names that are alike as names of files."""
        check_alike(("vnfs",), value, report)
        return {name: self._vnf(name, vnf, report) for name, vnf in value.items()}

    def _vnf(self, name: str, value: Mapping[str, Any], report: Report) -> chains.Vnf:
        """Build a VNF, and add its descriptor to `descriptors`. Its resources are those of the
        workflow, or else of its descriptor, or else the default."""
        path = ("vnfs", name)
        type_name = value["type"]
        vnfd = (self._folder / value["vnfd"]).resolve() if "vnfd" in value else None
        sizes = value.get("resources", {})
        descriptor = Descriptor(None, None)
        try:
            if vnfd is not None:
                if self._within is not None and not vnfd.is_relative_to(self._within):
                    raise InputError("this file does not come with the workflow")
                self.descriptors[value["vnfd"]] = vnfd
                descriptor = read_descriptor(vnfd)
            elif len(sizes) < 2 and (own := plugins.load("vnf", type_name).own_descriptor()):
                # The descriptor of its type is needed only for a size that the workflow lacks.
                descriptor = read_descriptor(own)
        except InputError as error:
            where = (*path, "vnfd") if vnfd is not None else (*path, "type")
            report(where, error.message, allowed=error.allowed, hint=error.hint)
        for field in sorted(descriptor.left_open & {"vcpus", "memory_mib"} - sizes.keys()):
            report(
                (*path, "vnfd"),
                f"the VNF descriptor {vnfd} does not set a fixed {field}",
                allowed="a fixed value, or an input with a default",
                hint=f"or set resources/{field} of this VNF in the workflow",
            )
        knobs = parameters_with_defaults("vnf", type_name, value.get("knobs", {}))
        files = self._locate_files((*path, "knobs"), type_name, knobs, report)
        if files is not None:  # a check may read them
            check_parameters((*path, "knobs"), "vnf", type_name, knobs, report)
        default = Resources()
        resources = Resources(
            sizes.get("vcpus") or descriptor.vcpus or default.vcpus,
            sizes.get("memory_mib") or descriptor.memory_mib or default.memory_mib,
        )
        return chains.Vnf(type_name, vnfd, value.get("node"), resources, knobs, files or {})

    def _locate_files(
        self, path: pointer.Path, type_name: str, knobs: dict[str, Any], report: Report
    ) -> dict[pointer.Path, str] | None:
        """Make the paths of files in a VNF's knobs, which are at `path`, absolute. Return place in
        the knobs -> the path as the workflow has it; None if a file is not there or does not come
        with the workflow, which is reported."""
        located, problems = {}, False
        for place in tuple(plugins.load("vnf", type_name).files(knobs)):
            holder = pointer.value_at(knobs, place[:-1])
            located[place] = holder[place[-1]]
            file = self._folder.absolute() / holder[place[-1]]
            holder[place[-1]] = str(file)
            if (problem := _file_problem(file, self._within)) is not None:
                report((*path, *place), problem)
                problems = True
        return None if problems else located

    def _section(
        self, name: str, combination: Combination, absent: Any, build: Callable[[Any, Report], T]
    ) -> T:
        """Build the form of a section, or return it if it was built before. Without the section,
        `absent` is built."""
        key = (name, *self._expansion.form_key(name, combination))
        if key not in self._built:
            value = self._value(name, combination, absent)
            self._built[key] = build(value, self._report(combination))
        built: T = self._built[key]
        return built

    def _value(self, name: str, combination: Combination, absent: Any) -> Any:
        """The form of a section for this combination; `absent` without the section."""
        forms = self._expansion.forms.get(name)
        return forms[self._expansion.form_key(name, combination)].value if forms else absent

    def _report(self, combination: Combination) -> Report:
        """Make a function that reports an error of this combination at its place in the user's
        document."""

        def report(
            path: pointer.Path, message: str, allowed: str | None = None, hint: str | None = None
        ) -> None:
            where, levels = self._expansion.locate(path, combination, whole=True)
            self._findings.add(where, message + levels, allowed=allowed, hint=hint)

        return report


def _file_problem(file: Path, within: Path | None) -> str | None:
    """Say why a workflow cannot have this file or folder; None if it can. Nothing is opened."""
    try:
        if within is not None and not file.resolve().is_relative_to(within):
            return "this file does not come with the workflow"
        found = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no file {file}"
    except OSError as error:
        return f"this file cannot be read: {error.strerror}"
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return f"this is no regular file: {file}"
    if found.st_size > MAX_FILE_BYTES:
        return f"the file {file} has more than {MAX_FILE_BYTES >> 30} GiB"
    return None


def _probes(value: list[Mapping[str, Any]], report: Report) -> tuple[ProbeSpec, ...]:
    """Build the probes of a scenario, and report labels that results could not tell apart."""
    specs = []
    for index, entry in enumerate(value):
        name = entry["probe"]
        values = {key: item for key, item in entry.items() if key not in ("probe", "name")}
        parameters = parameters_with_defaults("probe", name, values)
        check_parameters(("probes", index), "probe", name, parameters, report)
        label = entry.get("name") or plugins.load("probe", name).label(parameters)
        specs.append(ProbeSpec(index, name, label, parameters))
    labels = Counter(spec.label for spec in specs)
    # Label -> earlier label that differs from it only in case.
    earlier = {name: first for first, name in alike(labels)}
    for spec in specs:
        if labels[spec.label] > 1:
            report(
                ("probes", spec.index),
                f"{labels[spec.label]} probes have the label {spec.label!r}",
                hint="give each a different `name`",
            )
        elif spec.label in earlier:
            report(
                ("probes", spec.index),
                f"the labels {earlier[spec.label]!r} and {spec.label!r} differ only in case",
                allowed=TELL_APART,
                hint="give each a different `name`",
            )
    return tuple(specs)


def _with_port(probe: ProbeSpec, port: int | None) -> ProbeSpec:
    """Return the probe with its port set to `port`, if the probe would otherwise choose it itself.
    `port` None: it may."""
    properties = plugins.load("probe", probe.probe).parameters.get("properties", {})
    if port is None or "port" not in properties or "port" in probe.parameters:
        return probe
    return replace(probe, parameters={**probe.parameters, "port": port})


def _monitors(value: list[Mapping[str, Any]], report: Report) -> tuple[MonitorSpec, ...]:
    """Build the monitors of a scenario; report one that occurs twice."""
    specs = plugin_specs("monitor", value, "monitors", "monitor", report)
    return tuple(MonitorSpec(spec.name, spec.parameters) for spec in specs)


def plugin_specs(
    kind: str, entries: list[Mapping[str, Any]], section: str, selector: str, report: Report
) -> tuple[PluginSpec, ...]:
    """Build the plug-ins in a section of the document; each may occur once. `selector` is the key
    that names the plug-in."""
    specs: dict[str, PluginSpec] = {}
    for index, entry in enumerate(entries):
        name = entry[selector]
        if name in specs:
            report((section, index, selector), f"duplicate {kind} {name!r}")
        values = {key: item for key, item in entry.items() if key != selector}
        specs[name] = PluginSpec(name, parameters_with_defaults(kind, name, values))
    return tuple(specs.values())


def _check_addresses(client: EndpointSpec, server: EndpointSpec, report: Report) -> None:
    """Report addresses that no single host can have, and one that both endpoints have."""
    for endpoint in (client, server):
        kind = None if endpoint.address is None else _special_kind(IPv4Address(endpoint.address))
        if kind is not None:
            report(
                ("endpoints", endpoint.name, "address"),
                f"{endpoint.address} is {kind} address, but an endpoint is a single host",
                allowed="an IPv4 unicast address, e.g. 10.0.0.1",
            )
    if client.address is not None and client.address == server.address:
        report(("endpoints", "server", "address"), "client and server have the same address")


def _special_kind(address: IPv4Address) -> str | None:
    """Say what kind of address it is, if packets to it do not reach exactly one host through a
    chain (RFC 6890). None for an ordinary address, which an endpoint may have."""
    special = {
        "the limited broadcast": address == IPv4Address("255.255.255.255"),
        # As a source, an address of 0.0.0.0/8 means a host of this network (RFC 1122, 3.2.1.3).
        "an unspecified": address in IPv4Network("0.0.0.0/8"),
        "a loopback": address.is_loopback,
        "a link-local": address.is_link_local,
        "a multicast": address.is_multicast,
        "a reserved": address.is_reserved,
    }
    return next((kind for kind, applies in special.items() if applies), None)
