"""ChainDeployment: a scenario deployed for a trial group, proven before it is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sfcperf.control.context import RunContext
from sfcperf.control.faults import describe
from sfcperf.errors import DeploymentError
from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.results.documents import plain
from sfcperf.workflow.plan import TrialGroup


@dataclass(frozen=True)
class ProvenChain:
    """A deployed chain, of which marked packets have shown that they cross its functions as
    requested."""

    deployment: Deployment
    facts: Mapping[str, Any]
    """What each trial's record says about the deployment (TrialRecord.deployment)."""


class ChainDeployment:
    """Deploys the scenario of a trial group when a trial needs it, and proves it. `ensure` may be
    called for each trial; after `remove`, it deploys the scenario anew. `remove` also ends it with
    the group."""

    def __init__(self, run: RunContext, group: TrialGroup) -> None:
        self._run = run
        self._group = group
        self._deployment: Deployment | None = None
        """What is deployed now, proven or not."""
        self._proven: ProvenChain | None = None
        """The same with the facts about it, once it is proven."""

    @property
    def deployment(self) -> Deployment | None:
        """What is deployed now, proven or not."""
        return self._deployment

    def ensure(self) -> ProvenChain:
        """Return the proven chain; deploy and prove it first, unless it is there. Raises
        DeploymentError, or what the driver raised."""
        if self._proven is None:
            run, scenario = self._run, self._group.scenario
            run.enter("deploying")
            with run.timeline.phase("deploying"), run.interrupts.allowed:
                self._deployment = run.driver_of(scenario).deploy(scenario)
            run.enter("verifying")
            with run.timeline.phase("verifying"), run.interrupts.allowed:
                proof = run.driver_of(scenario).prove_traversal(self._deployment, scenario)
            evidence = self._keep_evidence(self._deployment, proof)
            if not proof.proven:
                raise DeploymentError(
                    "packets do not traverse the chain as requested: "
                    + ("; ".join(proof.problems) or "no proof"),
                    where=evidence,
                )
            facts = self._facts(self._deployment, proof, evidence)
            with run.timeline.phase("deploying"), run.interrupts.allowed:
                services = run.services.chain_deployed(self._deployment, scenario)
            facts |= {"services": services} if services else {}
            self._proven = ProvenChain(self._deployment, facts)
        return self._proven

    def remove(self) -> None:
        """Tear down the deployment, if there is one. The run goes on if something cannot be
        removed: it stays in the journal, and is tried again when the run ends."""
        deployment, self._deployment, self._proven = self._deployment, None, None
        if deployment is None:
            return
        self._run.enter("tearing down")
        with self._run.timeline.phase("teardown"):
            self._run.problems += self._run.services.chain_removed()
            try:
                self._run.driver_of(self._group.scenario).teardown(deployment)
            except Exception as error:
                self._run.problems.append(f"tear-down of {deployment.id}: {describe(error)}")

    def _facts(
        self, deployment: Deployment, proof: TraversalProof, evidence: str
    ) -> dict[str, Any]:
        """What the record of each trial says about the deployment."""
        # The SPI that was seen: an infrastructure may choose its own. None if packets were seen at
        # SFs without one, because the infrastructure chains by other means than NSH.
        planned = None if proof.forward else self._group.scenario.chain.spi
        spi = next((hop.spi for hop in proof.forward if hop.spi is not None), planned)
        return {
            "id": deployment.id,
            "encapsulation": deployment.encapsulation,
            "spi": spi,
            "traversal": {
                "proven": proof.proven,
                "method": proof.method,
                "data_planes": dict(proof.data_planes),
                "evidence": evidence,
            },
            "facts": dict(deployment.facts),
        }

    def _keep_evidence(self, deployment: Deployment, proof: TraversalProof) -> str:
        """Write what the proof observed, whether or not it proves the chain, to a file of the run
        folder; return its path within that folder. Raises EnvironmentLacks when the run folder was
        moved."""
        group, run_folder = self._group, self._run.store.folder
        # Before mkdir, which would make a new folder in the place of one that was moved.
        self._run.store.check_not_moved()
        folder = run_folder / "raw" / "traversal"
        folder.mkdir(parents=True, exist_ok=True)
        prefix = f"{'w' if group.warmup else 'r'}{group.round:03d}-{group.scenario.id}"
        # Files of earlier attempts and sessions stay.
        number = 1
        while (file := folder / f"{prefix}-{number}.json").exists():
            number += 1
        document = {
            "deployment": deployment.id,
            "scenario": group.scenario.levels,
            "facts": deployment.facts,
            **asdict(proof),
        }
        file.write_text(json.dumps(document, indent=2, allow_nan=False, default=plain) + "\n")
        return str(file.relative_to(run_folder))
