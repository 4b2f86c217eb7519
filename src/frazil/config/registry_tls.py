"""The TLS keys of a converter's schema registry: Java's stores as PEM, so that workers need not have the files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from frazil.config.security import tls
from frazil.config.translation import Translation

PREFIX: Final = "schema.registry."
_PEM: Final = ("ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem")
_REFUSED: Final = {
    tls.SUITES: "is not read for a schema registry. Remove the key.",
    tls.ENDPOINT: "switches off that the registry's name is checked, which is not built. Remove the key, and give the "
    "registry a certificate with its name.",
}


def translate(options: Mapping[str, str]) -> Translation:
    """A converter's options with PEM texts in place of stores; keys are named as they are among the options.

    Args:
        options: the converter's, without its prefix.
    """
    java = {
        name: value
        for key, value in options.items()
        if key.startswith(PREFIX) and (name := key.removeprefix(PREFIX)) in tls.JAVA_KEYS | {tls.ENDPOINT}
    }
    done = Translation({key: value for key, value in options.items() if key.removeprefix(PREFIX) not in java})
    if not java:
        return done
    password = options.get(f"{PREFIX}ssl.key.password")
    found = tls.translate(java if password is None else {**java, "ssl.key.password": password}, asked=True)
    if "ssl.key.pem" in found.client:
        done.client.pop(f"{PREFIX}ssl.key.password", None)  # what travels is open
    done.client |= {f"{PREFIX}{key}": found.client[key] for key in _PEM if key in found.client}
    for problem in found.problems:
        done.refuse(f"{PREFIX}{problem.key}", problem.text)
    for key, reason in _REFUSED.items():
        if key in java and (key != tls.ENDPOINT or found.client[key] != "https"):
            done.refuse(f"{PREFIX}{key}", reason)
    return done
