"""From a location, and what opens it, to one of Arrow's file systems.

What opens a location is given in the properties of Iceberg's FileIO (`s3.endpoint`, `gcs.oauth2.token` …), wherever the
catalog has them from. A property that changes what is written, or how it is reached, and that Arrow cannot follow is
refused: a file must not lie unencrypted where it was to be encrypted.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from frazil.errors import StorageNotSupported, StorageUnavailable
from frazil.secrets import remember
from frazil.storage.remote import RemoteLocation

_CONNECT: Final = 5.0
_ANSWER: Final = 30.0
_RETRY: Final = 30.0
"""Seconds for a connection, for an answer, and for trying again; then the cycle is abandoned and planned anew."""

_ATTEMPTS: Final = 3

_KEPT: Final = 16
"""File systems that a worker keeps: those of its tables, with the credentials of the last hours."""

_AWS: Final = "software.amazon.awssdk.auth.credentials."
_FOUND_BY_ARROW: Final = ("Default", "EnvironmentVariable", "InstanceProfile", "Profile", "WebIdentityTokenFile")
"""Providers of the AWS SDK for Java whose credentials Arrow finds by itself, in the same places."""

_ASSUMES_ROLE: Final = "org.apache.iceberg.aws.AssumeRoleAwsClientFactory"

Access = Mapping[str, str]


def place(location: str, access: Access) -> RemoteLocation:
    """Where a location is; the file system is kept for the next one that the same opens.

    Raises:
        StorageNotSupported: its scheme is none of those known here, or `access` asks for what Arrow cannot do.
        StorageUnavailable: what has to answer first does not.
    """
    remember(access)  # a store may quote what opens it
    scheme, _, rest = location.partition(":")
    authority, _, path = rest.removeprefix("//").partition("/") if rest.startswith("//") else ("", "", rest[1:])
    family = _FAMILIES.get(scheme.lower())
    if family is None or (not authority and scheme.lower() != "hdfs"):
        raise StorageNotSupported.scheme(location)
    try:
        system = _system(family, scheme.lower(), authority, tuple(sorted(access.items())))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StorageNotSupported(f"{location}: {error}") from None
    if family is _hdfs:
        return RemoteLocation(system, f"/{path}", has_directories=True)
    if family is _s3 and ("?" in path or "#" in path):
        raise StorageNotSupported(f"{location}: Iceberg ends a key of S3 before `?` and `#`. Choose another location.")
    return RemoteLocation(system, f"{authority.partition('@')[0]}/{path}", has_directories=False)


@lru_cache(maxsize=_KEPT)
def _system(
    family: Callable[[str, str, Access], fs.FileSystem],
    scheme: str,
    authority: str,
    access: tuple[tuple[str, str], ...],
) -> fs.FileSystem:
    return family(scheme, authority, dict(access))


def _s3(_scheme: str, bucket: str, access: Access) -> fs.FileSystem:
    if "s3.access-key-id" not in access:
        _refuse(access, "s3.remote-signing-enabled", {"true"}, "have the catalog give out (vend) credentials instead")
    _refuse(access, "s3.sse.type", {"kms", "dsse-kms", "custom"}, "let the bucket encrypt by default")
    _refuse(access, "s3.access-grants.enabled", {"true"}, "give credentials or a role instead")
    _refuse(access, f"s3.access-points.{bucket}", None, "name the bucket itself in the location")
    _refuse(access, "s3.client-factory-impl", None, "give credentials or a role instead")
    if access.get("client.factory", _ASSUMES_ROLE) != _ASSUMES_ROLE:
        _refuse(access, "client.factory", None, "give credentials or a role instead")
    endpoint = urlsplit(access.get("s3.endpoint", ""))
    virtual = access.get("s3.path-style-access", "false").lower() != "true" and not _is_address(endpoint.hostname or "")
    return fs.S3FileSystem(
        **_s3_credentials(access),
        region=access.get("client.region") or _region(bucket, elsewhere=bool(endpoint.netloc)),
        scheme=endpoint.scheme or "https",
        endpoint_override=(endpoint.netloc + endpoint.path.rstrip("/")) or None,
        force_virtual_addressing=bool(endpoint.netloc) and virtual,
        default_metadata={"ACL": access["s3.acl"]} if "s3.acl" in access else None,
        connect_timeout=_CONNECT,
        request_timeout=_ANSWER,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        # Small files go in one request instead of three.
        allow_delayed_open=True,
    )


def _s3_credentials(access: Access) -> dict[str, Any]:
    if "s3.access-key-id" in access:
        return {
            "access_key": access["s3.access-key-id"],
            "secret_key": access.get("s3.secret-access-key"),
            "session_token": access.get("s3.session-token"),
        }
    if "client.assume-role.arn" in access:
        return {
            "role_arn": access["client.assume-role.arn"],
            "session_name": access.get("client.assume-role.session-name"),
            "external_id": access.get("client.assume-role.external-id"),
        }
    provider = access.get("client.credentials-provider", f"{_AWS}DefaultCredentialsProvider")
    if provider == f"{_AWS}AnonymousCredentialsProvider":
        return {"anonymous": True}
    if provider not in [f"{_AWS}{name}CredentialsProvider" for name in _FOUND_BY_ARROW]:
        _refuse(access, "client.credentials-provider", None, "give credentials or a role instead")
    return {}


def _region(bucket: str, *, elsewhere: bool) -> str | None:
    """Where a bucket is, if nobody says so; None leaves it to the SDK. Who is not Amazon rarely looks at it."""
    configured = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if configured or elsewhere:
        return configured or "us-east-1"
    try:
        return str(fs.resolve_s3_region(bucket))
    except (OSError, pa.ArrowException):
        return None


def _gcs(_scheme: str, _bucket: str, access: Access) -> fs.FileSystem:
    _refuse(access, "gcs.encryption-key", None, "let the bucket encrypt by default")
    _refuse(access, "gcs.user-project", None, "use a bucket whose owner pays")
    endpoint = urlsplit(access.get("gcs.service.host", ""))
    token = access.get("gcs.oauth2.token")
    expires = access.get("gcs.oauth2.token-expires-at")
    return fs.GcsFileSystem(
        anonymous=access.get("gcs.no-auth", "false").lower() == "true",
        access_token=token,
        credential_token_expiration=_moment(expires) if token else None,
        target_service_account=access.get("gcs.impersonate.service-account"),
        scheme=endpoint.scheme or None,
        endpoint_override=endpoint.netloc or None,
        project_id=access.get("gcs.project-id"),
        retry_time_limit=timedelta(seconds=_RETRY),
    )


def _moment(milliseconds: str | None) -> datetime:
    if milliseconds is None:
        return datetime.now(UTC) + timedelta(hours=1)
    return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)


def _azure(scheme: str, authority: str, access: Access) -> fs.FileSystem:
    _refuse(access, "adls.token", None, "give a SAS token, an account key or a service principal instead")
    _refuse(access, "adls.token-credential-provider", None, "give a SAS token or a service principal instead")
    host = authority.rpartition("@")[2]
    account, _, domain = host.partition(".")
    # `.dfs.core.windows.net`, or `.blob.…` as wasb has it; other clouds have other endings.
    ending = domain.partition(".")[2] or "core.windows.net"
    parts = access.get(f"adls.connection-string.{host}", "").split(";")
    settings = dict(part.split("=", 1) for part in parts if "=" in part)
    if settings and not {"AccountKey", "SharedAccessSignature"} & settings.keys():
        problem = "its connection string has neither AccountKey nor SharedAccessSignature"
        raise StorageNotSupported(f"{scheme}://{authority}: {problem}. Add one of them.")
    mine = access.get("adls.auth.shared-key.account.name", account) == account
    return fs.AzureFileSystem(
        account,
        account_key=settings.get("AccountKey") or (access.get("adls.auth.shared-key.account.key") if mine else None),
        sas_token=settings.get("SharedAccessSignature") or _sas(access, account, host),
        blob_storage_authority=f".blob.{ending}",
        dfs_storage_authority=f".dfs.{ending}",
        client_id=access.get("adls.client-id"),
        client_secret=access.get("adls.client-secret"),
        tenant_id=access.get("adls.tenant-id"),
    )


def _sas(access: Access, account: str, host: str) -> str | None:
    found = access.get(f"adls.sas-token.{host}") or access.get(f"adls.sas-token.{account}")
    return found.removeprefix("?") if found else None


def _hdfs(_scheme: str, authority: str, _access: Access) -> fs.FileSystem:
    host, _, port = authority.partition(":")
    # Port 0 is what a name service has; for a plain host, it is the default.
    try:
        return fs.HadoopFileSystem(host or "default", int(port or 0))
    except OSError as error:
        said = str(error)
        if "Unable to load" not in said:
            # A name node that does not answer.
            raise StorageUnavailable(f"hdfs://{authority}: {said}") from None
        raise StorageNotSupported(
            f"hdfs://{authority}: {said.splitlines()[0]}. Tasks write to HDFS with Hadoop's native library: set "
            "JAVA_HOME, HADOOP_HOME, ARROW_LIBHDFS_DIR and CLASSPATH (`hadoop classpath --glob`) for the driver and "
            "the executors."
        ) from None


_FAMILIES: Final = {
    **dict.fromkeys(("s3", "s3a", "s3n"), _s3),
    "gs": _gcs,
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), _azure),
    "hdfs": _hdfs,
}


def _refuse(access: Access, key: str, values: set[str] | None, remedy: str) -> None:
    """Refuse a property, if it is one of `values`; None are all."""
    if key in access and (values is None or access[key].lower() in values):
        raise StorageNotSupported(f"the table's storage: the tasks cannot follow {key}. Remove it and {remedy}.")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True
