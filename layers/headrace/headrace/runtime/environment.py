"""Reads environment variables; no other module does. :mod:`headrace.runtime.settings` declares which.

Not pydantic: two dozen of its models cost a cold start as much as everything else that reads settings does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, dataclass_transform

from headrace.core.errors import ConfigurationError

REQUIRED: Any = object()
"""The default of a setting that has none."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How one variable is read: ``parse`` makes its value of its text, and raises ``ValueError`` for a wrong one."""

    parse: Callable[[str], Any]
    form: str
    default: Any = REQUIRED


def setting(parse: Callable[[str], Any], form: str, *, default: Any = REQUIRED) -> Any:
    """Declares a field of :class:`Settings`; ``form`` is the accepted form that errors quote."""
    return Setting(parse, form, default)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(setting,))
class Settings:
    """Base of all settings. A field ``broker_endpoints`` is the variable ``BROKER_ENDPOINTS``.

    :meth:`read` checks values; the constructor takes them as they are.
    """

    declared: ClassVar[dict[str, Setting]] = {}
    """The class's fields with those of its bases, by name."""

    def __init_subclass__(cls) -> None:
        bases = [base.declared for base in reversed(cls.__mro__[1:]) if issubclass(base, Settings)]
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}
        cls.declared = {name: each for part in [*bases, own] for name, each in part.items()}

    def __init__(self, **values: Any) -> None:
        for name, each in self.declared.items():
            value = values.pop(name, each.default)
            if value is REQUIRED:
                raise TypeError(f"{name} is missing")
            self.__dict__[name] = value
        if values:
            raise TypeError(f"no settings: {', '.join(values)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are frozen: {name}")

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None, renamed: Mapping[str, str] | None = None) -> Self:
        """The settings that ``environ`` (``os.environ`` when ``None``) holds; an empty variable counts as unset.

        ``renamed`` has the variables of fields that have another one than that of their name.

        Raises:
            ConfigurationError: names the first variable that is missing or wrong, and its accepted form.
        """
        source: Mapping[str, str] = os.environ if environ is None else environ
        names = {name: name.upper() for name in cls.declared} | dict(renamed or {})
        return cls(**{name: _value(cls.declared[name], variable, source) for name, variable in names.items()})


def _value(declared: Setting, variable: str, source: Mapping[str, str]) -> Any:
    text = source.get(variable)
    if text:
        try:
            return declared.parse(text)
        except ValueError:
            raise invalid(variable, declared) from None
    if declared.default is REQUIRED:
        raise invalid(variable, declared, "is missing")
    return declared.default


def invalid(variable: str, declared: Setting, state: str = "is not of its accepted form") -> ConfigurationError:
    """The error of a variable that is not as it is ``declared``."""
    return ConfigurationError(f"the variable {variable} {state}; it must be {declared.form}")


def trace_id() -> str:
    """The trace header of this invocation, which Lambda sets; empty outside of one."""
    return os.environ.get("_X_AMZN_TRACE_ID", "")
