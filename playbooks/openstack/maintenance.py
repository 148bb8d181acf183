"""Answers `{}` to everything: Tacker's legacy VNF calls insist on a service `maintenance`."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 12347


class Handler(BaseHTTPRequestHandler):
    """Any method, any path."""

    def answer(self) -> None:
        """Take the request, give an empty object."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - names of the library


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
