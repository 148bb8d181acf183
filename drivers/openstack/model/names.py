"""Names of what a run makes in a cloud: each carries the run's tag, no other run's things do."""

from __future__ import annotations

PREFIX = "sfcperf"


class Names:
    """By tag: 6 characters of [0-9a-z], the run's own."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.run = f"{PREFIX}-{tag}"
        """Of what there is one of: key pair, chain, security group."""

    def of(self, what: str) -> str:
        """`sfcperf-TAG-WHAT`."""
        return f"{self.run}-{what}"

    def machine(self, number: int, vnf: str) -> str:
        """`sfcperf-TAG-01-fwd`: the number is unique in the run."""
        return self.of(f"{number:02d}-{vnf}")

    def owns(self, name: str) -> bool:
        """Whether something of this name is the run's."""
        return name == self.run or name.startswith(f"{self.run}-")
