"""Many subscribers in one process of their own, with as little in the way as Python allows.

``python -m bench.sse_readers PORT N EVENTS SECONDS`` prints a line when all streams are open, and another when every subscriber has every
event (or the time is over): how many arrived, and how long after sending.
"""

import json
import re
import select
import socket
import sys
import time
from typing import Final

_REQUEST: Final = b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_EVENT: Final = b"event: card"
_STAMP: Final = re.compile(rb"sentns\D{1,4}(\d{6,})")


def _sent_at(data: bytes) -> int | None:
    """Give when the last event in this piece was sent."""
    start = data.rfind(b"sentns")
    found = _STAMP.match(data, start) if start >= 0 else None
    return int(found[1]) if found else None


def _connect(port: int, count: int) -> dict[int, socket.socket]:
    """Open streams one after the other, each until its first bytes are there."""
    streams: dict[int, socket.socket] = {}
    for _ in range(count):
        stream = socket.create_connection(("127.0.0.1", port), timeout=20)
        stream.sendall(_REQUEST)
        streams[stream.fileno()] = stream
    for stream in streams.values():
        got = b""
        while not got.partition(b"\r\n\r\n")[2]:
            got += stream.recv(65536)
        stream.settimeout(0)
    return streams


def main() -> None:
    """Read until all is there."""
    port, count, events, patience = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    streams = _connect(port, count)
    poll = select.epoll()
    for number in streams:
        poll.register(number, select.EPOLLIN)
    print(json.dumps({"open": len(streams)}), flush=True)
    arrived, size, took = 0, 0, list[float]()
    end = time.monotonic() + patience
    while arrived < events * count and time.monotonic() < end:
        for number, _ in poll.poll(0.2):
            data = streams[number].recv(262144)
            if not data:
                poll.unregister(number)
                continue
            at, now = _sent_at(data), time.monotonic_ns()
            arrived += data.count(_EVENT)
            size += len(data)
            if at is not None:
                took.append((now - at) / 1e6)
    took.sort()
    percentiles = {"p50": took[len(took) // 2], "p99": took[int(len(took) * 0.99)]} if took else {}
    print(json.dumps({"arrived": arrived, "bytes": size, "latency_ms": percentiles}), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
