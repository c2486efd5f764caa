"""Reads secrets; a generated value is stored, so that it is the same at the next start."""

from __future__ import annotations

import hashlib
import json
import secrets as random
import string
from pathlib import Path
from typing import Any

from localstage.core.errors import TemplateError
from localstage.core.model import Secret
from localstage.template.atomic_write import write_atomically
from localstage.template.resources import Resource, Stack


def read_secrets(stack: Stack, state_dir: Path) -> dict[str, Secret]:
    """Every secret with its value, which is also added to the resolver.

    Generated values are kept in ``state_dir/secrets.json`` (0600) until the template generates them differently.
    """
    path = state_dir / "secrets.json"
    kept = _kept(path)
    made: dict[str, dict[str, str]] = {}
    found = {}
    for resource in stack.all("AWS::SecretsManager::Secret"):
        value = _value(resource, kept, made)
        arn = stack.ref(resource.id)
        name = arn.rpartition(":secret:")[2]
        found[resource.id] = Secret(resource.id, name, arn, value)
        stack.resolver.secrets |= {arn: value, name: value}
    if made:
        write_atomically(path, json.dumps(kept | made, indent=1))
    return found


def _value(resource: Resource, kept: dict[str, Any], made: dict[str, dict[str, str]]) -> str:
    if not resource.has("GenerateSecretString"):
        return resource.text("SecretString", "")
    if resource.has("SecretString"):
        raise TemplateError(f"{resource.id}: SecretString and GenerateSecretString exclude each other")
    wanted = resource.mapping("GenerateSecretString")
    made_from = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    before = kept.get(resource.id)
    if isinstance(before, dict) and before.get("madeFrom") == made_from and isinstance(before.get("value"), str):
        return str(before["value"])
    value = _generate(resource.inner("GenerateSecretString", wanted))
    made[resource.id] = {"madeFrom": made_from, "value": value}
    return value


def _generate(wanted: Resource) -> str:
    password = _password(wanted)
    if not wanted.has("GenerateStringKey"):
        return password
    try:
        template = json.loads(wanted.text("SecretStringTemplate"))
        template[wanted.text("GenerateStringKey")] = password
    except (ValueError, TypeError):
        raise TemplateError(f"{wanted.id}.SecretStringTemplate: must be a JSON object") from None
    return json.dumps(template)


def _password(wanted: Resource) -> str:
    """A password as from GetRandomPassword: each kind of character at least once."""
    kinds = [string.ascii_lowercase, string.ascii_uppercase, string.digits]
    if not wanted.flag("ExcludePunctuation", False):
        kinds.append(string.punctuation)
    length = wanted.integer("PasswordLength", 32, low=len(kinds), high=4096)
    characters = [random.choice(kind) for kind in kinds]
    characters += [random.choice("".join(kinds)) for _ in range(length - len(kinds))]
    random.SystemRandom().shuffle(characters)
    return "".join(characters)


def _kept(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise TemplateError(f"{path} is damaged; delete it and its data: make reset") from None
    return content if isinstance(content, dict) else {}
