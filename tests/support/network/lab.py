"""A lab of three machines that are made of namespaces, for tests."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfcperf import retry
from sfcperf.playbooks.lab.namespaces import CARDS, NamespaceLab

UNDONE_S = 30.0
"""Within this time after the last sign of life a machine is as it was."""
_numbers = itertools.count()


@contextmanager
def namespace_lab(folder: Path, machines: int = 3) -> Iterator[NamespaceLab]:
    """A lab whose names and addresses no other one has."""
    number = (os.getpid() * 7 + next(_numbers)) % 60_000
    # 198.18.0.0/15 is for benchmarks (RFC 2544).
    lab = NamespaceLab(folder, f"lab{number:x}", f"198.18.{number % 256}", machines)
    try:
        lab.up()
        cards_of_their_own(lab)
        yield lab
    finally:
        lab.down()


def config(lab: NamespaceLab) -> dict[str, Any]:
    """`infrastructure.config` of the lab."""
    found: dict[str, Any] = json.loads(lab.profile.read_text())["config"]
    return found


def with_cards(config: dict[str, Any], card: str) -> dict[str, Any]:
    """The configuration, with other network cards."""
    machines = {name: {**each, "nics": [card]} for name, each in config["machines"].items()}
    return {**config, "machines": machines}


def lacking() -> str | None:
    """What this machine lacks for a lab."""
    missing = [name for name in ("ssh", "sshd", "ssh-keygen", "unshare") if not shutil.which(name)]
    return f"needs {', '.join(missing)} (openssh-client, openssh-server)" if missing else None


def left(lab: NamespaceLab, tag: str, *nodes: str) -> list[str]:
    """What is on the machines of a run, and the network cards that are not as they were."""
    places = "/run /var/lib/sfcperf/machines /sys/fs/cgroup"
    script = f"mkdir -p /run/netns; find {places} -name '*{tag}*' 2>/dev/null || true"
    return [
        f"{node}: {line}"
        for node in nodes or lab.nodes
        for line in (*lab.run(node, script).splitlines(), *_changed_cards(lab, node))
    ]


def _changed_cards(lab: NamespaceLab, node: str) -> list[str]:
    """Network cards that are not as `cards_of_their_own` has made them."""
    return [
        f"{card} has changed"
        for card in CARDS
        if lab.run(node, _STATE.format(card=card)) != lab.run(node, f"cat /run/{card}.state")
    ]


_STATE = (
    "ip -o link show {card} | grep -o 'mtu [0-9]*\\|[<,]UP[,>]';"
    "ip -4 -o address show {card} | grep -o 'inet [^ ]*'; ethtool -k {card} 2>&1; true"
)
"""Prints what a run changes of a card."""


def cards_of_their_own(lab: NamespaceLab, *nodes: str) -> None:
    """Give the cards of machines what a run has to restore: an address, an MTU, offloads."""
    for node in nodes or lab.nodes:
        for card in CARDS:
            lab.run(
                node,
                f"ip link set {card} mtu 1900; ip address add 192.0.2.7/28 dev {card};"
                f"ethtool -K {card} gro on tx-checksum-ip-generic on;"
                f"({_STATE.format(card=card)}) >/run/{card}.state",
            )


def as_it_was(lab: NamespaceLab, tag: str, *nodes: str, within_s: float = UNDONE_S) -> bool:
    """Whether nothing of a run is left on its machines within this time."""
    return retry.until(lambda: left(lab, tag, *nodes) == [], timeout_s=within_s, period_s=0.5)
