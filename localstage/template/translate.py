"""From a SAM template to plain CloudFormation, by AWS's own translator, cached until the template changes.

Importing the translator costs about a second and translating much less, so a start with an unchanged template
reads the cached translation and imports neither the translator nor YAML.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from localstage.core.atomic_write import write_atomically
from localstage.core.errors import TemplateError

log = logging.getLogger("localstage.template")

PLAIN = "plain/"
"""How the key of a layer begins that is not built."""
_SOURCES = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


@dataclass(frozen=True)
class Translated:
    """Plain CloudFormation; ``sources`` are code folders by the function's or layer's id in the original template.

    In ``document`` the code is ``{"S3Bucket": "local", "S3Key": <that logical id, after PLAIN for a plain layer>}``.
    """

    document: dict[str, Any]
    sources: Mapping[str, str]


def translate(template: Path, overrides: Mapping[str, str], region: str, state_dir: Path) -> Translated:
    """The template as plain CloudFormation.

    Raises:
        TemplateError: no such file, not a template, or the translator's own messages.
    """
    try:
        text = template.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TemplateError(f"{template}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{template}: cannot be read ({error})") from None
    version = metadata.version("aws-sam-translator")
    seed = json.dumps([version, text, sorted(overrides.items()), region])
    key = hashlib.sha256(seed.encode()).hexdigest()
    cached = state_dir / "translation.json"
    return _read(cached, key) or _make(template, text, overrides, region, cached, key)


def _read(cached: Path, key: str) -> Translated | None:
    try:
        content = json.loads(cached.read_bytes())
        return Translated(content["document"], content["sources"]) if content["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):  # missing or damaged: translated again
        return None


def _make(template: Path, text: str, overrides: Mapping[str, str], region: str, cached: Path, key: str) -> Translated:
    from localstage.template.document import parse  # only here: YAML is not needed for a cached translation

    document = parse(text, template, overrides)
    sources = _take_sources(document)
    translated = _run_translator(document, overrides, region, template)
    write_atomically(cached, json.dumps({"key": key, "document": translated, "sources": sources}))
    return Translated(translated, sources)


def _take_sources(document: dict[str, Any]) -> dict[str, str]:
    """Replace local folders by addresses that the translator accepts, and remember the folders."""
    sources: dict[str, str] = {}
    for logical_id, resource in document["Resources"].items():
        name, properties = _SOURCES.get(resource["Type"]), resource.get("Properties") or {}
        if name is not None and name in properties:
            is_built = "Layer" not in resource["Type"] or "BuildMethod" in (resource.get("Metadata") or {})
            key = logical_id if is_built else f"{PLAIN}{logical_id}"
            sources[key] = properties[name]
            properties[name] = f"s3://local/{key}"
    return sources


@dataclass(frozen=True)
class _Session:
    """The attributes of a boto3 session that the translator uses; a real session would look for credentials."""

    region_name: str


def _run_translator(
    document: dict[str, Any], overrides: Mapping[str, str], region: str, template: Path
) -> dict[str, Any]:
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.parser.parser import Parser
    from samtranslator.translator.translator import Translator

    # Warns for each alias about a feature flag of AWS's own service.
    logging.getLogger("samtranslator.feature_toggle.feature_toggle").setLevel(logging.ERROR)
    translator = Translator({}, Parser(), boto_session=_Session(region))
    try:
        # Managed policies come bundled with the translator; others remain names.
        result: dict[str, Any] = translator.translate(document, dict(overrides), get_managed_policy_map=dict)
    except InvalidDocumentException as error:
        raise TemplateError("\n".join(f"{template.name}: {cause.message}" for cause in error.causes)) from None
    except Exception as error:
        # For some wrong templates (a list instead of a mapping) it raises arbitrary errors.
        log.debug("the translator failed", exc_info=True)
        message = f"{template}: the SAM translator failed on it ({type(error).__name__}: {error})"
        raise TemplateError(message) from None
    finally:
        translator.metrics.publish()  # discards them; it warns about metrics that were not published
    return result
