"""The commands that sign a person in and out."""

from __future__ import annotations

import sys
import webbrowser

import click

from .. import discover, sign_in
from .profiles import Profile, folder
from .show import Command, visible
from .stage import Stage, claims_of, one_sentence


def _profile_of(stage: Stage) -> Profile:
    if stage.profile is None:
        where = folder() / "profiles.toml"
        raise click.UsageError(f"name a profile of {where}, with --profile or in HEADRACE_PROFILE")
    return stage.profile


@click.command(cls=Command)
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser, or only print its address.")
@click.pass_obj
def login(stage: Stage, browser: bool) -> None:
    """Sign in with a browser, and keep the sign-in for the profile.

    The profile needs issuer, client_id and scopes. The issuer must allow its redirect_url.
    """
    profile = _profile_of(stage)
    missing = [name for name in ("issuer", "client_id", "scopes") if not getattr(profile, name)]
    if missing:
        raise click.UsageError(f"the profile {profile.name} has no {' and no '.join(missing)}")

    def show(page: str) -> None:
        click.echo(f"Sign in at {visible(page)}", err=True)
        if browser:
            webbrowser.open(page)

    with one_sentence():
        issuer = discover(profile.issuer)
        grant = sign_in(issuer, profile.client_id, profile.scopes, redirect_url=profile.redirect_url, show=show)
        profile.keep(grant, issuer.token_url)
    claims = claims_of(grant.access_token)
    stage.show({"profile": profile.name, "user": str(claims.get("username", claims.get("sub", "")))})


@click.command(cls=Command)
@click.pass_obj
def logout(stage: Stage) -> None:
    """Forget the sign-in of the profile on this machine. The issuer is not told."""
    profile = _profile_of(stage)
    if not profile.forget():
        sys.exit(f"headrace: you are not signed in with the profile {profile.name}")
    stage.show({"profile": profile.name, "user": None})
