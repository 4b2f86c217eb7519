from __future__ import annotations

import pytest

from frazil.errors import StorageUnavailable
from frazil.secrets import is_secret, mask, remember


@pytest.mark.parametrize(
    "key",
    [
        "snowflake.private.key",
        "snowflake.private.key.passphrase",
        "snowflake.oauth.client.secret",
        "snowflake.oauth.refresh.token",
        "jvm.proxy.password",
        "consumer.sasl.jaas.config",
        "consumer.override.sasl.password",
        "consumer.ssl.key.password",
        "consumer.ssl.key.pem",
        "consumer.ssl.keystore.key",
        "consumer.ssl.truststore.password",
        "consumer.sasl.oauthbearer.client.credentials.client.secret",
        "value.converter.basic.auth.user.info",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.sql.catalog.lake.credential",
        "spark.sql.catalog.lake.token",
        "spark.sql.catalog.lake.s3.sse.key",
        "spark.sql.catalog.lake.adls.connection-string.account",
        "spark.sql.catalog.lake.header.Authorization",
        "frazil.kinesis.access.key.id",
        "frazil.kinesis.secret.access.key",
        "frazil.kinesis.session.token",
        "frazil.kinesis.role.external.id",
        "AWS Access Key ID",
        "AWS Secret Access Key",
        "Snowflake Private Key",
        "Snowflake Private Key Password",
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.container.account.blob.core.windows.net",
        "spark.hadoop.fs.azure.sas.fixed.token.account",
        "spark.hadoop.fs.azure.account.oauth2.client.secret",
        "spark.hadoop.fs.s3a.bucket.lake.secret.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.fs.gs.auth.service.account.private.key",
        "spark.hadoop.javax.jdo.option.ConnectionPassword",
        "spark.sql.catalog.lake.client.assume-role.external-id",
        "spark.sql.catalog.lake.rest.auth.basic.username",
        "spark.sql.catalog.lake.adls.sas-token.account",
        "spark.sql.catalog.lake.gcs.oauth2.token",
        "spark.sql.catalog.lake.header.Cookie",
        "spark.sql.catalog.lake.s3.access-key-id",
    ],
)
def test_keys_that_hold_secrets_are_known(key: str) -> None:
    assert is_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "frazil.kinesis.region",
        "frazil.kinesis.role.arn",
        "name",
        "topics",
        "key.converter",
        "bootstrap.servers",
        "spark.master",
        "consumer.sasl.mechanism",
    ],
)
def test_ordinary_keys_are_no_secrets(key: str) -> None:
    assert not is_secret(key)


def test_a_mask_hides_secrets_and_users_in_addresses_and_leaves_the_rest() -> None:
    masked = mask(
        {
            "sasl.password": "hush",
            "uri": "https://me:hush@host/x",
            "jdbc": "jdbc:postgresql://host/x?user=me&password=hush&ssl=true",
            "topics": "orders",
        }
    )

    assert masked == {
        "sasl.password": "****",
        "uri": "https://****@host/x",
        "jdbc": "jdbc:postgresql://host/x?user=me&password=****&ssl=true",
        "topics": "orders",
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("https://me:hush @host:99999999", "https://****@host:99999999"),
        ("https://me:hu/sh@host", "https://****@host"),
        ("https://me:hu@sh@host", "https://****@host"),
        ("http://a:hush@one,http://b:hush@two", "http://****@one,http://****@two"),
        ("http://a:hu,sh@one", "http://****@one"),
        ("me:hush@host:9092", "****@host:9092"),
        ("me:hu,sh@host:9092", "****@host:9092"),
        ("https://host/x?sv=1&sig=hush&se=2", "https://host/x?sv=1&sig=****&se=2"),
        ("-Dhttps.proxyPassword=hush", "-Dhttps.proxyPassword=****"),
    ],
)
def test_a_malformed_address_is_shown_without_its_user(value: str, shown: str) -> None:
    assert mask({"uri": value}) == {"uri": shown}


def test_a_secret_that_opened_a_store_is_in_no_error() -> None:
    remember({"s3.secret-access-key": "hush/hush+hush", "s3.region": "eu-central-1"})

    error = StorageUnavailable("hush/hush+hush was refused in eu-central-1, https://h/x?sig=abc")

    assert "hush" not in str(error) + error.message + repr(error)
    assert "eu-central-1" in str(error)
    assert "sig=****" in str(error)
