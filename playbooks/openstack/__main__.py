"""`python -m sfcperf.playbooks.openstack`: up, down, service; see the Makefile of the tree."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from sfcperf.errors import ExitCode, SfcperfError
from sfcperf.playbooks.openstack.layout import MOST_NODES, TREE, Layout
from sfcperf.playbooks.openstack.life import Words, down, up
from sfcperf.playbooks.openstack.service import act
from sfcperf.playbooks.openstack.start import Start

FOLDER = "SFCPERF_OPENSTACK"
"""Names another folder for the cloud, and so another cloud."""


def main() -> int:
    """One verb; the exit code."""
    arguments = _parser().parse_args()
    layout = Layout(Path(os.environ.get(FOLDER) or TREE / "build" / "openstack").resolve())
    try:
        if os.geteuid() != 0:
            print("openstack: namespaces need root: sudo", file=sys.stderr)
            return ExitCode.ENVIRONMENT
        return int(arguments.verb(layout, arguments))
    except SfcperfError as error:
        print("openstack: " + "\n".join(error.lines()), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="openstack", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    start = verbs.add_parser("up", help="start the cloud, or what is missing of it")
    start.add_argument(
        "--nodes",
        type=int,
        choices=range(1, MOST_NODES + 1),
        help="hypervisors, each with a switch of its own (default: 1)",
    )
    start.set_defaults(verb=lambda layout, arguments: up(layout, arguments.nodes))
    stop = verbs.add_parser("down", help="stop it; keep only files for the next start")
    stop.add_argument("--wipe", action="store_true", help="remove these files too")
    stop.set_defaults(verb=lambda layout, arguments: down(layout, wipe=arguments.wipe))
    inside = verbs.add_parser("inside", help=argparse.SUPPRESS)
    inside.add_argument("begun", type=float)
    inside.set_defaults(verb=_inside)
    service = verbs.add_parser("service", help="show or control one service of a running cloud")
    service.add_argument("what", choices=("status", "start", "stop", "restart", "kill"))
    service.add_argument("name", nargs="?")
    service.set_defaults(verb=lambda _, arguments: act(arguments.what, arguments.name))
    return parser


def _inside(layout: Layout, arguments: argparse.Namespace) -> int:
    Start(layout, Words(arguments.begun)).run()
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
