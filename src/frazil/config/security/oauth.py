"""OAUTHBEARER: where Java names a class that fetches tokens, librdkafka has a method, `oidc`, and its own keys."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.config.translation import Translation

LOGIN_HANDLER = "sasl.login.callback.handler.class"
RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
URL_ENCODED = "sasl.oauthbearer.header.urlencode"
METHOD = "sasl.oauthbearer.method"
GRANT = "sasl.oauthbearer.grant.type"

JAVA_KEYS = (LOGIN_HANDLER, RETRIEVER, URL_ENCODED)
"""Keys that are not librdkafka's."""

_PACKAGE = "org.apache.kafka.common.security.oauthbearer"
_HANDLERS = (
    f"{_PACKAGE}.OAuthBearerLoginCallbackHandler",
    f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler",
)
_CREDENTIALS = "client_credentials"
_GRANTS: Mapping[str, str] = {
    f"{_PACKAGE}.ClientCredentialsJwtRetriever": _CREDENTIALS,
    f"{_PACKAGE}.DefaultJwtRetriever": _CREDENTIALS,
    f"{_PACKAGE}.JwtBearerJwtRetriever": "urn:ietf:params:oauth:grant-type:jwt-bearer",
}
_OPTIONS: Mapping[str, str] = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_RENAMED: Mapping[str, str] = {
    "sasl.oauthbearer.assertion.template.file": "sasl.oauthbearer.assertion.jwt.template.file",
    "sasl.oauthbearer.client.credentials.client.id": _OPTIONS["clientId"],
    "sasl.oauthbearer.client.credentials.client.secret": _OPTIONS["clientSecret"],
}
_EXTENSION = "extension_"
_UNSIGNED = "enable.sasl.oauthbearer.unsecure.jwt"
_METADATA = "sasl.oauthbearer.metadata.authentication.type"


def renamed(keys: Mapping[str, str]) -> dict[str, str]:
    """`keys` by the names librdkafka has for them."""
    return {_RENAMED.get(key, key): value for key, value in keys.items()}


def translate(given: Mapping[str, str], options: Mapping[str, str], source: str, done: Translation) -> None:
    """Translate what fetches tokens.

    Args:
        given: The consumer keys, without their prefix.
        options: Those of the login module.
        source: The key to name where something is missing.
        done: Takes what is found; it holds the keys that are librdkafka's own already.
    """
    if given.get(_UNSIGNED, "").strip().lower() == "true" or _METADATA in given:
        return  # librdkafka's own keys say how
    _java_classes(given, done)
    _endpoint(given, options, source, done)
    done.client.setdefault(METHOD, "oidc")
    for option, name in _OPTIONS.items():
        if option in options:
            done.client.setdefault(name, options[option])  # Java too prefers the keys
    if done.client.get(GRANT, _CREDENTIALS) == _CREDENTIALS:
        for option in ("clientId", "clientSecret"):
            if _OPTIONS[option] not in done.client:
                done.refuse(
                    source, f'goes without {option}. Write {option}="…" in sasl.jaas.config, before the semicolon.'
                )
    extensions = [f"{key.removeprefix(_EXTENSION)}={options[key]}" for key in options if key.startswith(_EXTENSION)]
    if extensions:
        done.client["sasl.oauthbearer.extensions"] = ",".join(extensions)


def not_asked_for(given: Mapping[str, str], done: Translation) -> None:
    """Note what is given for OAUTHBEARER where another mechanism is used."""
    if LOGIN_HANDLER in given:
        done.refuse(LOGIN_HANDLER, "names a Java class, and no JVM reads from Kafka. Remove the key.")
    for key in (RETRIEVER, URL_ENCODED):
        if key in given:
            done.ignore(key, "it is for sasl.mechanism=OAUTHBEARER")


def _java_classes(given: Mapping[str, str], done: Translation) -> None:
    handler = given.get(LOGIN_HANDLER, _HANDLERS[0]).strip()
    if handler not in _HANDLERS:
        done.refuse(LOGIN_HANDLER, f"is {handler}, a Java class that frazil cannot run. Write {_HANDLERS[0]}.")
    retriever = given.get(RETRIEVER, "").strip()
    if retriever in _GRANTS:
        done.client.setdefault(GRANT, _GRANTS[retriever])
    elif retriever:
        names = ", ".join(_GRANTS)
        done.refuse(RETRIEVER, f"is {retriever}, a Java class that frazil cannot run. Write one of {names}.")


def _endpoint(given: Mapping[str, str], options: Mapping[str, str], source: str, done: Translation) -> None:
    url = given.get(ENDPOINT)
    if url is None:
        done.refuse(source, f"goes without {ENDPOINT}: unsigned tokens of one's own are not made. Write it beside.")
    elif not url.strip().lower().startswith(("http://", "https://")):
        done.refuse(ENDPOINT, "is no http:// or https:// address, and tokens are fetched from nowhere else.")
    if given.get(URL_ENCODED, "").strip().lower() == "true":
        done.refuse(URL_ENCODED, "is true, and librdkafka sends the client's id and secret as they are. Remove it.")
    if any(option.startswith("ssl.") for option in options):
        done.refuse(
            source, f"has ssl.* options. Write https.ca.location=<PEM file> for the certificates of {ENDPOINT}."
        )
