"""Sends each request to another node of a cluster than the request before, whatever connection it came on."""

import http.client
import http.server
import itertools
import threading
import urllib.parse

# These are about one connection, not about the request.
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


class RoundRobin:
    """A proxy on a free loopback port before the nodes at `urls`, until `close`."""

    def __init__(self, urls):
        nodes = [urllib.parse.urlsplit(url) for url in urls]
        turns, lock, self.requests = itertools.cycle(nodes), threading.Lock(), [0] * len(nodes)

        def turn():
            with lock:
                node = next(turns)
                self.requests[nodes.index(node)] += 1
                return node

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                node = turn()
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
                connection = http.client.HTTPConnection(node.hostname, node.port, timeout=60)
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
                answer = response.read()
                self.send_response(response.status)
                for name, value in response.getheaders():
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                connection.close()

            do_GET = do_POST = do_DELETE = do_PUT = forward

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
