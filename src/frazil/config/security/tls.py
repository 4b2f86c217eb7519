"""The TLS keys of Java's client (`ssl.*`) in librdkafka's terms.

librdkafka reads no Java key stores, and workers need not have the files: what stores hold travels as PEM values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from frazil.config.security import key_stores, store_keys
from frazil.config.security.key_stores import Unusable
from frazil.config.security.store_keys import Refused
from frazil.config.translation import Translation

ENDPOINT = "ssl.endpoint.identification.algorithm"
ENABLED, PROTOCOL, SUITES = "ssl.enabled.protocols", "ssl.protocol", "ssl.cipher.suites"

JAVA_KEYS = store_keys.KEYS | {ENABLED, PROTOCOL, SUITES}
"""Keys that are not librdkafka's, or mean something else there."""

_VERSIONS = "librdkafka speaks TLS 1.2 and 1.3, whichever the broker prefers"
_SUITE = re.compile(
    r"TLS_(?P<exchange>RSA|DHE_RSA|ECDHE_RSA|ECDHE_ECDSA)_WITH_"
    r"(?:AES_(?P<bits>128|256)_(?P<mode>GCM|CBC)_(?P<hash>SHA(?:256|384)?)|(?P<chacha>CHACHA20_POLY1305)_SHA256)"
)


def translate(given: Mapping[str, str], *, asked: bool) -> Translation:
    """Translate the `ssl.*` keys among `given`, consumer keys without their prefix; `asked`: whether TLS is used."""
    own = {key: value for key, value in given.items() if key.startswith("ssl.") and key not in JAVA_KEYS}
    done = Translation(client=own)
    if ENDPOINT in given:
        done.client[ENDPOINT] = given[ENDPOINT].strip().lower() or "none"  # Java's way to say it is to write nothing
    if not asked:
        for key in sorted(JAVA_KEYS & given.keys()):
            done.ignore(key, "security.protocol asks for no TLS")
        return done
    _versions(given, done)
    _cipher_suites(given, done)
    for take in (_take_trust, _take_identity):
        try:
            take(given, done)
        except Refused as refused:
            done.refuse(refused.key, refused.text)
    return done


def openssl_name(suite: str) -> str | None:
    """What OpenSSL calls the cipher suite that Java calls `suite`, None if nothing; its own names stay."""
    if "_" not in suite:
        return suite
    match = _SUITE.fullmatch(suite)
    if match is None:
        return None
    exchange = "" if match["exchange"] == "RSA" else match["exchange"].replace("_", "-") + "-"
    if match["chacha"]:
        return f"{exchange}CHACHA20-POLY1305"
    mode = "GCM-" if match["mode"] == "GCM" else ""
    return f"{exchange}AES{match['bits']}-{mode}{match['hash']}"


def _versions(given: Mapping[str, str], done: Translation) -> None:
    asked = {ENABLED: given.get(ENABLED, "").split(","), PROTOCOL: [given.get(PROTOCOL, "")]}
    enough = {ENABLED: {"TLSv1.2"}, PROTOCOL: {"TLS", "TLSv1.2", "TLSv1.3"}}
    for key in (ENABLED, PROTOCOL):
        if key not in given:
            continue
        if enough[key].isdisjoint(name.strip() for name in asked[key]):
            done.refuse(key, f"is {given[key]}, and {_VERSIONS}. Remove the key, and choose on the brokers.")
        else:
            done.ignore(key, _VERSIONS)


def _cipher_suites(given: Mapping[str, str], done: Translation) -> None:
    suites = [name for part in re.split("[,:]", given.get(SUITES, "")) if (name := part.strip())]
    newest = [name for name in suites if name.startswith("TLS_") and "_WITH_" not in name]
    if newest:
        done.ignore(SUITES, "as for suites of TLS 1.3: librdkafka offers all of them")
    names = {suite: openssl_name(suite) for suite in suites if suite not in newest}
    unknown = [suite for suite, name in names.items() if name is None]
    if unknown:
        done.refuse(SUITES, f"holds {', '.join(unknown)}, which OpenSSL does not offer. Leave out what it names.")
    elif names:
        done.client[SUITES] = ":".join(name for name in names.values() if name)


def _take_trust(given: Mapping[str, str], done: Translation) -> None:
    store = store_keys.find(given, store_keys.TRUST)
    if store is None:
        return
    _alone(store.key, ("ssl.ca.location", "ssl.ca.pem"), done)
    try:
        done.client["ssl.ca.pem"] = key_stores.trusted(store.content, store.password, pem=store.pem)
    except Unusable as unusable:
        raise store.refused(str(unusable)) from unusable


def _take_identity(given: Mapping[str, str], done: Translation) -> None:
    store = store_keys.find(given, store_keys.IDENTITY)
    if store is None:
        return
    _alone(store.key, ("ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem"), done)
    key_password = done.client.pop("ssl.key.password", None)  # what travels is open
    try:
        identity = key_stores.identity(store.content, store.password, key_password, pem=store.pem)
    except Unusable as unusable:
        raise store.refused(str(unusable)) from unusable
    done.client["ssl.certificate.pem"] = identity.certificates
    done.client["ssl.key.pem"] = identity.key


def _alone(key: str, others: tuple[str, ...], done: Translation) -> None:
    for other in others:
        if other in done.client:
            raise Refused(other, f"is given together with {key}. Keep one of them.")
