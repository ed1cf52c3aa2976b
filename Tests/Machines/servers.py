"""A PostgreSQL server and an S3 server in a folder, which end with the test."""
import concurrent.futures
import datetime
import hashlib
import hmac
import http.client
import math
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.parse
import xml.etree.ElementTree

TESTS = pathlib.Path(__file__).resolve().parent.parent
# `nobody`: PostgreSQL refuses to work as root.
USER = 65534


class Database:
    """A PostgreSQL server that only its socket reaches, with one database."""

    # What the signal does: connections are ended; or all is ended as by a crash, and the next start recovers.
    MANNERS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}

    def __init__(self, folder):
        places = [place for place in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if (place / "initdb").exists()]
        if not places:
            raise SystemExit("PostgreSQL is not installed: install the Debian package postgresql-15.")
        self.programs = max(places, key=lambda place: int(place.parent.name))
        self.folder = folder
        folder.mkdir(mode=0o711)
        self.prefix = []
        if os.geteuid() == 0:
            os.chown(folder, USER, USER)
            self.prefix = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        self.uri = f"postgresql:///photos?host={urllib.parse.quote(str(folder), safe='')}&user=pipeline"
        self.log = open(folder / "log", "ab")
        subprocess.run([*self.prefix, self.programs / "initdb", "-D", "data", "-U", "pipeline", "-A", "trust",
                        "--no-sync", "--locale=C", "-E", "UTF8"],
                       cwd=folder, stdout=self.log, stderr=self.log, check=True)
        self.stopped_at = 0.0
        self.start("postgres")
        self.ask("CREATE DATABASE photos", "postgres")

    def start(self, database="photos"):
        self.process = subprocess.Popen(
            [*self.prefix, self.programs / "postgres", "-D", "data", "-k", self.folder, "-c", "listen_addresses="],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        end = time.monotonic() + 60
        while True:
            try:
                return self.ask("SELECT 1", database)
            except subprocess.CalledProcessError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self, manner="fast"):
        self.process.send_signal(self.MANNERS[manner])
        self.process.wait(60)

    def restart(self, manner, pause):
        self.stopped_at = math.inf
        self.stop(manner)
        time.sleep(pause)
        self.start()
        self.stopped_at = time.monotonic()

    def ask(self, sql, database=None):
        """The rows that a statement gives, as lists of texts."""
        address = self.uri if database is None else self.uri.replace("/photos?", f"/{database}?")
        words = [self.programs / "psql", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", sql]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=True)
        return [line.split("\t") for line in done.stdout.decode().splitlines()]

    def number(self, sql):
        return int(self.ask(sql)[0][0])


class ObjectServer:
    """Ceph's gateway, by Tests/object-server, and what is in its bucket `tests`, read without the program."""

    def __init__(self, folder):
        self.port = free_ports(3)
        self.process = subprocess.Popen([TESTS / "object-server", folder, str(self.port)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, start_new_session=True)
        ready = self.process.stdout.readline().split()
        if not ready:
            raise SystemExit("Tests/object-server did not start.")
        self.key, self.secret = ready[2].decode(), ready[3].decode()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)

    def objects(self, prefix):
        """The SHA-256 of each object whose name begins so, by the rest of its name, read whole."""
        names, more = [], {}
        while True:
            answer = self.get("/tests", {"list-type": "2", "prefix": prefix, **more})
            page = xml.etree.ElementTree.fromstring(answer)
            names += [key.text for key in page.findall("{*}Contents/{*}Key")]
            if page.findtext("{*}IsTruncated") != "true":
                break
            more = {"continuation-token": page.findtext("{*}NextContinuationToken")}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            hashes = pool.map(lambda name: hashlib.sha256(self.get(f"/tests/{name}")).hexdigest(), names)
            return {name[len(prefix):]: value for name, value in zip(names, hashes)}

    def get(self, path, query={}):
        """The body of an answer, to a request signed by version 4 of Amazon's signatures."""
        host = f"127.0.0.1:{self.port}"
        text = "&".join(f"{urllib.parse.quote(name, safe='')}={urllib.parse.quote(value, safe='')}"
                        for name, value in sorted(query.items()))
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": host, "x-amz-content-sha256": hashlib.sha256(b"").hexdigest(), "x-amz-date": now}
        signed = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        request = f"GET\n{urllib.parse.quote(path)}\n{text}\n{lines}\n{signed}\n{headers['x-amz-content-sha256']}"
        scope = f"{now[:8]}/us-east-1/s3/aws4_request"
        key = b"AWS4" + self.secret.encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        text_to_sign = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(key, text_to_sign.encode(), "sha256").hex()
        headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={signed}, " \
            f"Signature={signature}"
        connection = http.client.HTTPConnection(host, timeout=60)
        try:
            connection.request("GET", f"{urllib.parse.quote(path)}?{text}" if text else urllib.parse.quote(path),
                               headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise OSError(f"GET {path}: {answer.status} {body[:200]}")
            return body
        finally:
            connection.close()


def free_ports(count):
    """The first of some ports in a row that nobody listens on."""
    while True:
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
        if port + count > 65_536:
            continue
        try:
            for each in range(port, port + count):
                with socket.socket() as other:
                    other.bind(("127.0.0.1", each))
            return port
        except OSError:
            continue
