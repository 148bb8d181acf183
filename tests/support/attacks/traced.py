"""What SFCPerf opens and whom it calls while it judges a hostile input, by strace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import sfcperf

VERBS = ("validate", "plan", "verify", "replay")
"""Verbs that execute nothing of a stranger's file (docs/explanation/trust.md)."""
_TREE = Path(sfcperf.__file__).parents[1]
_INSTALLATION = (sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", str(_TREE))
_SYSTEM = re.compile(
    r"/(?:etc/(?:ld\.so\.cache|localtime|locale\.alias|nsswitch\.conf|passwd|group|gitconfig|mime\.types|os-release|ssl/.*"
    r"|fonts/.*|gai\.conf|apache2/mime\.types)"
    r"|dev/(?:null|urandom|random|zero)"
    r"|proc/(?:self|\d+|sys|meminfo|cpuinfo|stat|mounts|filesystems|loadavg|version)(?:/.*)?"
    r"|sys/.*|pipe:.*|anon_inode:.*|var/cache/fontconfig(?:/.*)?)"
)
"""What Python and its libraries read for themselves; nothing that an input may name."""
_OPENED = re.compile(r"open(?:at2?)?\(.*= \d+<(?P<path>[^>]+)>")
FONTS = str(Path.home() / ".cache" / "matplotlib")
"""Where matplotlib keeps its list of fonts; the input does not choose what is in it."""
_LOG = "strace"
_FAMILY = re.compile(r"socket(?:pair)?\((?P<family>\w+)")


def strace(arguments: Sequence[str], folder: Path) -> list[str]:
    """What comes before a command with these arguments; empty if it may execute what it reads, or
    where there is no strace."""
    program = shutil.which("strace")
    if program is None or arguments[0] not in VERBS or "--trust" in arguments:
        return []
    calls = ["-e", "trace=network,open,openat,openat2"]
    argv = [program, "-f", "-qq", "-y", "-s", "4096", "--seccomp-bpf", *calls]
    return [*argv, "-o", str(folder / _LOG)]


def faults(folder: Path) -> list[str]:
    """Network calls, and files opened elsewhere than in the input's folder, in the installation and
    in private folders, by the command that `strace` has followed, if any."""
    log = folder / _LOG
    if not log.exists():
        return []
    private = (str(folder / name) for name in ("inputs", "tmp", "state"))
    allowed = (*private, FONTS, *_INSTALLATION, *_repository())
    return sorted(set(_told(log.read_text(errors="replace"), allowed)))


@cache
def _repository() -> tuple[str, ...]:
    """Where git keeps the commits of this tree: `verify` asks for the one that is checked out."""
    asked = ["git", "-C", str(_TREE), "rev-parse", "--path-format=absolute", "--git-common-dir"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return (done.stdout.strip(),) if done.returncode == 0 else ()


def _told(log: str, allowed: tuple[str, ...]) -> Iterator[str]:
    for line in log.splitlines():
        call = _FAMILY.search(line)
        if call and call["family"] not in ("AF_UNIX", "AF_NETLINK"):
            yield line.partition(" ")[2]
        opened = _OPENED.search(line)
        path = os.path.normpath(opened["path"]) if opened else ""
        if path and not _SYSTEM.fullmatch(path) and not _is_in(path, allowed):
            yield f"opened {path}"


def _is_in(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
