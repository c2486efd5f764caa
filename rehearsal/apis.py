"""The APIs and user pools of stacks, in the emulator's process: at addresses of this machine, and as on AWS.

``REHEARSAL_ISSUER`` is the URL of the issuer of tokens, and ``REHEARSAL_ISSUER_KEY`` the file of its key.
"""

from __future__ import annotations

import json
import os
import re
from contextvars import ContextVar
from importlib import import_module
from typing import Any
from urllib.request import urlopen

from localstage import ministack

Properties = dict[str, Any]
Message = dict[str, Any]

_API = "AWS::ApiGatewayV2::Api"
_subprotocol: ContextVar[str | None] = ContextVar("subprotocol", default=None)
_is_refused: ContextVar[bool] = ContextVar("is_refused", default=False)


def address(url: str) -> str:
    """Where this machine serves an API, its connections or a sign-in page; another text stays as it is."""
    here = f"{os.environ['MINISTACK_HOST']}:{os.environ['GATEWAY_PORT']}"
    url = re.sub(r"^https://[^./]+\.auth\.[^/]+", f"http://{here}", url)
    return re.sub(r"^(http|ws)s://(\w+)\.execute-api\.[^/]+", rf"\1://{here}/_aws/execute-api/\2", url)


def variables(properties: Properties) -> Properties:
    """The properties of a function. CloudFormation passes numbers of the template as texts."""
    environment = properties.get("Environment", {})
    texts = {name: address(str(value)) for name, value in environment.get("Variables", {}).items()}
    if "JWT_ISSUER" in texts:
        texts["JWT_ISSUER"] = os.environ["REHEARSAL_ISSUER"]
    return {**properties, "Environment": {**environment, "Variables": texts}}


async def app(scope: Message, receive: Any, send: Any) -> None:
    """The ASGI application that the rehearsal serves. As on AWS, pages of other origins may call APIs."""
    is_api = str(scope.get("path")).startswith("/_aws/execute-api/")
    await (ministack.emulator if is_api else ministack.app)(scope, receive, send)


def serve_as_aws_does() -> None:
    """Show addresses, import OpenAPI documents, sign tokens with the issuer's key, and answer handshakes."""
    _show_addresses()
    _import_documents()
    _sign_tokens()
    _answer_handshakes()


def _show_addresses() -> None:
    stacks: Any = import_module("ministack.services.cloudformation.stacks")
    resolve = stacks._resolve_stack_outputs

    def resolved(*arguments: Any) -> tuple[list[dict[str, str]], Any]:
        outputs, exports = resolve(*arguments)
        return [{**one, "OutputValue": address(one["OutputValue"])} for one in outputs], exports

    stacks._resolve_stack_outputs = resolved


def _import_documents() -> None:
    """An API has the routes, integrations, authorizers and CORS of its ``Body``."""
    handler: Any = import_module("ministack.services.cloudformation.provisioners")._RESOURCE_HANDLERS[_API]
    create, update = handler["create"], handler["update"]

    def make(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Properties]:
        id_, attributes = create(logical_id, properties, stack_name)
        _import(id_, properties.get("Body"))
        return id_, attributes

    def change(id_: str, old: Properties, new: Properties, *rest: Any) -> tuple[str, Properties]:
        changed: tuple[str, Properties] = update(id_, old, new, *rest)
        _import(id_, new.get("Body"))
        return changed

    handler.update(create=make, update=change)


def _import(api: str, document: Properties | None) -> None:
    if document is None:
        return
    apis: Any = import_module("ministack.services.apigateway")
    for former in (apis._routes, apis._integrations, apis._authorizers):
        former.pop(api, None)
    authorizers = {
        name: _made(apis._create_authorizer, api, scheme["x-amazon-apigateway-authorizer"])["authorizerId"]
        for name, scheme in document["components"]["securitySchemes"].items()
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            found = operation["x-amazon-apigateway-integration"]
            integration = _made(apis._create_integration, api, {**found, "integrationUri": found["uri"]})
            route = {"routeKey": f"{method.upper()} {path}", "target": f"integrations/{integration['integrationId']}"}
            for name, scopes in (operation.get("security") or [{}])[0].items():
                if name in authorizers:
                    more = {"authorizerId": authorizers[name], "authorizationScopes": scopes}
                    route |= {"authorizationType": "JWT", **more}
            _made(apis._create_route, api, route)
    apis._apis[api]["corsConfiguration"] = document.get("x-amazon-apigateway-cors", {})


def _made(create: Any, api: str, properties: Properties) -> Properties:
    """What the emulator makes of ``properties``."""
    source = properties.get("identitySource")
    status, _, body = create(api, {**properties, "identitySource": [source]} if source else properties)
    if status != 201:
        raise ValueError(f"{_API}: {body.decode()}")
    made: Properties = json.loads(body)
    return made


def _sign_tokens() -> None:
    """The tokens of all user pools are of the issuer, because functions cannot reach ``cognito-idp`` of AWS."""
    cognito: Any = import_module("ministack.services.cognito")
    provisioners: Any = import_module("ministack.services.cloudformation.provisioners")
    issuer = os.environ["REHEARSAL_ISSUER"]
    key = cognito._load_rsa_key_from_disk(os.environ["REHEARSAL_ISSUER_KEY"])
    with urlopen(f"{issuer}/.well-known/jwks.json") as answer:  # noqa: S310
        (public,) = json.load(answer)["keys"]
    sign, attributes_of = cognito._signed_jwt, provisioners._cognito_user_pool_attributes
    cognito._pool_signing_key = lambda *_: (key, public)
    cognito._signed_jwt = lambda claims, *rest: sign({**claims, "iss": issuer}, *rest)
    provisioners._cognito_user_pool_attributes = lambda pool: {**attributes_of(pool), "ProviderURL": issuer}


def _answer_handshakes() -> None:
    """A connection has the subprotocol that ``$connect`` answers; an authorizer that says Unauthorized is a 401."""
    apis: Any = import_module("ministack.services.apigateway")
    serve, invoke, authorize, run = (
        apis.handle_websocket,
        apis._invoke_ws_lambda,
        apis._authorize_ws_connect,
        apis.run_reentrant,
    )

    async def served(scope: Message, receive: Any, send: Any, *rest: Any, **named: Any) -> None:
        async def sent(message: Message) -> None:
            more = {"subprotocol": _subprotocol.get()} if message["type"] == "websocket.accept" else {}
            await send({**message, **more})

        await serve(scope, receive, sent, *rest, **named)

    async def invoked(*arguments: Any, **named: Any) -> Any:
        answer = await invoke(*arguments, **named)
        if "CONNECT" in arguments:
            _subprotocol.set((answer or {}).get("headers", {}).get("Sec-WebSocket-Protocol"))
        return answer

    async def ran(*arguments: Any, **named: Any) -> Any:
        result = await run(*arguments, **named)
        _is_refused.set("Unauthorized" in str((result or {}).get("body")))
        return result

    async def authorized(*arguments: Any) -> Any:
        refusal, context = await authorize(*arguments)
        return ((401, "Unauthorized") if refusal and _is_refused.get() else refusal), context

    apis.handle_websocket, apis._invoke_ws_lambda = served, invoked
    apis.run_reentrant, apis._authorize_ws_connect = ran, authorized
