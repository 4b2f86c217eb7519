"""`frazil dlq`: what is asked for makes sense, and bytes are shown as what they are."""

from __future__ import annotations

import datetime as dt
import io

import orjson
import pytest
import structlog
from rich.console import Console

from frazil.cli import dlq, main
from frazil.connector.rejected.listing import Described

MOMENT = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["replay"], "--table: is missing"),
        (["replay", "--dry-run"], "--table: is missing"),
        (["list", "--table", "a", "--topic", "b"], "--topic: is given together with --table"),
        (["show", "--limit", "0"], "--limit: is 0"),
    ],
)
def test_options_that_make_no_sense_end_the_command_before_anything_is_read(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str], tmp_path
) -> None:
    code = main(["dlq", *arguments, "--home", str(tmp_path)])
    structlog.reset_defaults()

    assert (code, problem in capsys.readouterr().err) == (2, True)


def reject(key: bytes | None, value: bytes | None, header: bytes | None) -> Described:
    row = {
        "connector": "shop", "topic": "orders", "partition": 0, "offset": 7, "timestamp": MOMENT, "rejected_at": MOMENT,
        "stage": "project", "code": "5030", "column": "n", "message": "no", "commit": "c",
        "key": key, "value": value, "headers": [{"name": "h", "value": header}],
    }  # fmt: skip
    return Described(row, "public.ORDERS", replayed=True)


def test_programs_get_texts_as_texts_and_other_bytes_under_a_name_that_says_so() -> None:
    found = dlq.document(reject(None, "späte".encode(), b"\xff"))

    assert (found["key"], found["value"], found["headers"]) == (None, "späte", [{"name": "h", "value_base64": "/w=="}])
    assert (found["replayed"], found["timestamp"]) == (True, "2026-11-20T12:00:00.000+00:00")
    orjson.dumps(found)


def test_people_see_what_acts_on_no_terminal() -> None:
    console = Console(file=io.StringIO(), width=100)

    console.print(dlq.shown(reject(b"\xff\x00", b"\x1b[31m[red]no", None)))

    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "0xff00" in text
    assert r"\x1b[31m[red]no" in text
    assert "\x1b[31m[red]" not in text
