"""An S3-compatible store on this machine, moto's, which checks who asks; and STS, IAM, Kinesis and Glue beside it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import boto3
from moto.server import ThreadedMotoServer

from frazil.dev.ports import LOOPBACK, free_port

REGION = "eu-central-1"
BUCKET = "lake"
ACCOUNT = "123456789012"

EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}


@dataclass(frozen=True, slots=True)
class Keys:
    """What opens the store."""

    id: str
    secret: str
    token: str | None = None

    def properties(self, endpoint: str) -> dict[str, str]:
        """As Iceberg's FileIO wants to be told."""
        told = {
            "s3.endpoint": endpoint,
            "s3.path-style-access": "true",
            "client.region": REGION,
            "s3.access-key-id": self.id,
            "s3.secret-access-key": self.secret,
        }
        return told if self.token is None else {**told, "s3.session-token": self.token}


class Store:
    """A running store with one bucket."""

    def __init__(self, port: int) -> None:
        self.address = f"{LOOPBACK}:{port}"
        self.endpoint = f"http://{self.address}"
        # What moto knows belongs to the process: another store may have been before.
        urlopen(Request(f"{self.endpoint}/moto-api/reset", b"")).close()
        self.require_signatures(yes=False)
        nobody = Keys("nobody", "nothing")
        self.client("s3", nobody).create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        self.owner = _user(self.client("iam", nobody), "owner", EVERYTHING)
        self.require_signatures(yes=True)
        self._s3 = self.client("s3", self.owner)

    def require_signatures(self, *, yes: bool) -> None:
        """Whether the store looks at credentials at all."""
        url, count = f"{self.endpoint}/moto-api/reset-auth", b"0" if yes else b"inf"
        urlopen(Request(url, count, {"Content-Type": "text/plain"})).close()

    def names(self, prefix: str = "") -> list[str]:
        """The names of the objects below a prefix."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [each["Key"] for page in pages for each in page.get("Contents", [])]

    def read(self, key: str) -> bytes:
        """An object."""
        content: bytes = self._s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def uploads(self) -> list[str]:
        """The keys of uploads that were begun and not ended."""
        return [each["Key"] for each in self._s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]

    def lent(self, prefix: str, role: str) -> Keys:
        """Keys that open what is below a prefix to whoever takes that role, until it is withdrawn."""
        arn = self.role(role, {"Effect": "Allow", "Action": "s3:*", "Resource": f"arn:aws:s3:::{BUCKET}/{prefix}/*"})
        found = self.client("sts", self.owner).assume_role(RoleArn=arn, RoleSessionName="frazil")["Credentials"]
        return Keys(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])

    def user(self, name: str, may: dict[str, str]) -> Keys:
        """Keys of somebody who may do what a statement allows, and nothing else."""
        return _user(self.client("iam", self.owner), name, may)

    def role(self, name: str, may: dict[str, str]) -> str:
        """The ARN of a role that anybody is trusted to take who may; made with what it may do if there is none."""
        iam = self.client("iam", self.owner)
        if name not in {each["RoleName"] for each in iam.list_roles()["Roles"]}:
            iam.create_role(RoleName=name, AssumeRolePolicyDocument=_policy(EVERYTHING))
            iam.put_role_policy(RoleName=name, PolicyName="below", PolicyDocument=_policy(may))
        return f"arn:aws:iam::{ACCOUNT}:role/{name}"

    def withdraw(self, role: str) -> None:
        """Have keys of that role open nothing any more."""
        self.client("iam", self.owner).delete_role_policy(RoleName=role, PolicyName="below")

    def client(self, service: str, keys: Keys) -> Any:
        """A client of one of its services."""
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=keys.id,
            aws_secret_access_key=keys.secret,
        )

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Store]:
        """One that runs for the time of the block."""
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        port = free_port()
        server = ThreadedMotoServer(LOOPBACK, port, verbose=False)
        server.start()
        try:
            store = cls(port)
            try:
                yield store
            finally:
                # That, too, belongs to the process, and the next one to use moto may have no keys.
                store.require_signatures(yes=False)
        finally:
            server.stop()


def _user(iam: Any, name: str, may: dict[str, str]) -> Keys:
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=_policy(may))
    made = iam.create_access_key(UserName=name)["AccessKey"]
    return Keys(made["AccessKeyId"], made["SecretAccessKey"])


def _policy(statement: dict[str, str]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
