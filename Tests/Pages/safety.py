"""What pages may do: names are text, nothing comes from elsewhere, and little is sent."""

import re
import urllib.request

from harness import TILE, Site, api, opened, settled, test


@test
def b5_names_are_text(browser):
    assert api("api/v1/assets?q=script&limit=5")["assets"], "the library has no name with markup"
    for path in (
        "?q=script",
        "?q=onerror",
        "?q=onmouseover",
        "?q=%3Cscript%3Ealert(9)%3C/script%3E",
    ):
        page = browser.open(path, ready=".box")
        settled(page)
        if page.locator(TILE).count():
            page.locator(TILE).first.click()
            opened(page)
            page.keyboard.press("i")
            page.wait_for_selector(".panel h1")
            assert re.search("script|onerror|onmouseover", page.locator(".panel h1").inner_text())
        assert page.evaluate("() => document.scripts.length") == 1
        settled(page)


@test
def originals_are_not_offered_where_places_are_hidden(browser):
    video = next(a for a in api("api/v1/assets?q=kind:video")["assets"] if a["name"] == "film.mp4")
    for site, count in ((Site.base, 1), (Site.hiding, 0)):
        page = browser.open(f"a/{video['id']}", ready="dialog.viewer[open] .slide", site=site)
        opened(page)
        page.wait_for_function(
            f"() => document.querySelectorAll('.slide:not([inert]) video').length === {count}"
        )
        assert page.locator(".download-icon").count() == count
        assert page.locator(".slide:not([inert]) .film").count() == 1 - count
        page.keyboard.press("d")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog.viewer[open]", state="detached")
        settled(page)
        asked = [url for url in page.requests if "/o/" in url]
        assert bool(asked) == bool(count), asked


@test
def b9_bytes_and_origins(browser):
    page = browser.open()
    files = sorted({u for u in page.requests if re.search(r"/static/.*\.(js|css)$", u)})
    plain = packed = 0
    for url in files:
        asked = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(url) as answer, urllib.request.urlopen(asked) as small:
            plain += len(answer.read())
            packed += len(small.read())
    print(f"    {len(files)} files, {packed:,} bytes as browsers get them, {plain:,} unpacked")
    assert packed < 30_000 and plain <= 60_000
    page.goto(Site.base + "work")
    settled(page)
