"""The documentation says what is so: links lead somewhere, names exist, commands parse, every error has its section."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclopts import CycloptsError, MissingArgumentError

import frazil
from frazil.cli.app import app
from frazil.config import connector_classes, load, properties
from frazil.config.known_keys import NOT_YET
from frazil.config.settings import setting_keys
from frazil.cycle.branches import ROUTE
from frazil.cycle.known_schemas import PROPERTY as KNOWN_SCHEMAS
from frazil.errors import FrazilError, InvalidConfiguration
from frazil.model import EVOLUTION
from frazil.snowflake.definitions.options import ERROR_LOGGING
from frazil.tables.iceberg.catalog import CREATED_BY
from frazil.tables.rules.error_tables import REJECTS_OF
from frazil.tables.rules.lengths import LENGTHS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
DECISIONS = ROOT / "docs" / "decisions"

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_SPAN = re.compile(r"`([^`\n]+)`")
_DOTTED = re.compile(r"frazil(\.\w+)+")


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text())


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in _FENCE.findall(page.read_text()) if found == language]


def spans(page: Path) -> list[str]:
    return _SPAN.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """The anchors that headings get: lower case, blanks as dashes, punctuation gone."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_every_link_leads_to_a_page_and_a_heading_that_exist(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose(page)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


@each_page
def test_every_name_of_frazils_code_exists(page: Path) -> None:
    not_code = {
        *setting_keys(),
        *NOT_YET,
        *connector_classes.known(),
        CREATED_BY,
        ERROR_LOGGING,
        EVOLUTION,
        LENGTHS,
        REJECTS_OF,
        ROUTE,
        KNOWN_SCHEMAS,
    }
    names = {span for span in spans(page) if _DOTTED.fullmatch(span)} - not_code

    assert [name for name in sorted(names) if not resolves(name)] == []


@each_page
def test_python_examples_compile_and_import_what_exists(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, str(page), "exec")
        for module, names in re.findall(r"^\s*from (frazil[\w.]*) import (.+)$", block, re.MULTILINE):
            assert all(resolves(f"{module}.{name.strip()}") for name in names.split(","))


@each_page
def test_every_command_shown_has_the_options_it_is_shown_with(page: Path) -> None:
    wrong = [command for command in commands(page) if not parses(command)]

    assert wrong == []


def test_every_error_code_has_its_section_and_no_section_is_orphaned() -> None:
    sections = re.findall(r"^## (.+)$", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE)

    assert sections == sorted({error.code for error in errors()})


def test_every_section_on_an_error_says_what_frazil_did_and_what_to_do() -> None:
    _, *sections = (ROOT / "docs" / "errors.md").read_text().split("\n## ")

    assert [each.splitlines()[0] for each in sections if each.count("*What frazil did:*") != 1] == []
    assert [each.splitlines()[0] for each in sections if each.count("*What to do:*") != 1] == []


def test_the_connector_file_of_the_readme_has_the_problems_the_readme_shows(tmp_path: Path) -> None:
    worker, connector = readme_files(tmp_path)

    with pytest.raises(InvalidConfiguration) as refused:
        load(connector, worker)

    shown = [block for block in blocks(ROOT / "README.md", "console") if "[0001]" in block]
    assert [problem.key for problem in refused.value.problems] == re.findall(r"^  (\S+):", shown[0], re.MULTILINE)
    assert all(problem.text in shown[0] for problem in refused.value.problems)


def test_the_connector_file_of_the_readme_runs_once_they_are_removed(tmp_path: Path) -> None:
    worker, connector = readme_files(tmp_path)
    connector.write_text(connector.read_text().replace("=SNOWPIPE\n", "=SNOWPIPE_STREAMING\n"))

    settings = load(connector, worker)

    assert settings.key == "SHOP"
    assert "snowflake.private.key" in settings.not_needed


def test_every_decision_is_numbered_and_listed() -> None:
    numbers = [path.name[:4] for path in sorted(DECISIONS.glob("[0-9]*.md"))]
    listed = re.findall(r"^\| \[(\d+)\]", (DECISIONS / "README.md").read_text(), re.MULTILINE)

    assert numbers == listed == [f"{number:04}" for number in range(1, len(numbers) + 1)]


def test_every_how_to_is_listed() -> None:
    directory = ROOT / "docs" / "how-to"

    assert set(_LINK.findall((directory / "README.md").read_text())) == {
        path.name for path in directory.glob("*.md") if path.name != "README.md"
    }


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one; fields of dataclasses count as something in it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part) and part not in getattr(found, "__annotations__", {}):
                return False
            found = getattr(found, part, None)
        return True
    return False


def commands(page: Path) -> Iterator[str]:
    """Command lines of frazil's in console blocks and in running text."""
    for block in blocks(page, "console"):
        yield from re.findall(r"^\s*\$ (?:\.venv/bin/)?(frazil .+?)(?: \| .*)?$", block, re.MULTILINE)
    yield from (span for span in spans(page) if re.match(r"frazil [a-z]", span))


def parses(command: str) -> bool:
    """Whether the command line takes it; text in running prose may leave arguments out."""
    _, *arguments = shlex.split(re.sub(r"[\[\]]", "", command))
    try:
        app.parse_args(arguments, exit_on_error=False, print_error=False)
    except MissingArgumentError:
        return True
    except CycloptsError:
        return False
    return True


def errors() -> Iterator[type[FrazilError]]:
    """All error classes, wherever they are defined."""
    for module in pkgutil.walk_packages(frazil.__path__, "frazil."):
        importlib.import_module(module.name)
    waiting: list[type[FrazilError]] = [FrazilError]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(found.__subclasses__())


def readme_files(directory: Path) -> tuple[Path, Path]:
    """The worker and the connector file of the README's ten minutes, as files."""
    for block in blocks(ROOT / "README.md", "properties"):
        name = block.splitlines()[0].removeprefix("# ")
        (directory / name).write_text(block)
    worker, connector = directory / "worker.properties", directory / "connector.properties"
    assert properties.read(worker)
    assert properties.read(connector)
    return worker, connector
