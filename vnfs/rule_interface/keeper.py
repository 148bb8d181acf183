"""RuleKeeper: does what the REST interface is asked for, in the store and in the data plane.

It works in the process that runs sfcperf, which reaches the function's host whatever the driver is;
the REST interface is a process of its own. They speak in lines of JSON: a list of calls, and a list
of answers. What was asked for at the same time is one change of the data plane.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sfcperf.errors import MeasurementError
from sfcperf.vnfs.rule_interface.policy import LEASE_S, Policy
from sfcperf.vnfs.rule_interface.rules import Flow, Rule, Source
from sfcperf.vnfs.rule_interface.store import RuleRefused, RuleStore
from sfcperf.vnfs.rule_interface.table import Operation, PutRule, RemoveRule, RuleTable

Call = Sequence[Any]
"""`["put", [[rule, ttl_s], ...]]`, `["remove", [rule, ...]]`, `["clear"]`, `["list", after,
limit]`, `["status"]` or `["tick"]`. A rule is its fields as a list."""
Answer = Mapping[str, Any]
"""Numbers of rules: `added` and `renewed` for `put`, `removed` for `remove` and `clear`; `put` also
has `refused`, pairs of index and reason. `list` has `rules`: rule, number and seconds until it
ends. `status` has what the REST interface tells. `tick` has nothing. `{"error": MESSAGE}` when the
data plane did not take the change."""


class RuleKeeper:
    """The rules of one function. RunningRules makes it, and calls it in its thread. Not
    thread-safe."""

    def __init__(self, policy: Policy, table: RuleTable) -> None:
        """`table` has no rules yet."""
        self._policy = policy
        self._table = table
        self._store = RuleStore(policy, table.versions, time.monotonic())

    def answer(self, calls: Sequence[Call]) -> list[Answer]:
        """Do what the calls ask for, in this order, and give an answer to each. All changes, and
        the removal of rules whose time is over, are one change of the data plane. If it does not
        take that, these rules are forgotten, and all calls but those that only read get its
        error."""
        now_s = time.monotonic()
        operations: list[Operation] = [RemoveRule(rule) for rule in self._store.expire(now_s)]
        answers: list[Answer] = [self._do(call, now_s, operations) for call in calls]
        leases = self._policy.fail_closed and any(call[0] == "tick" for call in calls)
        lease_s = LEASE_S if leases else None
        if not operations and lease_s is None:
            return answers
        try:
            self._table.change(operations, lease_s)
        except MeasurementError as error:
            # What the data plane has now is not known; each rule there ends with its time.
            for operation in operations:
                self._store.remove(operation.rule)
            failed = {"error": error.message}
            reads = ("list", "status")
            return [
                answer if call[0] in reads else failed
                for call, answer in zip(calls, answers, strict=True)
            ]
        return answers

    def fail(self) -> None:
        """Let no packet pass any more if the policy is fail-closed, because nobody takes rules.
        Raises MeasurementError."""
        if self._policy.fail_closed:
            self._table.change([], 0.0)

    def _do(self, call: Call, now_s: float, operations: list[Operation]) -> Answer:
        """Answer one call, and add what it changes to `operations`."""
        name, *arguments = call
        match name:
            case "put":
                return self._put(arguments[0], now_s, operations)
            case "remove":
                return self._remove(map(decoded, arguments[0]), operations)
            case "clear":
                return self._remove(self._store.all(), operations)
            case "list":
                page = self._store.after(*arguments)
                return {
                    "rules": [[rule, kept.number, kept.expires_s - now_s] for rule, kept in page]
                }
            case "status":
                return self._status()
            case _:
                return {}

    def _put(
        self,
        rules: Sequence[tuple[Sequence[Any], float]],
        now_s: float,
        operations: list[Operation],
    ) -> Answer:
        """Set rules, each with its ttl_s, in the store. Add those that it does not refuse to
        `operations`."""
        added = renewed = 0
        refused = []
        for index, (fields, ttl_s) in enumerate(rules):
            rule = decoded(fields)
            try:
                is_new = self._store.put(rule, ttl_s, now_s)
            except RuleRefused as refusal:
                refused.append([index, refusal.reason])
                continue
            operations.append(PutRule(rule, ttl_s, renew=not is_new))
            added += is_new
            renewed += not is_new
        return {"added": added, "renewed": renewed, "refused": refused}

    def _remove(self, rules: Any, operations: list[Operation]) -> Answer:
        """Remove rules from the store. Add those that were there to `operations`."""
        removed = [rule for rule in rules if self._store.remove(rule)]
        operations.extend(map(RemoveRule, removed))
        return {"removed": len(removed)}

    def _status(self) -> Answer:
        store = self._store
        return {
            "flow_rules": store.count(by_flow=True),
            "source_rules": store.count(by_flow=False),
            **asdict(store.totals),
        }


def decoded(fields: Sequence[Any]) -> Rule:
    """Return a rule from its fields as JSON has them: those of Source or Flow."""
    if len(fields) == 1:
        return Source(fields[0])
    protocol, low, high = fields
    return Flow(protocol, (low[0], low[1]), (high[0], high[1]))
