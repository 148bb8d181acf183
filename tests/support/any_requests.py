"""Whatever a REST interface may be sent, by its own OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, given
from schemathesis import GenerationMode, checks
from schemathesis.core.parameters import ParameterLocation

from support.tiers import examples


def operations(url: str) -> list[Any]:
    """All that the interface offers."""
    interface = schemathesis.openapi.from_url(f"{url}/openapi.json")
    return [each.ok() for each in interface.get_all_operations()]


def try_operation(
    operation: Any,
    headers: Mapping[str, str],
    count: int,
    *,
    gate: int,
    timeout_s: float = 30,
    excluded: Sequence[Any] = (),
    fixed: Mapping[str, str] | None = None,
) -> None:
    """Send requests that are right by the schema, and wrong ones: no 500, and answers are as the
    schema says. What is right by the schema may be refused for what the schema cannot say.

    `count`, `gate`: see `examples`. `excluded`: further checks to leave out. `fixed`: values of
    path parameters of right requests.
    """

    @examples(count, HealthCheck.too_slow, HealthCheck.filter_too_much, gate=gate)
    @given(operation.as_strategy(), operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def send(right: Any, wrong: Any) -> None:
        for name in (fixed or {}).keys() & (right.path_parameters or {}).keys():
            right.path_parameters[name] = fixed[name]
        for case in (right, wrong):
            # What is wrong with a request's own headers, ours would mend.
            has_wrong_headers = case.meta.is_negative_at(ParameterLocation.HEADER)
            case.call_and_validate(
                headers={} if has_wrong_headers else headers,
                excluded_checks=[checks.positive_data_acceptance, *excluded],
                timeout=timeout_s,
            )

    send()


def check_refused_without_token(method: str, url: str, token: str) -> None:
    """A request without a token, with another, and with the token in another scheme."""
    for header in (None, "", "Bearer", "Bearer x", f"Bearer {token}x", f"Basic {token}"):
        headers = {} if header is None else {"Authorization": header}
        answer = requests.request(method, url, headers=headers, json={}, timeout=30)
        found = (answer.status_code, answer.headers.get("WWW-Authenticate"))
        assert found == (401, "Bearer"), header
