"""Hosts that are reached by SSH, as small as busybox and dropbear (docs/decisions/0012)."""

from sfcperf.hosts.ssh.access import LoginRefused, SshAccess, Unreachable
from sfcperf.hosts.ssh.host import SshHost
from sfcperf.hosts.ssh.keys import make_key

__all__ = ["LoginRefused", "SshAccess", "SshHost", "Unreachable", "make_key"]
