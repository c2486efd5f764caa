"""From a SAM template to plain CloudFormation, by AWS's own translator, cached until the template changes.

Importing the translator costs about a second and translating much less, so a start with an unchanged template
reads the cached translation and imports neither the translator nor YAML.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from localstage.core.errors import TemplateError
from localstage.template.atomic_write import write_atomically

log = logging.getLogger("localstage.template")

_FORMAT = 1
_SOURCE = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
    "AWS::Lambda::Function": "Code",
    "AWS::Lambda::LayerVersion": "Content",
}


@dataclass(frozen=True)
class Source:
    """The code folder of one function or layer, as the template writes it."""

    path: str
    build: str = ""


@dataclass(frozen=True)
class Translated:
    """Plain CloudFormation; ``sources`` by the function's or layer's logical id in the original template.

    In ``document`` the code is ``{"S3Bucket": "local", "S3Key": <that logical id>}``.
    """

    document: dict[str, Any]
    sources: Mapping[str, Source]


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
    seed = json.dumps([_FORMAT, version, text, sorted(overrides.items()), region])
    key = hashlib.sha256(seed.encode()).hexdigest()
    cached = state_dir / "translation.json"
    return _read(cached, key) or _make(template, text, overrides, region, cached, key)


def _read(cached: Path, key: str) -> Translated | None:
    try:
        content = json.loads(cached.read_bytes())
        if content["key"] != key:
            return None
        return Translated(content["document"], {name: Source(**one) for name, one in content["sources"].items()})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        log.debug("%s is damaged; translating again", cached)
        return None


def _make(template: Path, text: str, overrides: Mapping[str, str], region: str, cached: Path, key: str) -> Translated:
    from localstage.template.document import parse  # only here: YAML is not needed for a cached translation

    document = parse(text, template)
    sources = _take_sources(document)
    result = Translated(_run_translator(document, overrides, region, template), sources)
    content = {
        "key": key,
        "document": result.document,
        "sources": {name: asdict(source) for name, source in sources.items()},
    }
    write_atomically(cached, json.dumps(content))
    return result


def _take_sources(document: dict[str, Any]) -> dict[str, Source]:
    """Replace local folders by addresses that the translator accepts, and remember the folders."""
    shared = _globals(document).pop("CodeUri", None)
    sources: dict[str, Source] = {}
    for logical_id, resource in document["Resources"].items():
        name = _SOURCE.get(resource["Type"])
        if name is None:
            continue
        properties = resource.setdefault("Properties", {})
        path = properties.get(name, shared if name == "CodeUri" else None)
        if not isinstance(path, str) or path.startswith("s3://"):
            continue
        build = (resource.get("Metadata") or {}).get("BuildMethod", "")
        sources[logical_id] = Source(path, str(build))
        plain = resource["Type"].startswith("AWS::Lambda::")
        properties[name] = {"S3Bucket": "local", "S3Key": logical_id} if plain else f"s3://local/{logical_id}"
    return sources


def _globals(document: dict[str, Any]) -> dict[str, Any]:
    function = (document.get("Globals") or {}).get("Function")
    return function if isinstance(function, dict) else {}


@dataclass(frozen=True)
class _Session:
    """The attributes of a boto3 session that the translator uses; a real session would look for credentials."""

    region_name: str


def _run_translator(
    document: dict[str, Any], overrides: Mapping[str, str], region: str, template: Path
) -> dict[str, Any]:
    from samtranslator.model.exceptions import ExceptionWithMessage, InvalidDocumentException
    from samtranslator.parser.parser import Parser
    from samtranslator.translator.translator import Translator

    if "AWS::Serverless" in json.dumps(document["Resources"]) and "AWS::Serverless" not in str(
        document.get("Transform")
    ):
        raise TemplateError(f"{template}: AWS::Serverless types need the line Transform: AWS::Serverless-2016-10-31")
    # Warns for each alias about a feature flag of AWS's own service.
    logging.getLogger("samtranslator.feature_toggle.feature_toggle").setLevel(logging.ERROR)
    translator = Translator({}, Parser(), boto_session=_Session(region))
    try:
        # Managed policies come bundled with the translator; others remain names.
        result: dict[str, Any] = translator.translate(document, dict(overrides), get_managed_policy_map=dict)
    except InvalidDocumentException as error:
        raise TemplateError("\n".join(_compact(template, cause.message) for cause in error.causes)) from None
    except ExceptionWithMessage as error:
        raise TemplateError(_compact(template, error.message)) from None
    except Exception as error:
        # For some wrong templates (a list instead of a mapping) it raises arbitrary errors.
        log.debug("the translator failed", exc_info=True)
        message = f"{template}: the SAM translator failed on it ({type(error).__name__}: {error})"
        raise TemplateError(message) from None
    finally:
        translator.metrics.publish()  # discards them; it warns about metrics that were not published
    return result


def _compact(template: Path, message: str) -> str:
    for noise in ("Resource with id [", "Event with id ["):
        message = message.replace(noise, "[")
    return f"{template.name}: {message.replace('] is invalid. ', ']: ')}"
