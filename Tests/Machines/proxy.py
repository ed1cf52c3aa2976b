"""A proxy before an S3 server that refuses some requests and cuts some answers."""
import random
import socket
import threading

REFUSAL = b"<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>by the proxy</Message></Error>"


class FaultProxy:
    """Passes on HTTP/1.1; `refused` and `cut` count what it did to so many requests."""

    def __init__(self, port, seed, refusals=0.05, cuts=0.02):
        self.server = port
        self.refusals, self.cuts = refusals, cuts
        self.requests = self.refused = self.cut = 0
        self.random = random.Random(f"proxy {seed}")
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self.listener.close()

    def be_true(self):
        """Does nothing to requests from now on."""
        self.refusals = self.cuts = 0

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _fault(self):
        """What is done to a request: `refuse`, `cut`, or nothing; and where an answer is cut, as a share of it."""
        with self.lock:
            if not self.refusals + self.cuts:
                return None, 0
            self.requests += 1
            chance, share = self.random.random(), self.random.random()
            if chance < self.refusals:
                self.refused += 1
                return "refuse", share
            if chance < self.refusals + self.cuts:
                self.cut += 1
                # Half of them lose the whole answer.
                return "cut", max(0, share * 2 - 1)
            return None, share

    def _serve(self, client):
        server = None
        try:
            client.settimeout(300)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = client.makefile("rb")
            while True:
                head = _head(reader)
                if not head:
                    return
                if _header(head, b"expect"):
                    client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                    head = [line for line in head if not line.lower().startswith(b"expect:")]
                length = int(_header(head, b"content-length") or 0)
                body = reader.read(length)
                request = b"".join(head) + body
                fault, share = (None, 0) if len(body) < length else self._fault()
                if fault == "refuse":
                    refusal = b"" if head[0].startswith(b"HEAD ") else REFUSAL
                    client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\n"
                                   b"Content-Length: %d\r\n\r\n" % len(REFUSAL) + refusal)
                    continue
                if server is None:
                    server = socket.create_connection(("127.0.0.1", self.server), 300)
                    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    answers = server.makefile("rb")
                server.sendall(request)
                if len(body) < length:
                    return
                answer = _answer(answers, head[0].startswith(b"HEAD "))
                if fault == "cut":
                    client.sendall(answer[:int(len(answer) * share)])
                    return
                client.sendall(answer)
                if (_header(answer.split(b"\r\n\r\n", 1)[0].splitlines(), b"connection") or b"").lower() == b"close":
                    return
        except (OSError, ValueError):
            # Whoever was killed, or the server, is gone.
            return
        finally:
            client.close()
            if server is not None:
                server.close()


def _head(reader):
    """The lines of a head with the empty one; none at the end."""
    lines = []
    while line := reader.readline():
        lines.append(line)
        if line == b"\r\n":
            return lines
    return []


def _header(lines, name):
    for line in lines[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip()
    return None


def _answer(reader, is_head):
    """One whole answer."""
    head = _head(reader)
    if not head:
        raise OSError("no answer")
    status = int(head[0].split()[1])
    body = b""
    if is_head or status in (204, 304):
        pass
    elif (_header(head, b"transfer-encoding") or b"").lower() == b"chunked":
        while True:
            line = reader.readline()
            chunk = reader.read(int(line, 16) + 2)
            body += line + chunk
            if int(line, 16) == 0:
                break
    else:
        body = reader.read(int(_header(head, b"content-length") or 0))
    return b"".join(head) + body
