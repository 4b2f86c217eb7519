"""Check that an answer came from the service and is complete, before botocore makes values of it.

A proxy answers with pages of its own, and a connection may end in the middle of an answer. botocore takes both for an
answer that says nothing. Here they become an error, and the request is made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any, Final

import orjson
from botocore.exceptions import BotoCoreError
from botocore.model import OperationModel, Shape
from botocore.parsers import ResponseParserError

_ERROR: Final = 300
_ERROR_IN_XML: Final = b"<Code>"
_PROTOCOL: Final = "json"

_ALSO_REQUIRED: Final[Mapping[str, Sequence[str]]] = {
    "GetShardIterator": ("ShardIterator",),
    "ListShards": ("Shards",),
    "Scan": ("Items",),
}
"""Members by operation that every answer has, although the model leaves them open."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "blob": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "timestamp": (int, float),
}


class UnreadableAnswer(BotoCoreError):  # type: ignore[misc] # botocore has no types
    """An answer did not come from the service, or not all of it did. The request may be made again."""

    fmt = "the answer to {operation} is not a complete answer of the service: {problem}"


@contextmanager
def reading(operation: str) -> Iterator[None]:
    """Raise UnreadableAnswer where the answer to an operation lacks what is read of it."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, ResponseParserError) as error:
        raise UnreadableAnswer(operation=operation, problem=f"{type(error).__name__}: {error}") from error


def date_of(headers: Mapping[str, str], operation: str) -> int:
    """When the service gave an answer, in ms since the epoch; of whole seconds, never later.

    Raises:
        UnreadableAnswer: the answer has no valid date.
    """
    with reading(operation):
        return int(parsedate_to_datetime(headers["date"]).timestamp()) * 1000


def check_answers(client: Any) -> None:
    """Have each call of a botocore client raise UnreadableAnswer where the answer is not one of the service."""
    if client.meta.service_model.protocol == _PROTOCOL:
        client.meta.events.register("before-parse", _check, unique_id="frazil-answers")


def require_document(operation: str, status: int, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """The JSON object of an answer; that of an error names its kind.

    Raises:
        UnreadableAnswer: the body is not such an object.
    """
    try:
        document = orjson.loads(body)
    except ValueError:
        # Servers that stand in for several services of AWS may name an error in XML, whatever was asked.
        document = {"__type": None} if status >= _ERROR and _ERROR_IN_XML in body else None
    if not isinstance(document, dict) or (status >= _ERROR and "__type" not in document):
        kind = headers.get("content-type", "without a content type")
        problem = f"HTTP {status}, {kind}, {len(body)} bytes that are not its JSON"
        raise UnreadableAnswer(operation=operation, problem=problem)
    return document


def _check(
    operation_model: OperationModel,
    response_dict: dict[str, Any],
    customized_response_dict: dict[str, Any],
    **_: Any,
) -> None:
    shape, status = operation_model.output_shape, response_dict["status_code"]
    if customized_response_dict or (shape is None and status < _ERROR):
        return  # it was read already, or has nothing in it
    name = operation_model.name
    document = require_document(name, status, response_dict["headers"], response_dict["body"])
    if status >= _ERROR or shape is None:
        return
    lacking = [each for each in _ALSO_REQUIRED.get(name, ()) if document.get(each) is None]
    problem = f"{lacking[0]} is missing" if lacking else _problem(shape, document, "")
    if problem:
        raise UnreadableAnswer(operation=name, problem=problem)


def _problem(shape: Shape, value: Any, path: str) -> str | None:
    """The first member below `path` that is missing or not of its type."""
    match shape.type_name:
        case "structure" if isinstance(value, dict):
            lacking = [each for each in shape.required_members if value.get(each) is None]
            if lacking:
                return f"{path}{lacking[0]} is missing"
            inner = [
                (member, value[name], f"{path}{name}.")
                for name, member in shape.members.items()
                if value.get(name) is not None
            ]
        case "list" if isinstance(value, list):
            inner = [(shape.member, each, path) for each in value]
        case "map" if isinstance(value, dict):
            inner = [(shape.value, each, f"{path}{name}.") for name, each in value.items()]
        case name if isinstance(value, _TYPES.get(name, ())):
            return None
        case name:
            return f"{path.rstrip('.') or 'the whole'} is not a {name}"
    return next((problem for each in inner if (problem := _problem(*each)) is not None), None)
