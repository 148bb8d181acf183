"""One service of a cloud that runs, for tests that take it away (inside of the namespaces)."""

from __future__ import annotations

from sfcperf import retry
from sfcperf.errors import EnvironmentLacks, ExitCode, InputError
from sfcperf.playbooks.openstack.services import HTTP_PORTS, speaks_http
from sfcperf.playbooks.openstack.supervisor import Supervisor

ANSWERS_WITHIN_S = 120.0


def act(what: str, name: str | None) -> int:
    """Do it; raises `InputError` for a service that is not there."""
    supervisor = Supervisor()
    try:
        states = supervisor.states()
    except OSError as error:
        raise EnvironmentLacks(
            f"the supervisor of the services does not answer: {error}",
            hint="run make openstack-up, and this command inside: playbooks/openstack/service",
        ) from error
    if name is not None and name not in states:
        raise InputError(f"there is no service {name}", allowed=", ".join(states))
    if what == "status":
        for state in states.values():
            if name in (None, state.name):
                print(f"{state.name:20} {state.word:9} {state.said}")
        return ExitCode.OK
    if name is None:
        raise InputError(f"name the service to {what}", allowed=", ".join(states))
    if what == "kill":
        supervisor.kill(name)
    if what in ("stop", "restart"):
        supervisor.stop(name)
    if what in ("start", "restart"):
        supervisor.start(name)
        # Services without a port do not say when they are ready.
        if (port := HTTP_PORTS.get(name)) is not None and not retry.until(
            lambda: speaks_http(port), timeout_s=ANSWERS_WITHIN_S, period_s=0.1
        ):
            raise EnvironmentLacks(f"{name} does not answer after {ANSWERS_WITHIN_S:g} s")
    return ExitCode.OK
