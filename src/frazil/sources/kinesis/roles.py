"""A role of AWS that is assumed with other credentials, and again before those that it gave expire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import ClientError, NoCredentialsError
from botocore.session import get_session

from frazil.sources.kinesis.answers import UnreadableAnswer, reading

_SESSION_NAME: Final = "frazil"
_METHOD: Final = "assume-role"
_OPERATION: Final = "AssumeRole"


class NoneToAssumeWith(NoCredentialsError):  # type: ignore[misc] # botocore has no types
    """There are no credentials that a role could be assumed with."""

    fmt = "there are none to assume the role {role} with"


def with_role(own: boto3.Session, role: str, client: Mapping[str, str], patience: Config) -> boto3.Session:
    """A session with the credentials of a role.

    The role is assumed when something is first signed. What keeps it from being assumed is raised then, as botocore
    raises what goes wrong with a request, and names the role.

    Args:
        own: whose credentials may assume the role.
        role: its ARN.
        client: what the settings say: its session's name, its external id and the profile, if any.
        patience: for how long the token service is waited for.
    """
    assumed = get_session()
    if profile := client.get("profile"):
        assumed.set_config_variable("profile", profile)
    assumed._credentials = DeferredRefreshableCredentials(_fetching(own, role, client, patience), _METHOD)  # noqa: SLF001
    assumed.set_config_variable("region", own.region_name)
    return boto3.Session(botocore_session=assumed)


def _fetching(
    own: boto3.Session, role: str, client: Mapping[str, str], patience: Config
) -> Callable[[], dict[str, Any]]:
    """What gets new credentials."""
    extra = {"RoleSessionName": client.get("role_session_name", _SESSION_NAME)}
    if external := client.get("role_external_id"):
        extra["ExternalId"] = external
    source = own.get_credentials()

    def fetch() -> dict[str, Any]:
        if source is None:
            raise NoneToAssumeWith(role=role)
        # boto3 has no public way to the session it wraps.
        create = partial(own._session.create_client, config=patience)  # noqa: SLF001
        fetcher = AssumeRoleCredentialFetcher(create, source, role, extra_args=extra)
        try:
            with reading(_OPERATION):
                found: dict[str, Any] = fetcher.fetch_credentials()
        except ClientError as error:
            if "Error" not in error.response:
                # botocore reads an error page of a proxy as an error without a code and without a message.
                raise UnreadableAnswer(operation=_OPERATION, problem="an error without a code") from error
            raise _naming(role, error) from error
        return found

    return fetch


def _naming(role: str, error: ClientError) -> ClientError:
    """The same error, of that role."""
    said = error.response["Error"]
    message = f"the role {role} cannot be assumed: {said.get('Message', '')}".rstrip(": ")
    return ClientError({**error.response, "Error": {**said, "Message": message}}, error.operation_name)
