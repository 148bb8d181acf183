"""Chains of VNFs on paper, and a stand-in for the tool `pptmon` that keeps to its output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment, Endpoint, ServiceFunction

STAND_IN = r"""#!/bin/sh
# Says what pptmon says, sees nothing. Files beside it change what it does at one VNF.
here=$(dirname "$0")
for option; do
	case $previous in
	--mode) mode=$option ;;
	--vnf-id) id=$option ;;
	--ingress) ingress=$option ;;
	--egress) egress=$option ;;
	esac
	previous=$option
done
echo "start $mode $id $ingress $*" >>"$here/log"
if [ -e "$here/fails-$id" ]; then
	echo '{"event": "failed", "error": "no clsact here"}'
	exit 3
fi
trap 'echo "stop $mode $id $ingress" >>"$here/log"
	[ -e "$here/swallowed" ] && reported=0 || reported=2
	echo "{\"event\": \"counters\", \"sampled\": 9, \"failed\": 0, \"reported\": $reported}"
	exit 0' TERM
printf '{"event": "ready", "mode": "%s", "vnf_id": %d, "ingress": "%s", "egress": "%s", ' \
	"$mode" "$id" "$ingress" "$egress"
echo '"attach": "tcx", "format": "rfc"}'
[ -e "$here/samples-$id" ] && cat "$here/samples-$id"
[ -e "$here/dies-$id" ] && exit 0
while :; do sleep 0.02; done
"""


def stand_in(folder: Path) -> Path:
    """Put it there; gives its log."""
    tool = folder / "pptmon"
    tool.write_text(STAND_IN)
    tool.chmod(0o755)
    return folder / "log"


def function(
    position: int,
    kind: str = "router",
    *,
    host: NamespaceHost | None = None,
    interfaces: tuple[str, ...] | None = None,
) -> ServiceFunction:
    """One VNF of a chain, `router-2` at position 2. A forwarder takes NSH, by one interface."""
    nsh_aware = kind == "forwarder"
    return ServiceFunction(
        name=f"{kind}-{position}",
        vnf=kind,
        type=kind,
        position=position,
        node="node1",
        host=host or cast(Any, None),
        interfaces=interfaces or (("eth0",) if nsh_aware else ("eth0", "eth1")),
        nsh_aware=nsh_aware,
        vcpus=(),
        counters=lambda: {},
        alive=lambda: None,
    )


def chain(functions: Sequence[ServiceFunction]) -> Deployment:
    """A deployment of these, which nobody built."""
    ends = {
        name: Endpoint(name, "node1", cast(Any, None), f"10.0.0.{number}", "eth0", 1400)
        for number, name in enumerate(("client", "server"), 1)
    }
    return Deployment("d", ends["client"], ends["server"], tuple(functions), (), {}, "nsh-eth")
