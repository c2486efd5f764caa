"""An authorizer that verifies an access token."""
# ruff: noqa: F401 - a handler would use them

import os

import jwt
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.utilities.data_classes.api_gateway_authorizer_event import APIGatewayAuthorizerResponse
from jwt import PyJWKClient
from pydantic import BaseModel

logger = Logger(service="authorize")
metrics = Metrics(namespace="Peer", service="authorize")
keys = PyJWKClient(os.environ.get("ISSUER_URL", "http://127.0.0.1") + "/.well-known/jwks.json")


class Claims(BaseModel):
    sub: str
    scope: str = ""
