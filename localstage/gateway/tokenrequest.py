"""Requests for tokens."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

MAX_TTL = 7 * 24 * 3600

Name = Annotated[StrictStr, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
Scope = Annotated[StrictStr, Field(max_length=256, pattern=r"^[!-~]+$")]


class BadTokenRequest(Exception):
    """The request for a token is invalid; ``answer`` is the body of the 400."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.answer: dict[str, Any] = {
            "error": {
                "code": "invalid_request",
                "message": f"{field}: {message}",
                "details": [{"field": field, "message": message}],
            }
        }


class TokenRequest(BaseModel):
    """A token for ``user`` with ``scopes``, valid for ``ttl`` seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: Name
    scopes: Annotated[list[Scope], Field(max_length=50)]
    ttl: Annotated[StrictInt, Field(ge=1, le=MAX_TTL)] = 3600

    @classmethod
    def parse(cls, body: bytes) -> TokenRequest:
        """Return what a body asks for.

        Raises:
            BadTokenRequest: a field is missing, unknown, or not of the accepted form.
        """
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            first = error.errors()[0]
            field = "".join(f"[{part}]" if isinstance(part, int) else str(part)[:128] for part in first["loc"])
            raise BadTokenRequest(field or "body", first["msg"]) from None
