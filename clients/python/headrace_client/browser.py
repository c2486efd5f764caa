"""Signs a person in with a browser: authorization code with PKCE, and an address of this machine (RFC 8252)."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import secrets
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from urllib.parse import parse_qsl, urlencode, urlsplit

from .errors import HeadraceError, Refused, Unavailable
from .oauth import Grant, Issuer, granted

REDIRECT_URL = "http://localhost:3000/callback"
"""The address that a stack of Headrace allows by default."""
_SIGNED_IN = "<!doctype html><title>Headrace</title><p>You are signed in. You can close this page."
_NOT = "<!doctype html><title>Headrace</title><p>You are not signed in. The terminal says why."
_HOSTS = ("localhost", "127.0.0.1")


def sign_in(
    issuer: Issuer,
    client_id: str,
    scopes: Sequence[str],
    *,
    redirect_url: str = REDIRECT_URL,
    show: Callable[[str], object] = webbrowser.open,
    seconds: float = 300.0,
) -> Grant:
    """Let a person sign in, and wait for it, at most so many ``seconds``. ``show`` opens the address of the page.

    The issuer must allow ``redirect_url``. With the port 0 it is any free port, for issuers that allow all.

    Raises:
        Refused: the person cancelled, or the issuer gives no token.
        Unavailable: the user did not sign in in time, or the issuer does not answer.
        HeadraceError: the port is in use.
    """
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    answers = SimpleQueue[dict[str, str]]()
    with _listening(redirect_url, state, answers) as back:
        query = {"response_type": "code", "client_id": client_id, "redirect_uri": back, "scope": " ".join(scopes)}
        query |= {"state": state, "code_challenge": challenge, "code_challenge_method": "S256"}
        show(f"{issuer.authorize_url}?{urlencode(query)}")
        try:
            answer = answers.get(timeout=seconds)
        except Empty:
            raise Unavailable(f"no sign-in within {seconds:g} s") from None
    if "code" not in answer:
        raise Refused(answer.get("error", "no_code"), answer.get("error_description", "the issuer gives no code"))
    fields = {"grant_type": "authorization_code", "client_id": client_id, "redirect_uri": back}
    return granted(issuer.token_url, {**fields, "code": answer["code"], "code_verifier": verifier})


@contextlib.contextmanager
def _listening(redirect_url: str, state: str, answers: SimpleQueue[dict[str, str]]) -> Iterator[str]:
    """Listen at an address of this machine; yields it with its port. What comes with ``state`` goes to ``answers``."""
    wanted = urlsplit(redirect_url)
    if wanted.scheme != "http" or wanted.hostname not in _HOSTS:
        raise ValueError(f"{redirect_url} is not an address of this machine, such as {REDIRECT_URL}")

    class Callback(BaseHTTPRequestHandler):
        timeout = 10.0  # a browser opens connections that it never uses

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            answer = dict(parse_qsl(asked.query))
            # Any page can open this address. Only the issuer, and the person's browser, know the state.
            is_ours = asked.path == (wanted.path or "/") and secrets.compare_digest(
                answer.get("state", "").encode(), state.encode()
            )
            body = (_SIGNED_IN if "code" in answer else _NOT).encode() if is_ours else b"Not Found"
            self.send_response(200 if is_ours else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8" if is_ours else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            if is_ours:
                answers.put(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    try:
        server = ThreadingHTTPServer(("127.0.0.1", wanted.port or 0), Callback)
    except OSError as error:
        raise HeadraceError(f"cannot listen at {redirect_url}, where the issuer sends the answer: {error}") from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield wanted._replace(netloc=f"{wanted.hostname}:{server.server_port}").geturl()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
