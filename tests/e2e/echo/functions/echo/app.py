"""Answers every kind of event with what it got, so that a test can see what a stage handed over.

Some words in the data make it fail on purpose: ``fail`` raises, ``exit`` ends the process, ``sleep`` sleeps.
"""

import base64
import json
import os
import time
import urllib.request

from greeting import greet


def handler(event, context):
    """Answer by the kind of event; each answer says that kind."""
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
    """200 with the event, or what the query asks for: ``status=…``, ``fail=1``, ``sleep=seconds``, ``exit=1``."""
    query = event.get("queryStringParameters") or {}
    obey(query)
    body = {"kind": "http", "greeting": greet(os.environ["GREETING"], "echo"), "event": event}
    return {
        "statusCode": int(query.get("status", 200)),
        "headers": {"content-type": "application/json", "x-pid": str(os.getpid())},
        "cookies": ["echo=1; Path=/"],
        "body": json.dumps(body),
    }


def answer_websocket(event):
    """Accept every connection with its first subprotocol; send a message's body back as it came."""
    request = event["requestContext"]
    if request["eventType"] == "CONNECT":
        offered = {name.lower(): value for name, value in event["headers"].items()}.get("sec-websocket-protocol")
        headers = {"Sec-WebSocket-Protocol": offered.split(",")[0].strip()} if offered else {}
        return {"statusCode": 200, "headers": headers}
    if request["eventType"] == "DISCONNECT":
        return {"statusCode": 200}
    obey(json_object(event["body"]))
    return {"statusCode": 200, "body": event["body"]}


def answer_authorize(event):
    """Allow everybody but the user ``denied``."""
    user = event["queryStringParameters"]["user"]
    effect = "Deny" if user == "denied" else "Allow"
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": event["methodArn"]}
    return {
        "principalId": user,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": {"sub": user},
    }


def answer_rabbitmq(event):
    """Return the texts of the batch; raise, and so give the whole batch back, if one of them asks for it."""
    texts = [
        base64.b64decode(message["data"]).decode()
        for messages in event["rmqMessagesByQueue"].values()
        for message in messages
    ]
    for text in texts:
        obey(json_object(text))
    return {"kind": "rabbitmq", "texts": texts}


def answer_sqs(event):
    """Report each record that asks to fail, and keep the others."""
    failed = [record["messageId"] for record in event["Records"] if json_object(record["body"]).get("fail")]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def answer_custom_resource(event):
    """Tell CloudFormation's response address that it is made, or that it is not if the property Fail says so."""
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
    """Return the event, as a scheduled one."""
    return {"kind": "other", "event": event}


def obey(words):
    """Misbehave as the data asks."""
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
