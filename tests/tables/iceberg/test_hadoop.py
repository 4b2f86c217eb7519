"""What Hadoop's configuration says of object stores, in the words of Iceberg's FileIO."""

from __future__ import annotations

import pytest

from frazil.tables.iceberg.hadoop import properties

HOST = "account.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("told", "location", "found"),
    [
        ({}, "s3a://lake/t", {}),
        (
            {"access.key": "k", "secret.key": "s", "session.token": "t", "path.style.access": "true"},
            "s3a://lake/t",
            {"s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.session-token": "t", "s3.path-style-access": "true"},
        ),
        ({"access.key": "k", "bucket.lake.access.key": "mine"}, "s3a://lake/t", {"s3.access-key-id": "mine"}),
        ({"access.key": "k", "bucket.lake.access.key": "mine"}, "s3a://other/t", {"s3.access-key-id": "k"}),
        ({"endpoint": "127.0.0.1:9000", "connection.ssl.enabled": "false"}, "s3://l/t", {"s3.endpoint": "http://127.0.0.1:9000"}),
        ({"endpoint": "minio:9000", "connection.ssl.enabled": "true"}, "s3n://l/t", {"s3.endpoint": "https://minio:9000"}),
        ({"endpoint": "http://minio:9000"}, "s3n://l/t", {"s3.endpoint": "http://minio:9000"}),
        ({"endpoint": "s3.amazonaws.com", "endpoint.region": "eu-central-1"}, "s3a://l/t", {"client.region": "eu-central-1"}),
        ({"encryption.algorithm": "SSE-KMS"}, "s3a://l/t", {"s3.sse.type": "kms"}),
        ({"encryption.algorithm": "AES256"}, "s3a://l/t", {}),
        ({"acl.default": "BucketOwnerFullControl"}, "s3a://l/t", {"s3.acl": "bucket-owner-full-control"}),
        ({"project.id": "p", "storage.root.url": "https://storage.googleapis.com/"}, "gs://l/t", {"gcs.project-id": "p"}),
        (
            {f"account.key.{HOST}": "key"},
            f"abfss://c@{HOST}/t",
            {"adls.auth.shared-key.account.name": "account", "adls.auth.shared-key.account.key": "key"},
        ),
        (
            {
                "account.oauth2.client.id": "id",
                f"account.oauth2.client.secret.{HOST}": "secret",
                "account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
            },
            f"abfss://c@{HOST}/t",
            {"adls.client-id": "id", "adls.client-secret": "secret", "adls.tenant-id": "tenant"},
        ),
        ({f"sas.fixed.token.{HOST}": "sig"}, f"abfs://c@{HOST}/t", {f"adls.sas-token.{HOST}": "sig"}),
        ({"access.key": "k"}, "hdfs://host/t", {}),
    ],
)  # fmt: skip
def test_what_opens_a_location_through_hadoop_opens_it_for_tasks(
    told: dict[str, str], location: str, found: dict[str, str]
) -> None:
    assert properties(told, location) == found
