"""Sets rules at rule interfaces, and tries again while one does not answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import requests

from sfcperf.rest.client import local_session
from sfcperf.services.classifier.serving.session import Target
from sfcperf.vnfs.rule_interface.api import RULES_AT_ONCE
from sfcperf.vnfs.rule_interface.rules import Flow, Rule

_ANSWER_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
_LONGEST_REASON = 500
"""Longest quotation of an answer, characters: answers may quote whole requests."""
INVALID = "invalid"
"""Why a rule is refused that the interface does not take for a rule."""
_WRONG_BODY = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class RequestRefused(Exception):
    """A request is refused, and would be again. The text has what the interface said."""

    def __init__(self, words: str, status: int) -> None:
        super().__init__(words)
        self.status = status


class RuleSetter:
    """Sets rules at all rule interfaces of a deployment, and tries again while one does not
    answer."""

    def __init__(
        self, targets: Sequence[Target], ttl_s: float, wait: Callable[[float], bool]
    ) -> None:
        """`wait` pauses for so many seconds; if it returns True, the request is given up."""
        self._targets = targets
        self._ttl_s = ttl_s
        self._wait = wait
        self._client = local_session()
        self.retrying: str | None = None
        """Why a request is being tried again; None while all are answered."""
        self.retries = 0
        """How often a request was tried again."""

    def put(self, rules: Sequence[Rule]) -> list[tuple[Rule, str]] | None:
        """Set rules at all interfaces; return those that an interface refused, and why. None:
        `wait` said to give up. Raises RequestRefused when an interface takes no request at all."""
        refused: list[tuple[Rule, str]] = []
        for at in range(0, len(rules), RULES_AT_ONCE):
            for target in self._targets:
                found = self._put(target, rules[at : at + RULES_AT_ONCE])
                if found is None:
                    return None
                refused += found
        return refused

    def _put(self, target: Target, rules: Sequence[Rule]) -> list[tuple[Rule, str]] | None:
        """Set rules at one interface, like `put`. If they are refused as a whole, each half is set
        by itself, and so on: an invalid rule does not keep the others from being set."""
        body = {"rules": [self._described(rule) for rule in rules]}
        try:
            outcome = self._until_answered(target, body)
        except RequestRefused as error:
            if error.status not in _WRONG_BODY:
                raise
            if len(rules) == 1:
                return [(rules[0], INVALID)]
            refused: list[tuple[Rule, str]] = []
            middle = len(rules) // 2
            for half in (rules[:middle], rules[middle:]):
                found = self._put(target, half)
                if found is None:
                    return None
                refused += found
            return refused
        if outcome is None:
            return None
        return [(rules[each["index"]], each["reason"]) for each in outcome["refused"]]

    def _described(self, rule: Rule) -> dict[str, Any]:
        """Return a rule as JSON for the rule interface."""
        if not isinstance(rule, Flow):
            return {"source": rule.address, "ttl_s": self._ttl_s}
        (src, src_port), (dst, dst_port) = rule.low, rule.high
        fields = {"src": src, "src_port": src_port, "dst": dst, "dst_port": dst_port}
        return {"flow": {"protocol": rule.protocol, **fields}, "ttl_s": self._ttl_s}

    def _until_answered(self, target: Target, body: Any) -> Any:
        """Send the request until it is answered; return the answer. None: `wait` said to give up. A
        repeated request does no harm, since it is idempotent."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                answer = self._client.put(
                    f"{target.url}/rules",
                    json=body,
                    headers={"Authorization": f"Bearer {target.token}"},
                    timeout=_ANSWER_S,
                )
                if answer.ok:
                    self.retrying = None
                    return answer.json()
                text = answer.text[:_LONGEST_REASON]
                self.retrying = f"{target.url} answers {answer.status_code}: {text}"
                if (
                    answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
                    and answer.status_code not in _LATER
                ):
                    raise RequestRefused(self.retrying, answer.status_code)
            except requests.RequestException as error:
                self.retrying = f"{target.url}: {error}"
            self.retries += 1
            if self._wait(pause_s):
                return None
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
