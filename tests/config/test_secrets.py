from __future__ import annotations

import pytest

from frazil.config.secrets import is_secret, mask


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
