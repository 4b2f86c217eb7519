"""What a proxy, or a service in trouble, makes of answers on their way to botocore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

Change = Callable[[AWSResponse], AWSResponse]
"""Gives what comes of an answer; it may raise what botocore raises of a connection."""


class Transport:
    """Changes the next answers to one operation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        """How many answers are still to be changed."""

        self._operation = ""
        self._change: Change = lambda answer: answer
        self._send = URLLib3Session.send
        monkeypatch.setattr(URLLib3Session, "send", lambda session, request: self._sent(session, request))

    def change(self, operation: str, change: Change, times: int = 1) -> None:
        """Change answers to an operation, a number of times."""
        self.left, self._operation, self._change = times, operation, change

    def _sent(self, session: Any, request: Any) -> AWSResponse:
        answer = self._send(session, request)
        target = request.headers.get("X-Amz-Target", b"")
        target = target.decode() if isinstance(target, bytes) else target
        if not self.left or not target.endswith(f".{self._operation}"):
            return answer
        self.left -= 1
        return self._change(answer)


def answering(monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, bytes]) -> None:
    """Give these statuses and contents instead of asking anything."""
    left = list(answers)

    def send(_: Any, request: Any) -> AWSResponse:
        status, content = left.pop(0)
        answer = AWSResponse(request.url, status, {"content-type": "text/html"}, None)
        return says(content, status)(answer)

    monkeypatch.setattr(URLLib3Session, "send", send)


def says(content: bytes, status: int = 200) -> Change:
    """Another answer altogether."""

    def changed(answer: AWSResponse) -> AWSResponse:
        answer._content, answer.status_code = content, status
        return answer

    return changed


def cut(answer: AWSResponse) -> AWSResponse:
    """Half of the answer."""
    return says(answer.content[: len(answer.content) // 2])(answer)


def without(member: str) -> Change:
    """The answer without a member."""

    def changed(answer: AWSResponse) -> AWSResponse:
        document = orjson.loads(answer.content)
        document.pop(member, None)
        return says(orjson.dumps(document), answer.status_code)(answer)

    return changed


def undated(answer: AWSResponse) -> AWSResponse:
    """The answer without its date."""
    for name in [name for name in answer.headers if name.lower() == "date"]:
        del answer.headers[name]
    return answer


def raises(error: Exception) -> Change:
    """No answer."""

    def changed(_: AWSResponse) -> AWSResponse:
        raise error

    return changed
