"""How the client is told, or not: each fault as bytes on its connection."""

from __future__ import annotations

import json
from http import HTTPStatus

from aiohttp import web

from support.faulty_cloud.faults import Answer


def hang_up(incoming: web.Request) -> web.Response:
    """End the connection. The answer is for aiohttp alone: nothing is sent on what is closed."""
    if incoming.transport is not None:
        incoming.transport.close()
    return web.Response()


def error(fault: Answer) -> web.Response:
    """As a service words it, or (502 and above) a gateway before it, which knows no JSON."""
    words = HTTPStatus(fault.status).phrase
    headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
    if fault.status >= HTTPStatus.BAD_GATEWAY:
        page = f"<html><body><h1>{fault.status} {words}</h1></body></html>\n"
        return web.Response(
            status=fault.status, text=page, content_type="text/html", headers=headers
        )
    document = {"error": {"code": fault.status, "title": words, "message": f"{words} (injected)"}}
    return web.Response(
        status=fault.status,
        text=json.dumps(document),
        content_type="application/json",
        headers=headers,
    )


def garbled(answer: web.Response) -> web.Response:
    """The first half of its body, as if it were the whole."""
    return web.Response(status=answer.status, headers=answer.headers, body=_half(answer))


async def truncated(incoming: web.Request, answer: web.Response) -> web.StreamResponse:
    """The first half of its body; the length that was promised never comes."""
    given = web.StreamResponse(status=answer.status, headers=answer.headers)
    given.content_length = max(1, len(_body(answer)))
    await given.prepare(incoming)
    await given.write(_half(answer))
    hang_up(incoming)
    return given


def _half(answer: web.Response) -> bytes:
    body = _body(answer)
    return body[: len(body) // 2]


def _body(answer: web.Response) -> bytes:
    assert isinstance(answer.body, bytes)
    return answer.body
