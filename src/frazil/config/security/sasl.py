"""The SASL keys of Java's client (`sasl.*`) in librdkafka's terms; `sasl.jaas.config` above all.

Java names a login module in a JAAS text, librdkafka a mechanism and plain keys. What librdkafka cannot do (Kerberos in
the wheels, mechanisms that only Java libraries speak) is refused by name. Keys of librdkafka's own pass through.
"""

from __future__ import annotations

from collections.abc import Mapping

from frazil.config.security import jaas, oauth
from frazil.config.security.jaas import LoginModule, MalformedJaas
from frazil.config.translation import Translation

JAAS = "sasl.jaas.config"
MECHANISM = "sasl.mechanisms"
"""librdkafka's name for it."""

JAVA_KEYS = (JAAS, *oauth.JAVA_KEYS)
"""Keys that are not librdkafka's."""

MODULES: Mapping[str, tuple[str, ...]] = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": ("PLAIN",),
    "org.apache.kafka.common.security.scram.ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": ("OAUTHBEARER",),
}
"""The login modules that can be translated, each with its mechanisms."""

_BY_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS = (*_BY_PASSWORD, "OAUTHBEARER", "GSSAPI")
_KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"
OTHERS = f"Write a sasl.mechanism that the brokers and this librdkafka share: {', '.join(_MECHANISMS[:-1])}."
"""What to do about a mechanism that cannot be used."""

_USER: Mapping[str, str] = {"username": "sasl.username", "password": "sasl.password"}


def translate(given: Mapping[str, str], *, asked: bool) -> Translation:
    """Translate the `sasl.*` keys among `given`, consumer keys without their prefix; `asked`: whether SASL is used."""
    own = {key: value for key, value in given.items() if key.startswith("sasl.") and key not in JAVA_KEYS}
    done = Translation(client=oauth.renamed(own))
    if not asked:
        for key in JAVA_KEYS:
            if key in given:
                done.ignore(key, "security.protocol asks for no SASL")
        return done
    mechanism = given.get(MECHANISM, "").strip()
    if mechanism:
        done.client[MECHANISM] = mechanism
    if mechanism and mechanism not in _MECHANISMS:
        done.refuse(MECHANISM, _no_mechanism(mechanism))
        return done
    if mechanism != "OAUTHBEARER":
        oauth.not_asked_for(given, done)
    if JAAS in given:
        _by_login_module(given, mechanism, done)
    elif mechanism in _BY_PASSWORD and not done.client.keys() >= set(_USER.values()):
        done.refuse(MECHANISM, f"is {mechanism}, which needs sasl.jaas.config, or sasl.username and sasl.password.")
    elif mechanism == "OAUTHBEARER":
        oauth.translate(given, {}, MECHANISM, done)
    return done


def _no_mechanism(mechanism: str) -> str:
    if mechanism == "AWS_MSK_IAM":
        return f"is AWS_MSK_IAM, which only Amazon's library for Java speaks. {OTHERS} MSK has SCRAM-SHA-512."
    return f"is {mechanism}, which librdkafka does not speak. {OTHERS}"


def _by_login_module(given: Mapping[str, str], mechanism: str, done: Translation) -> None:
    try:
        module = jaas.parse(given[JAAS])
    except MalformedJaas as malformed:
        example = '<login module> required username="…" password="…";'
        done.refuse(JAAS, f"is malformed: {malformed}. It has the form {example}")
        return
    if wrong := _wrong_module(module.name, mechanism):
        done.refuse(JAAS, wrong)
    elif mechanism == "OAUTHBEARER":
        oauth.translate(given, module.options, JAAS, done)
    else:
        _by_password(module, done)


def _wrong_module(name: str, mechanism: str) -> str | None:
    if name == _KERBEROS:
        return (
            "names Krb5LoginModule, and the wheels of confluent-kafka hold no Kerberos (GSSAPI). Use another mechanism "
            f"of the brokers' ({', '.join(_MECHANISMS[:-1])}), or a confluent-kafka built with GSSAPI together with "
            "sasl.kerberos.keytab, sasl.kerberos.principal and sasl.kerberos.service.name."
        )
    if name not in MODULES:
        return f"names a login module that frazil cannot translate. Write one of {', '.join(MODULES)}."
    if not mechanism:
        wanted = " or ".join(f"sasl.mechanism={each}" for each in MODULES[name])
        return f"goes without sasl.mechanism, whose default is GSSAPI (Kerberos). Write {wanted} beside it."
    if mechanism not in MODULES[name]:
        right = [module for module, mechanisms in MODULES.items() if mechanism in mechanisms]
        return f"names a login module for another mechanism. Write {' or '.join([*right, 'another sasl.mechanism'])}."
    return None


def _by_password(module: LoginModule, done: Translation) -> None:
    for name in _USER.values():
        if name in done.client:
            done.refuse(name, f"is given together with {JAAS}. Keep one of them.")
    if module.options.get("tokenauth", "").lower() == "true":
        done.refuse(JAAS, "has tokenauth=true: librdkafka speaks no delegation tokens. Write a user and a password.")
    for option, name in _USER.items():
        if option not in module.options:
            done.refuse(JAAS, f'has no {option}. Write {option}="…" before the semicolon.')
        done.client[name] = module.options.get(option, "")
    if module.options.keys() - _USER.keys() - {"tokenauth"}:
        done.ignore(JAAS, "as for options other than username and password")
