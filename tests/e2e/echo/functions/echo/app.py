"""Answers each request."""

import json


def handler(event, context):
    """200, always."""
    return {"statusCode": 200, "body": json.dumps({"kind": "http"})}
