"""Which tokens are accepted: every route and action is known, and no exception without a route."""

from __future__ import annotations

from tests.worlds.reference import HTTP, WEBSOCKET
from tools.api_reference.access import CONNECT, OTHER_USERS, YES, accepted, answer
from tools.api_reference.routes import actions, http_routes
from tools.api_reference.scopes import SCOPES

KEYS = accepted(HTTP, WEBSOCKET)


def test_each_route_and_action_is_in_the_documents() -> None:
    assert set(KEYS) == {each.key for each in http_routes() + actions()}


def test_the_exceptions_are_routes_and_actions() -> None:
    assert set(OTHER_USERS) <= set(KEYS)


def test_a_token_is_accepted_with_one_of_the_scopes_of_its_route() -> None:
    for each in http_routes() + actions():
        scopes = each.route.scopes
        assert (KEYS[each.key] or []) == list(scopes or ())
        assert {answer(each.key, KEYS[each.key], [scope]) for scope in scopes or ()} <= {YES}


def test_a_token_without_a_scope_of_chat_opens_no_connection() -> None:
    opening = [scope for scope in SCOPES if answer(CONNECT, [], [scope]) == YES]

    assert opening == ["chat:write", "chat:read", "events:write"]
    assert answer("ping", [], ["ops"]) == answer(CONNECT, [], []) == "403"
