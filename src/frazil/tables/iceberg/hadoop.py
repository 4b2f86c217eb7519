"""Hadoop's configuration of object stores in the properties of Iceberg's FileIO: pure rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

Properties = dict[str, str]

PREFIXES: Final = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "fs.s3a."),
    "gs": "fs.gs.",
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "fs.azure."),
}
"""Where Hadoop keeps the configuration of a scheme."""

_S3: Final = {
    "access.key": "s3.access-key-id",
    "secret.key": "s3.secret-access-key",
    "session.token": "s3.session-token",
    "endpoint.region": "client.region",
    "path.style.access": "s3.path-style-access",
    "assumed.role.arn": "client.assume-role.arn",
    "assumed.role.session.name": "client.assume-role.session-name",
}
_ENCRYPTION: Final = {
    "SSE-KMS": "kms",
    "DSSE-KMS": "dsse-kms",
    **dict.fromkeys(("SSE-C", "CSE-KMS", "CSE-CUSTOM"), "custom"),
}
_ANONYMOUS: Final = "software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider"


def properties(configured: Mapping[str, str], location: str) -> Properties:
    """What opens a location.

    Args:
        configured: Hadoop's configuration of the location's scheme, its prefix taken away.
        location: below a bucket or container.

    >>> properties({"access.key": "k", "bucket.lake.access.key": "mine"}, "s3a://lake/t")
    {'s3.access-key-id': 'mine'}
    """
    scheme, _, rest = location.partition("://")
    authority = rest.partition("/")[0]
    family = _FAMILIES.get(PREFIXES.get(scheme.lower(), ""))
    found = family(configured, authority) if family else {}
    return {key: value for key, value in found.items() if value}


def _s3(configured: Mapping[str, str], bucket: str) -> Properties:
    def get(key: str) -> str:
        return configured.get(f"bucket.{bucket}.{key}", configured.get(key, ""))

    found = {theirs: get(key) for key, theirs in _S3.items()}
    endpoint = get("endpoint")
    if endpoint and not endpoint.endswith("amazonaws.com"):
        secure = get("connection.ssl.enabled").lower() != "false"
        found["s3.endpoint"] = endpoint if "://" in endpoint else f"{'https' if secure else 'http'}://{endpoint}"
    if "Anonymous" in get("aws.credentials.provider"):
        found["client.credentials-provider"] = _ANONYMOUS
    found["s3.sse.type"] = _ENCRYPTION.get(get("encryption.algorithm") or get("server-side-encryption-algorithm"), "")
    # `BucketOwnerFullControl` is `bucket-owner-full-control` everywhere else.
    found["s3.acl"] = re.sub(r"(?<!^)(?=[A-Z])", "-", get("acl.default")).lower()
    return found


def _gcs(configured: Mapping[str, str], _bucket: str) -> Properties:
    url = configured.get("storage.root.url", "").rstrip("/")
    return {
        "gcs.project-id": configured.get("project.id", ""),
        "gcs.service.host": "" if url == "https://storage.googleapis.com" else url,
        "gcs.encryption-key": configured.get("encryption.key", ""),
    }


def _azure(configured: Mapping[str, str], authority: str) -> Properties:
    container, _, host = authority.rpartition("@")
    account = host.partition(".")[0]

    def get(key: str) -> str:
        return configured.get(f"{key}.{host}", configured.get(key, ""))

    found = {
        "adls.client-id": get("account.oauth2.client.id"),
        "adls.client-secret": get("account.oauth2.client.secret"),
        # `https://login.microsoftonline.com/<tenant>/oauth2/token`
        "adls.tenant-id": urlsplit(get("account.oauth2.client.endpoint")).path.strip("/").partition("/")[0],
        f"adls.sas-token.{host}": get("sas.fixed.token") or configured.get(f"sas.{container}.{host}", ""),
    }
    if key := get("account.key"):
        found |= {"adls.auth.shared-key.account.name": account, "adls.auth.shared-key.account.key": key}
    return found


_FAMILIES: Final[Mapping[str, Callable[[Mapping[str, str], str], Properties]]] = {
    "fs.s3a.": _s3,
    "fs.gs.": _gcs,
    "fs.azure.": _azure,
}
