"""Chain: the deployment of one scenario during a visit, proven before it is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfcperf.control.context import RunContext
from sfcperf.control.faults import describe
from sfcperf.errors import DeploymentError
from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.results.documents import plain
from sfcperf.workflow.plan import Visit


@dataclass(frozen=True)
class Standing:
    """A deployment that packets were seen to cross."""

    deployment: Deployment
    facts: Mapping[str, Any]
    """For TrialRecord.deployment."""


class Chain:
    """Stands when it is needed, and is taken away at the end of the visit."""

    def __init__(self, run: RunContext, visit: Visit) -> None:
        self._run = run
        self._store = run.store
        self._visit = visit
        self._deployment: Deployment | None = None
        self._standing: Standing | None = None

    def stand(self) -> Standing:
        """Deploy and prove, unless it stands. Raises DeploymentError, or what the driver did."""
        if self._standing is None:
            run, scenario = self._run, self._visit.scenario
            run.enter("deploying")
            with run.phases("deploying"), run.interrupts.allowed:
                self._deployment = run.driver_of(scenario).deploy(scenario)
            run.enter("verifying")
            with run.phases("verifying"), run.interrupts.allowed:
                proof = run.driver_of(scenario).prove_traversal(self._deployment, scenario)
            evidence = self._keep_evidence(self._deployment, proof)
            if not proof.proven:
                raise DeploymentError(
                    "packets do not traverse the chain as asked: "
                    + ("; ".join(proof.problems) or "no proof"),
                    where=evidence,
                )
            self._standing = Standing(self._deployment, self._facts(proof, evidence))
        return self._standing

    def fall(self) -> None:
        """Take the deployment away. What cannot be removed now is tried again when the run ends
        (the journal still has it), so the run goes on."""
        deployment, self._deployment, self._standing = self._deployment, None, None
        if deployment is None:
            return
        self._run.enter("tearing down")
        with self._run.phases("teardown"):
            try:
                self._run.driver_of(self._visit.scenario).teardown(deployment)
            except Exception as error:
                self._run.problems.append(f"tear-down of {deployment.id}: {describe(error)}")

    def _facts(self, proof: TraversalProof, evidence: str) -> dict[str, Any]:
        assert self._deployment is not None
        return {
            "id": self._deployment.id,
            "encapsulation": self._deployment.encapsulation,
            "spi": self._spi(proof),
            "traversal": {"proven": proof.proven, "method": proof.method, "evidence": evidence},
            "facts": dict(self._deployment.facts),
        }

    def _spi(self, proof: TraversalProof) -> int | None:
        """None where the infrastructure chains by other means than NSH."""
        seen = proof.forward + proof.reverse
        on_the_wire = not seen or any(hop.spi is not None for hop in seen)
        return self._visit.scenario.chain.spi if on_the_wire else None

    def _keep_evidence(self, deployment: Deployment, proof: TraversalProof) -> str:
        """What was seen, beside the trials' raw output; gives the path within the run folder."""
        prefix = "w" if self._visit.warmup else "r"
        name = f"{prefix}{self._visit.round:03d}-{self._visit.scenario.id}"
        file = _unused(self._store.folder / "raw" / "traversal", name, ".json")
        document = {
            "deployment": deployment.id,
            "scenario": self._visit.scenario.levels,
            "facts": deployment.facts,
            **asdict(proof),
        }
        file.write_text(json.dumps(document, indent=2, allow_nan=False, default=plain) + "\n")
        return str(file.relative_to(self._store.folder))


def _unused(folder: Path, name: str, suffix: str) -> Path:
    """`NAME-1`, or the next that an earlier attempt or session did not use."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while (file := folder / f"{name}-{number}{suffix}").exists():
        number += 1
    return file
