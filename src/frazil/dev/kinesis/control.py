"""Faults over HTTP, for a server in another process: GET lists them, POST sets one, DELETE takes back one or all."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Final

import msgspec
import orjson

from frazil.dev.kinesis.faults import Fault, Faults
from frazil.dev.kinesis.protocol import Answer

PATH: Final = "/_frazil/faults"
"""Outside the API, whose only path is `/`."""

_GIVEN: Final = {field.name for field in fields(Fault)} - {"happened", "number"}


def answer(faults: Faults, method: str, path: str, body: bytes) -> Answer:
    """Answer a request of the control endpoint."""
    number = path.removeprefix(PATH).strip("/")
    if method == "GET":
        return _json(200, faults.all())
    if method == "POST":
        return _set(faults, body)
    if method == "DELETE" and (number.isdigit() or not number):
        if number:
            faults.remove(int(number))
        else:
            faults.clear()
        return _json(200, faults.all())
    return _json(404, {"problem": f"{method} {path} is not known here"})


def _set(faults: Faults, body: bytes) -> Answer:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return _json(400, {"problem": f"the fault is not JSON: {error}"})
    if not isinstance(given, dict) or not given.keys() <= _GIVEN:
        return _json(400, {"problem": f"a fault is an object with some of the keys {', '.join(sorted(_GIVEN))}"})
    try:
        fault = msgspec.convert(given, Fault)
    except msgspec.ValidationError as error:
        return _json(400, {"problem": str(error)})
    return _json(200, asdict(faults.add(fault)))


def _json(status: int, document: Any) -> Answer:
    body = orjson.dumps(document)
    return Answer(status, [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())], body)
