"""The ASGI application: requests of the API at `/`, and at `/_frazil/faults` what is to go wrong with them.

Requests are carried out one after another in the server's thread; each takes milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from frazil.dev.kinesis import control, events, protocol
from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import Refused
from frazil.dev.kinesis.faults import Fault
from frazil.dev.kinesis.operations import carry_out
from frazil.dev.kinesis.operations.naming import aimed_at
from frazil.dev.kinesis.protocol import Answer, Request
from frazil.dev.kinesis.subscriptions import Subscription, Subscriptions

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

LOOKED_AFTER: Final = 0.02
"""Seconds between two looks at whether a subscription has anything to be sent."""

_WITHOUT_FAULT: Final = Fault()


class Application:
    """Answers requests with what the engine does.

    Args:
        engine: Carries requests out.
        reset: Resets the connection of the client with that address.
    """

    def __init__(self, engine: Engine, reset: Callable[[tuple[str, int]], None]) -> None:
        self._engine = engine
        self._subscriptions = Subscriptions(engine)
        self._reset = reset

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        body = await _body(receive)
        if scope["path"].startswith(control.PATH):
            await _send(send, control.answer(self._engine.faults, scope["method"], scope["path"], body))
            return
        try:
            request = protocol.read(dict(scope["headers"]), body)
        except Refused as refused:
            await _send(send, protocol.error(refused, self._engine.clock()))
            return
        await self._answer(request, scope, receive, send)

    async def _answer(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        with self._engine.lock:
            aim = aimed_at(self._engine, request.input)
        fault = self._engine.faults.meet(request.operation, *aim) or _WITHOUT_FAULT
        await asyncio.sleep(fault.seconds)
        if fault.empty:
            request.input["Limit"] = 0
        spoils = fault.reset or fault.error is not None
        answer = self._carried_out(request) if fault.after or not spoils else None
        if fault.reset:
            self._reset(tuple(scope["client"]))
        elif fault.error is not None:
            await _send(send, protocol.error(fault.refused(), self._engine.clock()))
        elif isinstance(answer, Subscription):
            await self._feed(answer, scope, receive, send)
        elif answer is not None:
            await _send(send, answer)

    async def _feed(self, subscription: Subscription, scope: Scope, receive: Receive, send: Send) -> None:
        headers = protocol.headers(self._engine.clock(), events.STREAM_TYPE)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": events.initial_response(), "more_body": True})
        left = asyncio.ensure_future(receive())
        try:
            while not subscription.ended and not left.done():
                sent = self._subscriptions.next(subscription)
                if sent is None:
                    await asyncio.wait({left}, timeout=LOOKED_AFTER)
                    continue
                await asyncio.wait({left}, timeout=sent.seconds)
                if sent.reset:
                    self._reset(tuple(scope["client"]))
                else:
                    await send({"type": "http.response.body", "body": sent.message, "more_body": True})
        finally:
            left.cancel()
        await send({"type": "http.response.body", "body": b""})

    def _carried_out(self, request: Request) -> Answer | Subscription:
        try:
            if request.operation == "SubscribeToShard":
                return self._subscriptions.open(request.input)
            result = carry_out(self._engine, request.operation, request.input)
        except Refused as refused:
            return protocol.error(refused, self._engine.clock())
        return protocol.answer(result, self._engine.clock())


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _send(send: Send, answer: Answer) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})
