"""Runs Lambda functions in real worker processes under AWS's own runtime client.

:class:`FunctionPool` implements :class:`localstage.core.invoker.Functions`; :func:`build` makes the directories that
Lambda would mount as layers and as the runtime.
"""

from __future__ import annotations

from localstage.functions.layers import Built, build
from localstage.functions.pool import FunctionPool, FunctionStatus
from localstage.functions.settings import PoolSettings

__all__ = ["Built", "FunctionPool", "FunctionStatus", "PoolSettings", "build"]
