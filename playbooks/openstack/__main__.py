"""`python -m sfcperf.playbooks.openstack`: up, down, service; see the Makefile of the tree."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from sfcperf.errors import ExitCode, SfcperfError
from sfcperf.playbooks.openstack.layout import TREE, Layout

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
    up = verbs.add_parser("up", help="start the cloud; again: what is missing")
    up.set_defaults(verb=_up)
    down = verbs.add_parser("down", help="stop it; nothing stays but files for the next start")
    down.add_argument("--wipe", action="store_true", help="remove these files too")
    down.set_defaults(verb=_down)
    inside = verbs.add_parser("inside", help=argparse.SUPPRESS)
    inside.add_argument("begun", type=float)
    inside.set_defaults(verb=_inside)
    service = verbs.add_parser("service", help="one service of a cloud that runs")
    service.add_argument("what", choices=("status", "start", "stop", "restart", "kill"))
    service.add_argument("name", nargs="?")
    service.set_defaults(verb=_service)
    return parser


def _up(layout: Layout, _: argparse.Namespace) -> int:
    from sfcperf.playbooks.openstack.life import up

    return up(layout)


def _down(layout: Layout, arguments: argparse.Namespace) -> int:
    from sfcperf.playbooks.openstack.life import down

    return down(layout, wipe=arguments.wipe)


def _inside(layout: Layout, arguments: argparse.Namespace) -> int:
    from sfcperf.playbooks.openstack.life import Words
    from sfcperf.playbooks.openstack.start import Start

    Start(layout, Words(arguments.begun)).run()
    return ExitCode.OK


def _service(_: Layout, arguments: argparse.Namespace) -> int:
    from sfcperf.playbooks.openstack.service import act

    return act(arguments.what, arguments.name)


if __name__ == "__main__":
    sys.exit(main())
