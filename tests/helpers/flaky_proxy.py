"""A way to the service on which answers are lost: real connections, with a plan of what happens to each request."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

PROBLEM = b'{"type": "/problems/not-ready", "title": "Not now", "status": 503, "detail": "The disk is full."}'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._pass_on()

    def do_POST(self):
        self._pass_on()

    def do_PUT(self):
        self._pass_on()

    def _pass_on(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        what = self.server.plan.pop(0) if self.server.plan else "pass"
        self.server.seen.append((what, self.path))
        if what == "503":
            self._answer(503, PROBLEM, "application/problem+json")
            return
        headers = {
            name: value for name, value in self.headers.items() if name.lower() in ("authorization", "content-type")
        }
        found = self.server.client.request(self.command, self.path, content=body, headers=headers)
        if what == "lost":  # the service has done it, and nobody is told
            self.close_connection = True
            return
        self._answer(found.status_code, found.content, found.headers.get("content-type", ""))

    def _answer(self, status, body, kind):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@contextmanager
def flaky(url, *plan):
    """The proxy; `plan` says of each request "pass", "lost" or "503", and those after them pass."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.plan, server.seen = list(plan), []
    server.daemon_threads = True
    server.url = f"http://127.0.0.1:{server.server_port}"
    with httpx.Client(base_url=url, timeout=30) as server.client:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
