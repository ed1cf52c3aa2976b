"""What the tests of the pages share: a browser, the server's JSON, and new pictures."""

import datetime
import json
import pathlib
import re
import time
import traceback
import urllib.request
import uuid

from playwright.sync_api import sync_playwright

import pictures

CHROMIUM = "/usr/bin/chromium"
# A tile of the gallery whose record is there.
TILE = ".box a.tile[href]"


class Site:
    """A running server, another that hides places, and the folder that a running `pipeline watch` imports from."""

    base = None
    hiding = None
    inbox = None
    newest = datetime.datetime(2030, 1, 1)


tests = []


def test(function):
    tests.append(function)
    return function


def api(path):
    with urllib.request.urlopen(Site.base + path) as answer:
        return json.load(answer)


def change(asset, **what):
    """Changes an asset, as the pages do: `trash=True`."""
    request = urllib.request.Request(
        Site.base + "api/v1/edit",
        json.dumps({"ids": [asset], **what}).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).close()


def add(taken=None):
    """Drops a picture into the folder, by default newer than all others; returns its name."""
    if taken is None:
        taken = Site.newest = Site.newest + datetime.timedelta(minutes=1)
    name = f"new-{uuid.uuid4().hex[:8]}.jpg"
    unfinished = Site.inbox.with_name(name)
    pictures.draw(unfinished, taken)
    unfinished.rename(Site.inbox / name)
    return name


class Browser:
    """Opens pages of the server, and keeps their errors, requests and dialogs."""

    def __init__(self, chromium):
        self.chromium = chromium
        self.pages = []

    def open(
        self, path="", width=1280, height=800, ready=TILE, expected=(), unscripted=False, site=None, **options
    ):
        """`expected`: parts of messages that may be in the console. `unscripted` keeps the page's own
        scripts away, but lets the test's run. `site`: another server than the first."""
        page = self.chromium.new_context(
            viewport={"width": width, "height": height}, **options
        ).new_page()
        if unscripted:
            page.route("**/app.js", lambda route: route.abort())
        page.errors, page.requests, page.dialogs = [], [], []

        def keep_error(message):
            if message.type == "error" and not any(part in message.text for part in expected):
                page.errors.append(message.text)

        def keep_dialog(dialog):
            page.dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("console", keep_error)
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("dialog", keep_dialog)
        self.pages.append(page)
        page.goto((site or Site.base) + path)
        if ready:
            page.wait_for_selector(ready)
        return page

    def check(self):
        """No page asked another server, had an error, or ran a script from the library."""
        for page in self.pages:
            foreign = [
                url for url in page.requests if not url.startswith((Site.base, Site.hiding, "data:", "blob:"))
            ]
            assert not foreign, f"requests beyond the server: {foreign[:3]}"
            assert not page.errors, f"errors in the console: {page.errors[:3]}"
            assert not page.dialogs, f"a script ran: {page.dialogs}"

    def close(self):
        for page in self.pages:
            page.context.close()


def in_view(page):
    """The pictures in view: their IDs, indexes, and places."""
    return page.evaluate("""() => [...document.querySelectorAll('.box a.tile[href]')]
        .map((t) => ({
            id: t.getAttribute('href').match(/^a\\/([^?]+)/)[1],
            index: t.index,
            ...t.getBoundingClientRect().toJSON(),
        }))
        .filter((t) => t.bottom > 120 && t.top < innerHeight)""")


def settled(page):
    """Waits until nothing has moved or loaded, and no animation has run, for 20 frames."""
    page.evaluate("""async () => {
        const look = () => JSON.stringify([
            document.querySelector('.box')?.scrollTop,
            document.querySelectorAll('*').length,
            [...document.images].filter((i) => i.complete).length,
            document.getAnimations().filter((a) => a.playState === 'running').length,
            [...document.querySelectorAll('.box .tile, .slide, .panel')]
                .map((t) => [t.className, t.getBoundingClientRect()]),
        ]);
        let still = 0, before = '';
        while (still < 20) {
            await new Promise(requestAnimationFrame);
            const now = look();
            still = now === before ? still + 1 : 0;
            before = now;
        }
    }""")


def focused(page):
    return page.evaluate("() => document.activeElement.index ?? null")


def opened(page):
    page.wait_for_selector("dialog.viewer[open]")


def place(page):
    return int(page.locator(".viewer .place").inner_text().split(" of ")[0].replace(",", ""))


def run(base, hiding, inbox, only):
    """Runs the tests whose names match `only`; returns how many failed."""
    Site.base, Site.hiding = base.rstrip("/") + "/", hiding.rstrip("/") + "/"
    Site.inbox = pathlib.Path(inbox)
    chosen = [function for function in tests if re.search(only, function.__name__)]
    failed = 0
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        for function in chosen:
            browser, began = Browser(chromium), time.monotonic()
            try:
                function(browser)
                browser.check()
                print(f"ok {function.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAILED {function.__name__}: {str(error)[:1500]}")
                lines = [
                    frame.lineno
                    for frame in traceback.extract_tb(error.__traceback__)
                    if frame.filename == function.__code__.co_filename
                ]
                errors = [text for page in browser.pages for text in page.errors]
                print(f"  at lines {lines}; in the console: {errors[:5]}", flush=True)
            finally:
                browser.close()
        chromium.close()
    if not chosen:
        raise SystemExit(f"No test matches {only}.")
    print(f"{len(chosen) - failed} passed, {failed} failed", flush=True)
    return failed
