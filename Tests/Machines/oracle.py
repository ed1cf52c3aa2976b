"""What must be true after a round: by SQL, by what is in the store, and by the program's own judgement.

The letters are those of docs/reliability.md, “Several machines”.
"""
import collections
import hashlib

from nodes import SIZES, STAGES

ASSETS = """SELECT encode(id, 'hex'), encode(digest, 'hex'), encode(name, 'escape'), encode(path, 'escape'), modified
  FROM pipeline.asset ORDER BY id"""


class Oracle:
    """Asks once all processes have ended, and collects what is not as it must be."""

    def __init__(self, cluster, database, store, prefix, dropped):
        self.cluster, self.database, self.store, self.prefix = cluster, database, store, prefix
        # By path; and what must be made of them, by digest.
        self.dropped = dropped
        self.contents = {drop.digest: drop for drop in dropped.values()}
        self.damaged = {digest for digest, drop in self.contents.items() if drop.is_damaged}
        self.breaches = []

    def expect(self, letter, wrong, sentence):
        """Notes a breach if there are such things, with some of them."""
        if wrong:
            some = wrong if isinstance(wrong, str) else f"{len(wrong)}, such as {sorted(wrong)[:5]}"
            self.breaches.append(f"{letter}: {sentence}: {some}")

    def expect_none(self, letter, table, sentence):
        """Notes a breach if a table has such rows."""
        rows = self.database.ask(f"SELECT * FROM {table} LIMIT 5")
        self.expect(letter, [" ".join(row) for row in rows], sentence)

    def ask(self):
        assets = self.database.ask(ASSETS)
        # First, because verbs tidy up after those who are gone, and copy the manifest.
        self.nobody()
        self.copies()
        self.originals()
        self.records(assets)
        self.attempts()
        self.renditions(assets)
        self.judgement(assets)
        # One of a process that was killed stays until the next one with the lock drops it, as `run` just did.
        self.expect_none("D9", "pipeline.request", "requests of other machines")
        self.rebuild(assets)
        return self.breaches

    def originals(self):
        """D1: each original has an object with its bytes, and nothing else is there."""
        objects = self.store.objects(f"{self.prefix}/originals/")
        self.expect("D1", [name for name, value in objects.items() if name != f"{value[:2]}/{value}"],
                    "objects with other bytes than their names say")
        recorded = {row[0] for row in self.database.ask("SELECT encode(digest, 'hex') FROM pipeline.original")}
        stored = set(objects.values())
        self.expect("D1", recorded - stored, "originals without an object")
        self.expect("D1", stored - recorded, "objects without a record")
        self.expect("D1", set(self.contents) - stored, "files whose bytes are not in the store")
        self.expect("D1", stored - set(self.contents), "objects that nobody dropped")

    def records(self, assets):
        """D2, D4: each file is recorded under its path; each content is one asset, all others are duplicates."""
        contents = collections.Counter(digest for _, digest, _, _, _ in assets)
        self.expect("D4", [digest for digest, count in contents.items() if count > 1], "contents with several assets")
        known = {path: digest for _, digest, _, path, _ in assets}
        self.expect("D2", [path for _, _, name, path, _ in assets if name != path.rsplit("/", 1)[-1]],
                    "assets with another name than their path's")
        self.expect("D2", [path for _, _, _, path, modified in assets
                           if path in self.dropped and int(modified) != self.dropped[path].modified],
                    "assets with another time than their file's")
        for path, state, digest in self.database.ask(
                """SELECT encode(path, 'escape'), state, encode(digest, 'hex')
                FROM (SELECT sighting.path, state, digest FROM pipeline.sighting LEFT JOIN pipeline.asset
                  ON asset.id = sighting.asset) AS seen"""):
            odd = state not in ("imported", "duplicate")
            self.expect("D2", f"{path} {state}" if odd else (), "a path in another state")
            if state == "duplicate":
                self.expect("D2", path if path in known else (), "a path that is a duplicate of its own asset")
                known[path] = digest
        self.expect("D2", [path for path, drop in self.dropped.items() if known.get(path) != drop.digest],
                    "files that are recorded nowhere, or with other bytes")
        self.expect("D2", set(known) - set(self.dropped), "records of files that nobody dropped")
        # No machine has anything under way.
        for machine in ("library", "second", "third"):
            for name in ("incoming", "damaged"):
                place = self.cluster.folder / machine / name
                self.expect("D2", [str(file) for file in place.rglob("*") if file.is_file()] if place.is_dir() else (),
                            f"files in {machine}/{name}/")

    def attempts(self):
        """D3: each attempt ended once, each row by one attempt; damaged pictures failed, and no others."""
        self.expect_none("D3", "pipeline.attempt WHERE ended_at IS NULL", "attempts without an end")
        self.expect_none(
            "D3", """(SELECT ledger.id, state, count(attempt.id) FROM pipeline.ledger LEFT JOIN pipeline.attempt
            ON attempt.ledger = ledger.id AND outcome = state
            GROUP BY ledger.id, state HAVING count(attempt.id) <> 1) AS bad""",
            "rows that not exactly one attempt ended")
        self.expect_none(
            "D3", """(SELECT ledger FROM pipeline.attempt WHERE outcome IN ('done', 'skipped', 'failed')
            GROUP BY ledger HAVING count(*) > 1) AS bad""", "rows that ended several times")
        self.expect_none("D3", "pipeline.attempt WHERE participant IS NULL", "attempts that nobody made")
        failed = {row[0] for row in self.database.ask(
            "SELECT DISTINCT encode(digest, 'hex') FROM pipeline.ledger WHERE state = 'failed'")}
        self.expect("D3", self.damaged - failed, "damaged pictures that did not fail")
        self.expect("D3", failed - self.damaged, "whole pictures that failed")
        rows = len(self.contents) * len(STAGES)
        count = self.database.number("SELECT count(*) FROM pipeline.ledger WHERE state IN ('done', 'failed')")
        self.expect("D3", f"{count} instead of {rows}" if count != rows else (), "rows that are done or failed")

    def renditions(self, assets):
        """D5: each rendition is whole, and is that of its picture."""
        self.expect_none(
            "D5", """(SELECT rendition.id FROM pipeline.rendition LEFT JOIN pipeline.rendition_bytes
            ON rendition_bytes.rendition = rendition.id
            WHERE path IS NULL AND (content IS NULL OR length(content) <> bytes OR sha256(content) <> digest)) AS bad""",
            "renditions without their bytes")
        # What kills have left goes by gc, and nothing else does.
        self.cluster.ask("gc", "--yes")
        objects = {f"s3://tests/made/{name}": value for name, value in self.store.objects("made/").items()}
        objects.pop("s3://tests/made/library.json", None)
        recorded = dict(self.database.ask(
            "SELECT path, encode(digest, 'hex') FROM pipeline.rendition WHERE path IS NOT NULL"))
        self.expect("D5", set(objects.items()) ^ set(recorded.items()), "renditions in the bucket")
        looks = {}
        made = set()
        for original, name, digest in self.database.ask(
                """SELECT encode(ledger.digest, 'hex'), rendition.name, encode(rendition.digest, 'hex')
                FROM pipeline.rendition JOIN pipeline.ledger ON ledger.id = rendition.ledger"""):
            made.add((original, name))
            base = self.contents[original].base if original in self.contents else None
            looks.setdefault((base, name), {}).setdefault(digest, []).append(original)
        # Pictures that differ in a comment only have the same thumbnails, and others have others.
        self.expect("D5", [f"{key} {list(value.items())[:2]}" for key, value in looks.items() if len(value) > 1],
                    "renditions that are not of their picture")
        different = {digest for value in looks.values() for digest in value}
        self.expect("D5", "the same" if len(different) < len(looks) else (), "renditions of different pictures")
        whole = set(self.contents) - self.damaged
        self.expect("D5", {(digest, name) for digest in whole for name in SIZES} ^ made,
                    "renditions that are missing, or that no picture should have")

    def judgement(self, assets):
        """D7, D8: the program finds no problem, counts right, and has nothing left to do."""
        verified = self.cluster.ask("verify", codes=(0, 3))
        self.expect("D8", [str(event) for event in verified if event.get("event") == "problem"], "problems for verify")
        self.expect("D8", str(verified[-1]) if verified[-1].get("problems") != 0 else (), "the summary of verify")
        status = self.cluster.ask("status")[-1]
        for key, value in [("assets", len(assets)), ("failures", len(self.damaged)),
                           ("originals", self.database.number("SELECT count(*) FROM pipeline.original")),
                           ("renditions", self.database.number("SELECT count(*) FROM pipeline.rendition")),
                           ("paths", self.paths()), ("jobs", self.jobs())]:
            wrong = f"{key} {status[key]} instead of {value}" if status[key] != value else ()
            self.expect("D8", wrong, f"{key} that status counts")
        end = self.cluster.ask("run")[-1]
        changed = {key: end.get(key) for key in ("imported", "duplicates", "failed", "gone", "jobsDone", "jobsFailed")
                   if end.get(key) != 0}
        self.expect("D7", str(changed) if changed else (), "what was left to do for a run")

    def paths(self):
        """How many paths are in each state, as `status` has it."""
        counts = dict(self.database.ask("SELECT state, count(*) FROM pipeline.sightings GROUP BY state"))
        states = ("imported", "duplicate", "ignored", "rejected", "settling", "failed", "gone", "returned")
        return {state: int(counts.get(state, 0)) for state in states}

    def jobs(self):
        """How many jobs of each stage are in each state, as `status` has it."""
        rows = self.database.ask("SELECT stage, state, count(*) FROM pipeline.jobs GROUP BY stage, state")
        counts = {(stage, state): int(count) for stage, state, count in rows}
        states = ("waiting", "ready", "running", "done", "skipped", "failed")
        return {stage["name"]: {state: counts.get((stage["name"], state), 0) for state in states} for stage in STAGES}

    def nobody(self):
        """D9: nobody is taken to be at work, and nothing runs."""
        self.expect_none("D9", "pipeline.participant WHERE state NOT IN ('ended', 'expired')", "live participants")
        self.expect_none("D9", "pipeline.ledger WHERE state IN ('running', 'ready', 'waiting')", "rows that are due")

    def copies(self):
        """D6: the bucket has the manifest."""
        own = {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
               for file in (self.cluster.folder / "library" / "manifest").iterdir()}
        copies = self.store.objects(f"{self.prefix}/manifest/")
        self.expect("D6", set(own.items()) ^ set(copies.items()), "copies of the manifest")

    def rebuild(self, assets):
        """D6: from the manifest and the bucket come the same assets with the same keys."""
        self.cluster.ask("rebuild-catalog")
        again = self.database.ask(ASSETS)
        self.expect("D6", {" ".join(row) for row in assets} ^ {" ".join(row) for row in again},
                    "assets that differ after rebuild-catalog")
