"""The way to Azure for clients that know no other address: a proxy that answers for one of its hosts.

    with Front("firnacc.blob.core.windows.net", "127.0.0.1:10000", folder) as front:
        subprocess.run(..., env=os.environ | front.environment)

What asks for that host gets a certificate made here, and speaks to the emulator behind; other hosts are not there.
"""

import pathlib
import select
import socket
import socketserver
import ssl
import subprocess
import threading


def _pump(one, other):
    pair = {one: other, other: one}
    while True:
        ready = [one] if isinstance(one, ssl.SSLSocket) and one.pending() else select.select(list(pair), [], [])[0]
        for source in ready:
            data = source.recv(65536)
            if not data:
                return
            pair[source].sendall(data)


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        words = self.rfile.readline().split()
        while self.rfile.readline().strip():
            pass
        front = self.server.front
        if len(words) < 2 or words[0] != b"CONNECT" or words[1].decode() != f"{front.host}:443":
            front.strangers.append(words)
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            with front.context.wrap_socket(self.connection, server_side=True) as client, \
                    socket.create_connection(front.upstream) as store:
                _pump(client, store)
        except OSError:
            pass  # a client that went away


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True


class Front:
    def __init__(self, host, upstream, folder):
        name, _, port = upstream.rpartition(":")
        self.host, self.upstream, self.strangers = host, (name, int(port)), []
        key, self.certificate = pathlib.Path(folder) / "front.key", pathlib.Path(folder) / "front.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={host}",
                        "-addext", f"subjectAltName=DNS:{host}", "-keyout", key, "-out", self.certificate],
                       check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.server = _Server(("127.0.0.1", 0), _Handler)
        self.server.front = self
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def environment(self):
        at = f"http://127.0.0.1:{self.server.server_address[1]}"
        return {"HTTPS_PROXY": at, "https_proxy": at, "SSL_CERT_FILE": str(self.certificate),
                "REQUESTS_CA_BUNDLE": str(self.certificate), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
