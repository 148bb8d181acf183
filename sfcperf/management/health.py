"""Health of a deployment: the check that all drivers share."""

from __future__ import annotations

from sfcperf.management.deployment import Deployment


def problems(deployment: Deployment, *, timeout_s: int = 3, command_s: float = 2) -> list[str]:
    """List the functions that do not work. If all work, check whether the client reaches the
    server.

    The client waits `timeout_s` seconds for a reply; starting a command on its host may take
    `command_s` seconds. Raises MeasurementError when the command cannot be run.
    """
    found = [
        f"{function.name}: {problem}"
        for function in deployment.functions
        if (problem := function.alive()) is not None
    ]
    if not found:
        server = deployment.server.address
        # ping sends until the first reply: a single lost packet is not a problem.
        argv = ["ping", "-n", "-c", "1", "-i", "0.2", "-w", str(timeout_s), server]
        host = deployment.client.host
        if host.run(argv, timeout_s=timeout_s + command_s, check=False).returncode != 0:
            found.append(f"the client cannot ping the server at {server}")
    return found
