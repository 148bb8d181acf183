"""Echo requests through a chain, none of which is taken for lost because it is late."""

from __future__ import annotations

from sfcperf.management.deployment import Deployment


def ping(deployment: Deployment, count: int = 3, *options: str) -> int:
    """Replies to so many pings from client to server.

    All requests leave at once. Otherwise ping, once it has had a reply, waits for the last ones no
    longer than two round trips or an interval whatever `-W` says, which is too short on a busy
    machine.
    """
    return printed(deployment, count, *options).count("bytes from")


def printed(deployment: Deployment, count: int, *options: str) -> str:
    """What ping prints of it."""
    argv = ["ping", "-n", "-c", str(count), "-l", str(count), "-i", "5", "-W", "5", *options]
    before = {function.name: function.counters() for function in deployment.functions}
    done = deployment.client.host.run([*argv, deployment.server.address], timeout_s=20, check=False)
    if done.text.count("bytes from") != count:
        # Where they were lost: shown with the failure.
        print(done.text)
        for function in deployment.functions:
            print(function.name, "before", before[function.name], "after", function.counters())
    return done.text
