from __future__ import annotations

import pytest
import structlog

from frazil.cli import main
from frazil.cli.reset import where_of
from frazil.connector.resetting import Where
from frazil.errors import InvalidConfiguration


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1760000000000", 1_760_000_000_000),
        ("2025-10-09T08:53:20Z", 1_760_000_000_000),
        ("2025-10-09T10:53:20.5+02:00", 1_760_000_000_500),
        ("2025-10-09T08:53:20", 1_760_000_000_000),
        ("2025-10-09", 1_759_968_000_000),
    ],
)
def test_a_time_is_iso_8601_in_utc_unless_it_says_otherwise_or_milliseconds(text: str, moment: int) -> None:
    assert where_of(earliest=False, latest=False, offset=None, time=text) == Where(moment=moment)


def test_what_is_no_time_says_what_to_write() -> None:
    with pytest.raises(InvalidConfiguration, match=r"'yesterday' is not a time; write 2026-07-29T12:00:00Z"):
        where_of(earliest=False, latest=False, offset=None, time="yesterday")


def test_places_are_taken_one_at_a_time() -> None:
    assert where_of(earliest=True, latest=False, offset=None, time=None) == Where(place="earliest")
    assert where_of(earliest=False, latest=True, offset=None, time=None) == Where(place="latest")
    assert where_of(earliest=False, latest=False, offset=0, time=None) == Where(offset=0)
    for earliest, offset in ((False, None), (True, 0)):
        with pytest.raises(InvalidConfiguration, match="exactly one of"):
            where_of(earliest=earliest, latest=False, offset=offset, time=None)


def test_a_command_line_without_a_place_is_wrong_before_anything_is_started(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["channels", "reset", "SHOP"])
    structlog.reset_defaults()

    assert code == 2
    assert "--to-earliest" in capsys.readouterr().err
