from __future__ import annotations

from pathlib import Path

from frazil.config import reference
from frazil.config.settings import ConnectorSettings, setting_keys

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_committed_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference.page(), (
        "run: python -m frazil.config.reference docs/configuration.md"
    )


def test_every_setting_is_described() -> None:
    assert all(field.description for field in ConnectorSettings.model_fields.values())


def test_every_key_of_a_setting_is_on_the_page() -> None:
    page = reference.page()

    assert [key for key in setting_keys() if f"`{key}`" not in page] == []
