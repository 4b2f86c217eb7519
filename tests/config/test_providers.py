from __future__ import annotations

from pathlib import Path

import pytest

from frazil.config import ConnectorSettings, load, worker_keys
from frazil.config.providers import DIRECTORY, ENVIRONMENT, FILE
from frazil.errors import InvalidConfiguration

from .connector import LEAST, Texts, problems

PASSWORD = "consumer.override.sasl.password"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A directory of secrets, beside one that nobody allowed."""
    directory = tmp_path / "secrets"
    directory.mkdir()
    (directory / "kafka.properties").write_text("password=hush1\nhost=kafka\nlag=hush-9\n")
    (directory / "token").write_text("hush2\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kafka.properties").write_text("password=hush3\n")
    return directory


@pytest.fixture
def worker(secrets: Path) -> Texts:
    return {
        "config.providers": "file, directory,env",
        "config.providers.file.class": FILE,
        "config.providers.file.param.allowed.paths": f"/nowhere, {secrets}",
        "config.providers.directory.class": DIRECTORY,
        "config.providers.directory.param.allowed.paths": str(secrets),
        "config.providers.env.class": ENVIRONMENT,
    }


def loaded(worker: Texts, **keys: str) -> ConnectorSettings:
    return load({**LEAST, **keys}, worker)


def test_a_value_may_stand_in_a_properties_file(worker: Texts, secrets: Path) -> None:
    settings = loaded(worker, **{PASSWORD: f"${{file:{secrets}/kafka.properties:password}}"})

    assert settings.source.client["sasl.password"] == "hush1"


def test_a_value_may_be_a_whole_file(worker: Texts, secrets: Path) -> None:
    settings = loaded(
        worker, **{PASSWORD: f"${{directory:{secrets}:token}}", "topics": f"${{directory:{secrets}:token}}"}
    )

    assert settings.source.client["sasl.password"] == "hush2\n", "as Kafka Connect reads it"
    assert settings.source.topics == ("hush2",)


def test_a_value_may_be_an_environment_variable(worker: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "hush4")

    assert loaded(worker, **{PASSWORD: "${env:KAFKA_PASSWORD}"}).source.client["sasl.password"] == "hush4"


def test_placeholders_may_stand_within_a_value_and_several_times(
    worker: Texts, secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PORT", "9092")
    host = f"${{file:{secrets}/kafka.properties:host}}"

    settings = loaded(worker, **{"bootstrap.servers": f"{host}-0:${{env:KAFKA_PORT}},{host}-1:9093"})

    assert settings.source.bootstrap_servers == "kafka-0:9092,kafka-1:9093"


def test_what_a_provider_yields_is_not_looked_up_again(worker: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", "${env:TWO}")

    assert loaded(worker, **{PASSWORD: "${env:ONE}"}).source.client["sasl.password"] == "${env:TWO}"


def test_values_of_the_worker_file_and_the_command_line_are_looked_up_too(
    worker: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONE", "1")
    monkeypatch.setenv("TWO", "2")

    settings = load(
        LEAST,
        {**worker, "spark.one": "${env:ONE}"},
        {"consumer.client.rack": "${env:TWO}"},
    )

    assert (settings.spark["spark.one"], settings.source.client["client.rack"]) == ("1", "2")


def test_a_blank_value_counts_as_not_written(worker: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTHING", " ")

    assert loaded(worker, **{"tasks.max": "${env:NOTHING}"}).tasks_max is None


def test_a_provider_may_have_any_name(secrets: Path) -> None:
    worker = {
        "config.providers": "vault",
        "config.providers.vault.class": FILE,
        "config.providers.vault.param.allowed.paths": str(secrets),
    }

    settings = loaded(worker, **{PASSWORD: f"${{vault:{secrets}/kafka.properties:password}}"})

    assert settings.source.client["sasl.password"] == "hush1"


def test_links_within_the_allowed_directories_are_followed(worker: Texts, secrets: Path) -> None:
    """Kubernetes mounts every key of a secret as a link."""
    (secrets / "..data").mkdir()
    (secrets / "..data" / "key").write_text("hush5")
    (secrets / "key").symlink_to("..data/key")

    assert loaded(worker, **{PASSWORD: f"${{directory:{secrets}:key}}"}).source.client["sasl.password"] == "hush5"


@pytest.mark.parametrize(
    "place",
    [
        "${file:@/../other/kafka.properties:password}",
        "${file:@/link.properties:password}",
        "${file:@/linked/kafka.properties:password}",
        "${file:@-2/kafka.properties:password}",
        "${directory:@/../other:kafka.properties}",
        "${directory:@:link.properties}",
        "${directory:@/linked:kafka.properties}",
        "${directory:@:../other/kafka.properties}",
        "${directory:@:..}",
        "${file:/proc/self/environ:PATH}",
    ],
)
def test_nothing_leads_out_of_the_allowed_directories(worker: Texts, secrets: Path, place: str) -> None:
    other = secrets.parent / "other"
    (secrets / "link.properties").symlink_to(other / "kafka.properties")
    (secrets / "linked").symlink_to(other)
    beside = secrets.parent / f"{secrets.name}-2"
    beside.mkdir()
    (beside / "kafka.properties").write_text("password=hush3")

    found = problems({PASSWORD: place.replace("@", str(secrets))}, worker)

    assert list(found) == [PASSWORD]
    assert "hush" not in str(found)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("${vault:secret/kafka:password}", "declares no config provider 'vault'"),
        ("${file:@/none.properties:password}", "No such file"),
        ("${file:@/kafka.properties:user}", "has no key 'user'"),
        ("${file:@/kafka.properties}", "no path is in it"),
        ("${file:@:password}", "Is a directory"),
        ("${file:@/\x00:password}", "is no path"),
        ("${file:@/malformed.properties:password}", "hexadecimal"),
        ("${directory:@:none}", "No such file"),
        ("${directory:token}", "names no file in a directory"),
        ("${env:FRAZIL_NO_SUCH_VARIABLE}", "no environment variable 'FRAZIL_NO_SUCH_VARIABLE'"),
        ("${env:/path:PATH}", "have no path"),
    ],
)
def test_what_cannot_be_looked_up_is_one_problem_with_key_place_and_reason(
    worker: Texts, secrets: Path, place: str, reason: str
) -> None:
    (secrets / "malformed.properties").write_text("password=hush\\uZZZZ")
    place = place.replace("@", str(secrets))

    found = problems({PASSWORD: place}, worker)

    assert list(found) == [PASSWORD]
    assert place in found[PASSWORD]
    assert reason in found[PASSWORD]
    assert "hush" not in found[PASSWORD]


def test_a_value_that_cannot_be_looked_up_has_no_second_problem(worker: Texts) -> None:
    found = problems({"bootstrap.servers": "${env:NONE}", "tasks.max": "${env:NONE}", "topics": "${x:y}"}, worker)

    assert list(found) == ["bootstrap.servers", "tasks.max", "topics"]


def test_every_placeholder_that_cannot_be_looked_up_is_a_problem(worker: Texts) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        loaded(worker, **{PASSWORD: "${env:NONE_1}${env:NONE_2}"})

    assert [problem.key for problem in caught.value.problems] == [PASSWORD, PASSWORD]


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("config.providers.file.param.allowed.paths", "", "absolute paths of directories"),
        ("config.providers.directory.param.allowed.paths", " , ", "absolute paths of directories"),
        ("config.providers.file.param.allowed.paths", "secrets", "'secrets' is relative"),
        ("config.providers.env.param.allowlist.pattern", "(", "not a regular expression"),
        ("config.providers.env.class", "", "is missing in the worker file"),
        ("config.providers.env.class", ENVIRONMENT.lower(), "is not built in"),
        ("config.providers.env.class", "com.acme.Vault", "'com.acme.Vault' is not built in"),
    ],
)
def test_a_provider_that_is_declared_wrongly_is_one_problem_once_it_is_asked(
    worker: Texts, secrets: Path, key: str, value: str, text: str
) -> None:
    wrong = {**worker, key: value}
    asked = {
        "consumer.ssl.key.password": f"${{file:{secrets}/kafka.properties:password}}",
        "consumer.sasl.username": f"${{file:{secrets}/kafka.properties:host}}",
        PASSWORD: f"${{directory:{secrets}:token}}",
        "consumer.client.rack": "${env:PATH}",
    }

    found = problems(asked, wrong)

    assert list(found) == [key]
    assert text in found[key]
    assert load(LEAST, wrong).name == LEAST["name"]


def test_variables_are_read_only_where_the_pattern_allows_them(worker: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "hush1")
    monkeypatch.setenv("MY_KAFKA_PASSWORD", "hush2")
    worker = {**worker, "config.providers.env.param.allowlist.pattern": "KAFKA_.*"}

    assert loaded(worker, **{PASSWORD: "${env:KAFKA_PASSWORD}"}).source.client["sasl.password"] == "hush1"
    assert "allowlist.pattern" in problems({PASSWORD: "${env:MY_KAFKA_PASSWORD}"}, worker)[PASSWORD]


def test_only_the_worker_file_declares_providers() -> None:
    declared = {"config.providers": "env", "config.providers.env.class": ENVIRONMENT}

    in_file = problems({**declared, PASSWORD: "${env:PATH}"})
    on_command_line = problems({}, overrides=declared)

    assert list(in_file) == ["config.providers", "config.providers.env.class", PASSWORD]
    assert "worker file only" in in_file["config.providers"]
    assert list(on_command_line) == ["config.providers", "config.providers.env.class"]


def test_nobody_widens_the_allowed_paths_from_outside_of_the_worker_file(worker: Texts, secrets: Path) -> None:
    widened = {"config.providers.file.param.allowed.paths": "/"}
    asked = {PASSWORD: f"${{file:{secrets.parent}/other/kafka.properties:password}}"}

    assert set(problems({**asked, **widened}, worker)) == {PASSWORD, *widened}
    assert set(problems(asked, worker, widened)) == {PASSWORD, *widened}


def test_keys_frazil_does_without_may_ask_a_provider_nobody_declared() -> None:
    keys = {"snowflake.private.key": "${file:/etc/key:pem}", "jmx": "${env:JMX}", "spark.x": "${env:HOME}"}

    settings = load({**LEAST, **keys})

    assert settings.not_needed == ("snowflake.private.key",)
    assert settings.spark["spark.x"] == "${env:HOME}", "Spark looks it up itself"


def test_keys_frazil_does_without_are_looked_up_where_the_provider_is_declared(
    worker: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JMX", "hush")

    found = problems({"jmx": "${env:JMX}", "snowflake.private.key": "${file:/etc/key:pem}"}, worker)

    assert list(found) == ["jmx", "snowflake.private.key"]
    assert "hush" not in found["jmx"]


def test_commands_without_a_connector_get_the_workers_own_keys_looked_up(
    worker: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONE", "1")
    own = {"spark.one": "${env:ONE}", "frazil.home": "/data", "consumer.sasl.password": "${env:NONE}"}

    assert worker_keys({**worker, **own}) == {"spark.one": "1", "frazil.home": "/data"}
    with pytest.raises(InvalidConfiguration, match=r"spark\.two: holds \$\{env:NONE\}"):
        worker_keys({**worker, "spark.two": "${env:NONE}"})


def test_declarations_that_nobody_reads_are_listed(worker: Texts) -> None:
    more = {
        "config.providers": "file,vault",
        "config.providers.vault.class": "com.acme.Vault",
        "config.providers.vault.param.token": "hush",
        "config.providers.file.param.other": "x",
    }

    settings = load(LEAST, {**worker, **more})

    assert [key for key, _ in settings.no_effect] == [
        "config.providers.directory.class",
        "config.providers.directory.param.allowed.paths",
        "config.providers.env.class",
        "config.providers.file.param.other",
        "config.providers.vault.class",
        "config.providers.vault.param.token",
    ]
    assert load(LEAST, worker).no_effect == ()


WRONG = {
    "name": "hush\x00",
    "connector.class": "hush",
    "topics": "hush hush",
    "tasks.max": "hush",
    "snowflake.topic2table.map": "hush:hush,hush:hush",
    "key.converter": "hush",
    "value.converter.schemas.enable": "hush",
    "header.converter": "hush",
    "errors.tolerance": "hush",
    "errors.log.enable": "hush",
    "snowflake.validation": "hush",
    "snowflake.metadata.all": "hush",
    "snowflake.url.name": "hush",
    "snowflake.enable.schematization": "hush",
    "transforms": "hush",
    "provider": "hush",
    "buffer.flush.time": "hush",
    "frazil.catalog": "hu.sh hush",
    "frazil.namespace": "hush..hush",
    "frazil.time.zone": "hush",
    "frazil.snapshots.min.age": "hush",
    "bootstrap.servers": "hush,hush",
    "consumer.isolation.level": "hush",
    "consumer.max.poll.records": "hush",
}  # fmt: skip


@pytest.mark.parametrize("around", ["{}", " {} "])
def test_what_came_from_a_provider_is_in_no_problem(worker: Texts, secrets: Path, around: str) -> None:
    for key, value in WRONG.items():
        (secrets / key).write_bytes(around.format(value).encode())

    found = problems({key: f"${{directory:{secrets}:{key}}}" for key in WRONG}, worker)

    assert set(found) == set(WRONG)
    assert "hush" not in str(found)
    assert "'****'" in found["tasks.max"]
    assert "write 1 or more" in found["tasks.max"]


def test_a_problem_of_another_kind_than_a_mask_has_says_nothing_of_its_own(worker: Texts, secrets: Path) -> None:
    (secrets / "zone").write_text("a")

    found = problems({"topics.regex": f"${{directory:{secrets}:token}}"}, worker)
    assert "together with topics" in found["topics.regex"]

    (secrets / "name").write_text("****\x00")
    found = problems({"name": f"${{directory:{secrets}:name}}"}, worker)
    assert "not shown" in found["name"]


def test_what_came_from_a_provider_is_in_no_repr(worker: Texts, secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUSH", "hush")
    keys = ("name", "topics", "frazil.catalog", "frazil.namespace", "frazil.home", "consumer.group.id", PASSWORD)

    settings = loaded(
        worker, **dict.fromkeys(keys, "${env:HUSH}"), **{"snowflake.topic2table.map": "${env:HUSH}:${env:HUSH}"}
    )

    assert settings.catalog == "hush"
    assert "hush" not in repr(settings) + str(settings)
    assert "connector_class='frazil.KafkaConnector'" in repr(settings)
