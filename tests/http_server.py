"""Run an HTTP server on loopback, for tests of HTTP clients."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serve(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Run the server for a ``with`` block, and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True  # a response that does not end must not block the exit
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def send_json(handler: BaseHTTPRequestHandler, document: object) -> None:
    """Respond with a JSON document."""
    body = json.dumps(document).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def registry_with(schema: object) -> type[BaseHTTPRequestHandler]:
    """Return the handler of a schema registry that has one schema, under every id."""

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            send_json(self, {"schema": json.dumps(schema)})

        def log_message(self, *_: object) -> None:
            pass

    return Registry
