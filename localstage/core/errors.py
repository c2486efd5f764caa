"""Errors of the local stage. Each message is one clear sentence for the person at the terminal.

StageError
├── TemplateError      the template (or samconfig.toml) cannot be run as it is written
├── MissingProgram     a program that the stage needs is not installed; the message has the command that installs it
├── ServiceError       a service (RabbitMQ, Redis, an emulator) did not start or has ended
├── PortTaken          a port that was asked for by number is in use
├── RecursiveInvocation  a chain of requests invoked a function too often
├── AlreadyRunning     another stage runs in this folder
└── NotRunning         a command that needs a running stage found none
"""

from __future__ import annotations


class StageError(Exception):
    """Base of all errors that the stage reports to its user."""


class TemplateError(StageError):
    """The template or samconfig.toml cannot be run as written; the message names the logical id and property."""


class MissingProgram(StageError):
    """A program is not installed; the message ends with the one command that installs it."""


class ServiceError(StageError):
    """A service did not start in time, or has ended; the message names its log file."""


class PortTaken(StageError):
    """A port asked for by number is in use."""


class RecursiveInvocation(StageError):
    """A chain of requests has invoked a function 16 times; Lambda stops the next invocation."""


class AlreadyRunning(StageError):
    """Another stage runs in this folder; the message gives its URL."""


class NotRunning(StageError):
    """No stage runs in this folder; the message says how to start one."""
