"""Whether the server around us wants to stop.

A server that stops waits for open responses, and a stream is open for ever: Ctrl-C would hang. An app that is mounted in another hears of
the end only after that waiting. Uvicorn's signal handler is a method of the server, whose ``should_exit`` says so at once.
"""

import signal


def server_is_leaving() -> bool:
    """Tell whether a signal has told the server to stop. Servers that do not show it are taken to stay."""
    handlers = (signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM))
    return any(getattr(getattr(handler, "__self__", None), "should_exit", False) is True for handler in handlers)
