"""Starts a function's process: ties it to the stage, sets the path as Lambda does, and runs awslambdaric.

Arguments: the stage's process id, the function's id (shown by ``ps``), the handler, then the directories
that come before the standard library. Imports nothing of the stage: a function must not see it.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9


def main() -> None:
    owner, _function, handler, *path = sys.argv[1:]
    # SIGKILL also ends a process that is stopped, which an idle function's is.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
    if os.getppid() != int(owner):  # the stage ended before the line above ran
        os._exit(0)
    if os.environ.get("LC_CTYPE") == "C.UTF-8":  # set by Python where Lambda's locale is not installed
        del os.environ["LC_CTYPE"]
    sys.path[:0] = path
    sys.argv = ["bootstrap.py", handler]

    import awslambdaric.bootstrap as runtime
    import awslambdaric.lambda_runtime_client as client
    from awslambdaric.__main__ import main as run
    from awslambdaric.lambda_config import LambdaConfigProvider

    # The Runtime API's address is host:port/key. libcurl, which asks for events, takes it as it is; http.client, which
    # reports a failed start, wants the two parts.
    call = client.BaseLambdaRuntimeClient.call_rapid

    def call_rapid(self: client.BaseLambdaRuntimeClient, method: str, endpoint: str, *rest: object) -> None:
        self.lambda_runtime_address, _, key = os.environ["AWS_LAMBDA_RUNTIME_API"].partition("/")
        call(self, method, f"/{key}{endpoint}", *rest)

    client.BaseLambdaRuntimeClient.call_rapid = call_rapid
    # From Python 3.12 on awslambdaric waits in a new thread per event, so that signals are handled. Here the process
    # is frozen while it waits, and the threads would make an event several times as expensive.
    LambdaConfigProvider.SUPPORTED_THREADPOLLING_ENVS = set()
    # CloudWatch shows a carriage return and a no-break space as a line and an indent; a terminal does not.
    runtime.ERROR_LOG_LINE_TERMINATE = "\n"
    runtime.ERROR_LOG_IDENT = " "
    run(sys.argv)


main()
