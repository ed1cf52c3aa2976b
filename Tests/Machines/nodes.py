"""Processes of the program on one library, that are killed and started again."""
import json
import os
import pathlib
import signal
import subprocess
import time

SIZES = {"small": 48, "large": 96}
# So many attempts that no job fails because its process was killed.
STAGES = [
    {"name": "identify", "plugin": "identify", "attempts": 1000},
    {"name": "thumbnails", "plugin": "thumbnail", "needs": ["identify"], "attempts": 1000,
     "options": {"sizes": [{"name": name, "maxPixelSize": size} for name, size in SIZES.items()]}},
]


class Cluster:
    """The processes of a round: the one that has the lock, one that takes files beside it, and one that only does jobs."""

    def __init__(self, program, folder, database, bucket, key, secret, renditions=None, apart=None):
        """renditions: a place for all of them in a bucket; without one they are in the database.

        apart: a folder on another file system for the first machine's files, which are then copied from there.
        """
        self.folder = folder
        self.environment = {**os.environ, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
                            "HOME": str(folder)}
        for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "PGSERVICE", "PGOPTIONS"):
            self.environment.pop(name, None)
        self.drops = [(apart or folder) / "drop-taker", folder / "drop-second"]
        for place in (folder, *self.drops):
            place.mkdir(mode=0o755)
        stages = [{**stage, "storage": "file" if renditions else "auto"} for stage in STAGES]
        common = {"catalog": database, "originals": bucket, "originalsCache": "200MiB", "stages": stages}
        if renditions:
            common["renditions"] = renditions
        sources = [[{"path": str(place), "mode": "move", "settle": "200ms"}] for place in self.drops]
        self._configure("taker", {"library": "library", "sources": sources[0], **common})
        second = {"name": "second", "joins": True}
        self._configure("second", {"library": "second", "node": second, "sources": sources[1], **common})
        self._configure("third", {"library": "third", **common})
        self.nodes = [Node(self, program, name, verb)
                      for name, verb in (("taker", "watch"), ("second", "watch"), ("third", "work"))]

    def _configure(self, name, members):
        (self.folder / f"{name}.json").write_text(json.dumps(members, indent=2))

    def perform(self, *words):
        """Runs a verb on the taker's machine."""
        return subprocess.run([self.nodes[0].program, *words, "--json", "--config", "taker.json"], cwd=self.folder,
                              env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=1800)

    def lose(self, number, patience):
        """Loses the machine with the library's folder; the next one makes that again, and goes on without further ado.

        Returns what the last try said if it can't be done for so many seconds.
        """
        taker = self.nodes[0]
        taker.die()
        (self.folder / "library").rename(self.folder / f"lost-{number}")
        end = time.monotonic() + patience
        while (done := self.perform("restore-library")).returncode != 0:
            # The database may be away, or the lost machine not yet missed.
            if done.returncode not in (1, 11) or time.monotonic() > end:
                return f"restore-library ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:].decode()}"
            time.sleep(0.2)
        taker.start()
        return None

    def ask(self, *words, codes=(0,)):
        """The objects that a verb prints on the taker's machine."""
        done = self.perform(*words)
        if done.returncode not in codes:
            said = (done.stdout[-2000:] + done.stderr[-2000:]).decode()
            raise RuntimeError(f"{words} ended with {done.returncode}: {said}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def waiting(self):
        """How many jobs are due or running, by `status`."""
        jobs = self.ask("status")[-1]["jobs"].values()
        return sum(states[state] for states in jobs for state in ("waiting", "ready", "running"))

    def files(self, *folders):
        """How many files lie in folders that are watched, by default in all of them."""
        return sum(len(files) for drop in folders or self.drops for _, _, files in os.walk(drop))

    def end(self):
        """Asks all to end, and returns what is wrong with how they did."""
        for node in self.nodes:
            node.ask_to_end()
        return [wrong for node in self.nodes if (wrong := node.wrong_end())]

    def kill(self):
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.process.kill()
                node.process.wait()

    def left_over(self):
        """Processes of the program, workers too, that are there though none should be."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                # Workers have a place in the folder in their arguments.
                words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            except OSError:
                continue
            if bytes(self.folder) in words:
                found.append(process.name)
        return found


class Node:
    """One of the processes; when it ends by itself it is started again, as by a service manager."""

    def __init__(self, cluster, program, name, verb):
        self.cluster, self.program, self.name, self.verb = cluster, program, name, verb
        self.process = None
        self.killed_at = 0.0
        self.resumes_at = None

    def start(self):
        with open(self.cluster.folder / f"{self.name}.log", "ab") as log:
            log.write(f"--- {time.strftime('%H:%M:%S')}\n".encode())
            log.flush()
            self.process = subprocess.Popen(
                [self.program, self.verb, "--json", "--config", f"{self.name}.json"], cwd=self.cluster.folder,
                env=self.cluster.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        """A kill that nothing announces, and a start at once."""
        self.die()
        self.start()

    def die(self):
        self.process.kill()
        self.process.wait()
        self.killed_at = time.monotonic()
        self.resumes_at = None

    def ask_to_end(self):
        """Asks it to end, as a service manager does."""
        self.resume()
        self.process.send_signal(signal.SIGTERM)

    def wrong_end(self):
        """What is wrong with how it ends after SIGTERM; None if nothing is."""
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            return f"{self.name} does not end after SIGTERM"
        return f"{self.name} ended with {code} after SIGTERM" if code != 143 else None

    def names_versions(self):
        """Whether its last words since its start say that the catalog is of another version."""
        log = (self.cluster.folder / f"{self.name}.log").read_text(errors="replace")
        said = log.rpartition("\n--- ")[2]
        return any(words in said for words in (
            "has the older version", "this program knows", "was updated by another version"))

    def pause(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        self.resumes_at = time.monotonic() + seconds

    def resume(self):
        if self.resumes_at is not None:
            self.process.send_signal(signal.SIGCONT)
            self.resumes_at = None
