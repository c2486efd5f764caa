"""HTTP and WebSocket APIs of a template become models of the gateway."""

from localstage.core.model import Throttle
from tests.unit.localstage.template.template_stage import FUNCTION

HTTP_API = """
Api:
  Type: AWS::Serverless::HttpApi
  Properties:
    Auth:
      DefaultAuthorizer: Tokens
      Authorizers:
        Tokens:
          IdentitySource: $request.header.Authorization
          JwtConfiguration: {issuer: !GetAtt Pool.ProviderURL, audience: [!Ref Client, other]}
    CorsConfiguration: {AllowOrigins: ["https://a.example"], AllowHeaders: [authorization], MaxAge: 60}
    DefaultRouteSettings: {ThrottlingRateLimit: 50, ThrottlingBurstLimit: 20}
    RouteSettings: {"GET /rooms/{id}": {ThrottlingRateLimit: 0.5, ThrottlingBurstLimit: 1}}
Pool: {Type: AWS::Cognito::UserPool}
Client: {Type: AWS::Cognito::UserPoolClient, Properties: {UserPoolId: !Ref Pool}}
"""
ROUTED = (
    FUNCTION.rstrip()
    + """
      Events:
        Read:
          Type: HttpApi
          Properties:
            ApiId: !Ref Api
            Method: GET
            Path: /rooms/{id}
            TimeoutInMillis: 2500
            Auth: {AuthorizationScopes: [a:read, a:admin]}
        Write: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: POST, Path: "/rooms/{id}"}}
        Open: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: GET, Path: /health, Auth: {Authorizer: NONE}}}
"""
)


def test_http_events_become_routes_with_authorizer_scopes_and_throttle(project):
    api = project.load(HTTP_API, function=ROUTED).http_apis["Api"]
    routes = {route.key: route for route in api.routes}

    assert set(routes) == {"GET /rooms/{id}", "POST /rooms/{id}", "GET /health"}
    read, write = routes["GET /rooms/{id}"], routes["POST /rooms/{id}"]
    assert (read.authorizer_id, read.scopes, read.timeout) == ("Tokens", ("a:read", "a:admin"), 2.5)
    assert read.throttle == Throttle(0.5, 1)
    assert (write.authorizer_id, write.scopes, write.timeout, write.throttle) == ("Tokens", (), 30.0, None)
    assert routes["GET /health"].authorizer_id is None
    assert {route.function_id for route in api.routes} == {"Echo"}
    assert api.throttle == Throttle(50.0, 20)


WEBSOCKET = """
Live:
  Type: AWS::Serverless::WebSocketApi
  Properties:
    StageName: dev
    RouteSelectionExpression: $request.body.action
    DefaultRouteSettings: {ThrottlingRateLimit: 7, ThrottlingBurstLimit: 3}
    RouteSettings: {both: {ThrottlingRateLimit: 2, ThrottlingBurstLimit: 1}}
    Auth:
      AuthType: CUSTOM
      AuthArn: !GetAtt Echo.Arn
      IdentitySource: [route.request.header.Sec-WebSocket-Protocol]
    Routes:
      $connect: {FunctionArn: !GetAtt Echo.Arn}
      $default: {FunctionArn: !GetAtt Echo.Arn}
      both: {FunctionArn: !GetAtt Echo.Arn, RouteResponseSelectionExpression: $default, IntegrationTimeout: 500}
      selected: {FunctionArn: !GetAtt Echo.Arn, RouteResponseSelectionExpression: $default}
      answered: {FunctionArn: !GetAtt Echo.Arn}
BothAnswer:
  Type: AWS::ApiGatewayV2::RouteResponse
  Properties: {ApiId: !Ref Live, RouteId: !Ref LiveBothRoute, RouteResponseKey: $default}
AnsweredAnswer:
  Type: AWS::ApiGatewayV2::RouteResponse
  Properties: {ApiId: !Ref Live, RouteId: !Ref LiveAnsweredRoute, RouteResponseKey: $default}
"""


def test_a_two_way_route_needs_a_selection_expression_and_a_route_response(project):
    api = project.load(WEBSOCKET).websocket_apis["Live"]

    assert {key: route.two_way for key, route in api.routes.items()} == {
        "$connect": False,
        "$default": False,
        "both": True,
        "selected": False,
        "answered": False,
    }
    assert api.routes["both"].timeout == 0.5
    assert (api.stage, api.selection, api.throttle) == ("dev", "$request.body.action", Throttle(7.0, 3))
    assert (api.routes["both"].throttle, api.routes["selected"].throttle) == (Throttle(2.0, 1), None)
