"""Errors of the clients. Each message is one sentence for the person at the terminal.

ClientError
├── StageNotFound  no stage runs here, and none was named
├── TokenRefused   no token could be obtained, or the stage does not accept it any more
└── HttpError      the HTTP API answered with an error, or did not answer
"""

from __future__ import annotations

UNREACHABLE = "unreachable"
"""The code of an :class:`HttpError` without an answer."""


class ClientError(Exception):
    """Base of the errors that clients raise."""


class StageNotFound(ClientError):
    """No stage runs here, and none was named."""


class TokenRefused(ClientError):
    """No token could be obtained, or the stage does not accept it any more."""


class HttpError(ClientError):
    """The HTTP API answered with an error (``status`` and ``code``), or did not answer (``status`` 0).

    ``retry_after`` is the header ``Retry-After`` in seconds, if there is one.
    """

    def __init__(self, status: int, code: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"HTTP {status} {code}: {message}")
        self.status = status
        self.code = code
        self.retry_after = retry_after

    @property
    def is_unauthorized(self) -> bool:
        """True when the stage does not accept the token, which may have expired."""
        return self.status == 401

    @property
    def retryable(self) -> bool:
        """True when the same request may succeed later."""
        return self.status == 0 or self.status == 429 or self.status >= 500
