"""Lambda's error objects for a function that returned nothing, and the limit of its answer."""

from __future__ import annotations

import json
import signal

# Lambda allows a response 100 bytes more than a request; its error message has this number.
MAX_RESPONSE = 6 * 1024 * 1024 + 100


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()


def timed_out(request_id: str, seconds: float) -> bytes:
    """The response when a function's deadline passed."""
    return _error("Sandbox.Timedout", f"RequestId: {request_id} Error: Task timed out after {seconds:.2f} seconds")


def exited(request_id: str, status: int | None) -> bytes:
    """The response when the process exited; ``status`` as ``Popen.returncode`` gives it."""
    return _error("Runtime.ExitError", f"RequestId: {request_id} Error: {exit_reason(status)}")


def exit_reason(status: int | None) -> str:
    """How Lambda words the end of a process: ``exit status 1``, ``signal: killed``."""
    if not status:
        return "Runtime exited without providing a reason"
    if status > 0:
        return f"Runtime exited with error: exit status {status}"
    name = (signal.strsignal(-status) or str(-status)).lower()
    return f"Runtime exited with error: signal: {name}"


def response_too_large() -> bytes:
    """The caller's answer when the function's response is over the limit."""
    return _error(
        "Function.ResponseSizeTooLarge",
        f"Response payload size exceeded maximum allowed payload size ({MAX_RESPONSE} bytes).",
    )


def error_type(payload: bytes) -> str:
    """``errorType`` of an error answer, shortened for a log line; never the message, which may be private."""
    return _field(payload, "errorType", 80) or "an error"


def init_error(payload: bytes) -> str:
    """Type and message of an error at the import of the code: the message names a file and a line, and no event.

    The end of a process has only its type: its message is another for each process.
    """
    kind = error_type(payload)
    message = "" if kind == "Runtime.ExitError" else _field(payload, "errorMessage", 200)
    return f"{kind}: {message}" if message else kind


def _field(payload: bytes, name: str, longest: int) -> str:
    try:
        value = json.loads(payload).get(name)
    except (ValueError, AttributeError):
        return ""
    return value[:longest] if isinstance(value, str) and value.isprintable() else ""
