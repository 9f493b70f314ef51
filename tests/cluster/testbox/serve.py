"""An HTTP server: / answers the pod's name, /bytes/<n> answers n zeros for measuring a link."""

import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = bytes(1 << 20)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        directory, _, size = self.path.strip("/").partition("/")
        if not directory:
            self._answer(f"{socket.gethostname()}\n".encode())
        elif directory == "bytes" and size.isdecimal():
            self._stream(int(size))
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _begin(self, length: int) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def _answer(self, body: bytes) -> None:
        self._begin(len(body))
        self.wfile.write(body)

    def _stream(self, left: int) -> None:
        self._begin(left)
        while left:
            left -= self.wfile.write(PIECE[:left])


if __name__ == "__main__":
    ThreadingHTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
