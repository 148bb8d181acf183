"""Cleanup: remove what a run made in clouds, and on existing machines, by its journal alone."""

from sfcperf.drivers.openstack.cleanup import workdirs
from sfcperf.drivers.openstack.cleanup.journal_cleanup import clean_up, remove, remove_journaled

__all__ = ["clean_up", "remove", "remove_journaled", "workdirs"]
