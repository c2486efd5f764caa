"""Returns every event that it gets, so that a test can see what a stage passed to it.

Some words in the data make it fail on purpose: ``fail`` raises, ``exit`` ends the process, ``sleep`` sleeps.
"""

import base64
import json
import os
import time
import urllib.request

from greeting import greet


def handler(event, context):
    """Answer by the kind of event; each answer names it."""
    kind = kind_of(event)
    print(json.dumps({"kind": kind, "requestId": context.aws_request_id, "event": event}))
    return ANSWERS[kind](event)


def kind_of(event):
    """Name the trigger that sent ``event``."""
    if event.get("type") == "REQUEST":
        return "authorize"
    if "RequestType" in event:
        return "custom-resource"
    if "rmqMessagesByQueue" in event:
        return "rabbitmq"
    if "Records" in event:
        return "sqs"
    request = event.get("requestContext", {})
    if "http" in request:
        return "http"
    if "eventType" in request:
        return "websocket"
    return "other"


def answer_http(event):
    """200 with the event, or what the query selects: ``status=…``, ``fail=1``, ``sleep=seconds``, ``exit=1``."""
    query = event.get("queryStringParameters") or {}
    misbehave(query)
    body = {"kind": "http", "greeting": greet(os.environ["GREETING"], "echo"), "event": event}
    return {
        "statusCode": int(query.get("status", 200)),
        "headers": {"content-type": "application/json", "x-pid": str(os.getpid())},
        "cookies": ["echo=1; Path=/"],
        "body": json.dumps(body),
    }


def answer_websocket(event):
    """Accept every connection with its first subprotocol; return a message's body unchanged."""
    request = event["requestContext"]
    if request["eventType"] == "CONNECT":
        offered = {name.lower(): value for name, value in event["headers"].items()}.get("sec-websocket-protocol")
        headers = {"Sec-WebSocket-Protocol": offered.split(",")[0].strip()} if offered else {}
        return {"statusCode": 200, "headers": headers}
    if request["eventType"] == "DISCONNECT":
        return {"statusCode": 200}
    misbehave(json_object(event["body"]))
    return {"statusCode": 200, "body": event["body"]}


def answer_authorize(event):
    """Allow every user except ``denied``."""
    user = event["queryStringParameters"]["user"]
    effect = "Deny" if user == "denied" else "Allow"
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": event["methodArn"]}
    return {
        "principalId": user,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": {"sub": user},
    }


def answer_rabbitmq(event):
    """Return the texts of the batch. If one of them asks for a failure, raise, so that the batch is redelivered."""
    texts = [
        base64.b64decode(message["data"]).decode()
        for messages in event["rmqMessagesByQueue"].values()
        for message in messages
    ]
    for text in texts:
        misbehave(json_object(text))
    return {"kind": "rabbitmq", "texts": texts}


def answer_sqs(event):
    """Report each record that asks to fail; the others succeed."""
    failed = [record["messageId"] for record in event["Records"] if json_object(record["body"]).get("fail")]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def answer_custom_resource(event):
    """Send SUCCESS to CloudFormation's response URL, or FAILED if the property ``Fail`` is set."""
    reason = event["ResourceProperties"].get("Fail", "")
    answer = {
        "Status": "FAILED" if reason else "SUCCESS",
        "Reason": reason,
        "PhysicalResourceId": event.get("PhysicalResourceId", "echo-made"),
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    data = json.dumps(answer).encode()
    request = urllib.request.Request(event["ResponseURL"], data=data, method="PUT", headers={"content-type": ""})
    with urllib.request.urlopen(request, timeout=5):
        return answer


def answer_other(event):
    """Return any other event, such as a scheduled one."""
    return {"kind": "other", "event": event}


def misbehave(words):
    """Fail, exit or sleep if the data asks for it."""
    if words.get("sleep"):
        time.sleep(float(words["sleep"]))
    if words.get("exit"):
        os._exit(1)
    if words.get("fail"):
        raise RuntimeError("asked to fail")


def json_object(text):
    """The JSON object in ``text``, or an empty one."""
    try:
        value = json.loads(text or "")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


ANSWERS = {
    "http": answer_http,
    "websocket": answer_websocket,
    "authorize": answer_authorize,
    "rabbitmq": answer_rabbitmq,
    "sqs": answer_sqs,
    "custom-resource": answer_custom_resource,
    "other": answer_other,
}
