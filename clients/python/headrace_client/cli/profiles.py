"""Profiles of stages in ``profiles.toml``, and the sign-ins beside it, in the user's configuration folder.

[dev]
http_url = "https://….execute-api.eu-central-1.amazonaws.com"
ws_url = "wss://….execute-api.eu-central-1.amazonaws.com/live"
issuer = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_…"
client_id = "…"
scopes = ["headrace/chat:read", "headrace/chat:write"]
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import click

from .. import ClientCredentials, Grant, SignedIn, Token, discover
from ..browser import REDIRECT_URL

DEFAULT = "default"
"""The profile that is used if no other is named, and no address is given."""
SECRET = "HEADRACE_CLIENT_SECRET"  # noqa: S105 - the name of a variable


@dataclass(frozen=True)
class Profile:
    """A stage, and how to get tokens for it: ``client_id`` is one of ``issuer``."""

    name: str
    http_url: str = ""
    ws_url: str = ""
    issuer: str = ""
    client_id: str = ""
    scopes: tuple[str, ...] = ()
    redirect_url: str = REDIRECT_URL

    def token(self) -> Token:
        """A token of the person who signed in, or of the program whose secret is in the variable.

        Raises:
            ValueError: neither is there.
            HeadraceError: the issuer does not answer.
        """
        secret = os.environ.get(SECRET)
        if secret and self.issuer:
            return ClientCredentials(discover(self.issuer).token_url, self.client_id, secret, self.scopes)
        kept = self._kept()
        if kept.get("client_id") != self.client_id or not kept.get("token_url"):
            raise ValueError(f"you are not signed in; run: headrace --profile {self.name} login")
        return SignedIn(str(kept["token_url"]), self.client_id, self._grant, lambda grant: self.keep(grant))

    def keep(self, grant: Grant, token_url: str = "") -> None:
        """Store a sign-in in a file that only its user can read. Without ``token_url`` the last one stays."""
        kept = {**asdict(grant), "client_id": self.client_id, "token_url": token_url or self._kept()["token_url"]}
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = self._file.with_suffix(f".{os.getpid()}.new")
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(kept, file)
        made.replace(self._file)

    def forget(self) -> bool:
        """Delete the sign-in; returns whether there was one."""
        known = self._file.exists()
        self._file.unlink(missing_ok=True)
        return known

    @property
    def _file(self) -> Path:
        return folder() / "tokens" / f"{self.name}.json"

    def _kept(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return {}

    def _grant(self) -> Grant:
        kept = self._kept()
        return Grant(
            str(kept.get("access_token", "")), float(kept.get("expires_at", 0.0)), str(kept.get("refresh_token", ""))
        )


def folder() -> Path:
    """The user's configuration folder of the command line."""
    return Path(click.get_app_dir("headrace"))


def find(name: str | None) -> Profile | None:
    """The profile with this name. Without a name it is the profile ``default``, if there is one.

    Raises:
        ValueError: there is no such profile, or it is wrong.
    """
    path = folder() / "profiles.toml"
    try:
        profiles = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        profiles = {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if name is None and DEFAULT not in profiles:
        return None
    name = name or DEFAULT
    if name not in profiles:
        raise ValueError(f"there is no profile {name} in {path}; there are: {', '.join(profiles) or 'none'}")
    return _checked(path, name, profiles[name])


def _checked(path: Path, name: str, given: Any) -> Profile:
    known = [field.name for field in fields(Profile) if field.name != "name"]
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name) or not isinstance(given, dict):
        raise ValueError(f"{path}: {name} is not a profile; it is a table like [dev] with {', '.join(known)}")
    if unknown := sorted(given.keys() - set(known)):
        raise ValueError(f"{path}: the profile {name} has {', '.join(unknown)}; allowed are {', '.join(known)}")
    scopes = given.get("scopes", [])
    texts = [*scopes, *(value for key, value in given.items() if key != "scopes")] if isinstance(scopes, list) else [0]
    if not all(isinstance(each, str) for each in texts):
        raise ValueError(f"{path}: in the profile {name}, scopes is a list of texts, and everything else a text")
    return Profile(name, **{**given, "scopes": tuple(scopes)})
