"""Tests of the pages of `pipeline serve` in Chromium.

usage: pages.py URL INBOX TESTS

URL: of a server of the library that `pictures.fill` made; INBOX: the folder that a running
`pipeline watch` imports from; TESTS: a regular expression of the tests to run.
Times are printed, not tested: they are right on an idle machine only.
"""

import base64
import gzip
import importlib.util
import json
import pathlib
import re
import sys
import time
import urllib.request

from harness import TILE, Site, add, api, run, test


def in_view(page):
    """The IDs of the pictures in view, with their places."""
    return page.evaluate("""() => [...document.querySelectorAll('.box a.tile[href]')]
        .map((t) => ({
            id: t.getAttribute('href').match(/^a\\/([^?]+)/)[1],
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


@test
def b1_first_and_last_picture(browser):
    count = api("api/v1/grid")["count"]
    page = browser.open(ready=None)
    page.wait_for_function("() => [...document.images].some((i) => i.complete && i.naturalWidth)")
    first = page.evaluate("() => performance.now()")
    page.wait_for_selector(TILE)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.box img')].some((i) => i.complete && i.naturalWidth)"
    )
    print(
        f"    {count:,} assets: first pictures after {first:.0f} ms, the whole gallery after {page.evaluate('() => performance.now()'):.0f} ms"
    )
    browser.chromium.start_tracing(
        page=page,
        categories=["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"],
    )
    page.reload()
    page.wait_for_selector(TILE)
    began = time.time()
    page.keyboard.press("End")
    page.wait_for_function(
        f"() => document.activeElement.index === {count - 1} && document.activeElement.hasAttribute('href')"
    )
    print(f"    the last picture after {1000 * (time.time() - began):.0f} ms")
    last = api(f"api/v1/assets?sort=-taken&from={api('api/v1/grid')['keys'][-1]}")["assets"][-1][
        "id"
    ]
    assert last in page.evaluate("() => document.activeElement.href")
    box = page.evaluate(
        "() => { const r = document.activeElement.getBoundingClientRect(); return [r.top, r.bottom, innerHeight]; }"
    )
    assert 0 <= box[0] and box[1] <= box[2], box
    page.keyboard.press("Home")
    page.wait_for_function("() => document.activeElement.index === 0")
    # Dragging the scrubber from top to bottom and back.
    bar = page.locator(".scrubber").bounding_box()
    most = 0
    page.mouse.move(bar["x"] + 20, bar["y"] + 2)
    page.mouse.down()
    for n in range(40):
        page.mouse.move(bar["x"] + 20, bar["y"] + bar["height"] * abs(1 - abs(n / 20 - 1)))
        most = max(most, page.evaluate("() => document.querySelectorAll('*').length"))
    page.mouse.up()
    settled(page)
    events = json.loads(browser.chromium.stop_tracing())["traceEvents"]
    main = {
        (e["pid"], e["tid"])
        for e in events
        if e.get("name") == "thread_name" and e["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        e
        for e in events
        if e.get("ph") == "X" and e["name"].endswith("RunTask") and (e["pid"], e["tid"]) in main
    ]
    wall, busy = (max((e.get(k, 0) / 1000 for e in tasks), default=0) for k in ("dur", "tdur"))
    heap = page.evaluate("() => performance.memory?.usedJSHeapSize ?? 0") / 1e6
    print(
        f"    at most {most} elements; heap {heap:.0f} MB; the longest task took {wall:.0f} ms, {busy:.0f} ms of them of a processor"
    )
    assert most <= 1500
    assert page.evaluate("() => document.querySelector('.canvas').clientHeight") <= 8_000_000


@test
def b1_scrolling_reaches_every_row(browser):
    page = browser.open()
    page.evaluate("() => document.querySelector('.box').scrollTo(0, 1e9)")
    page.wait_for_function(
        f"() => [...document.querySelectorAll('.box a.tile')].some((t) => t.index === {api('api/v1/grid')['count'] - 1})"
    )
    page.evaluate(
        "() => document.querySelector('.box').scrollTo(0, document.querySelector('.canvas').clientHeight / 2)"
    )
    page.wait_for_function("() => document.querySelectorAll('.box a.tile[href]').length > 4")
    settled(page)
    before = in_view(page)
    page.mouse.move(500, 400)
    page.mouse.wheel(0, 100)
    settled(page)
    after = {t["id"]: t["top"] for t in in_view(page)}
    both = [(t["top"] - after[t["id"]]) for t in before if t["id"] in after]
    assert both and all(abs(d - 100) <= 1 for d in both), both[
        :5
    ]  # a pixel of the wheel is a pixel, also far from the ends


@test
def layout_has_no_overlap_and_no_gap(browser):
    bytes_ = base64.b64decode(api("api/v1/grid?sort=-taken")["aspects"])
    ratios = [min(4, max(0.4, 2 ** ((b - 128) / 32))) if b else 1 for b in bytes_]
    for width in (320, 1280, 2560):
        page = browser.open(width=width)
        for _ in range(6):
            tiles = page.evaluate(
                "() => [...document.querySelectorAll('.box a.tile')].sort((a, b) => a.index - b.index).map((t) => { const r = t.getBoundingClientRect(); return [t.index, r.left, r.top, r.right, r.bottom]; })"
            )
            edge = page.evaluate(
                "() => document.querySelector('.canvas').getBoundingClientRect().right"
            )
            for (n, l, t, r, b), (n2, l2, t2, r2, b2) in zip(tiles, tiles[1:]):
                assert n2 == n + 1, (n, n2)
                assert l2 >= r + 2 if abs(t2 - t) < 1 else t2 >= b + 2, (width, tiles[0])
                assert r <= edge + 0.6, (width, n, r, edge)
            for n, l, t, r, b in tiles:  # nothing is cropped, but for what whole pixels need
                assert abs((r - l) - ratios[n] * (b - t)) <= 2.5 + 0.6 * ratios[n], (
                    width,
                    n,
                    r - l,
                    b - t,
                    ratios[n],
                )
            page.keyboard.press("PageDown")
            settled(page)


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
def b7_axe(browser):
    package = pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).parent
    source = next(package.rglob("axe.min.js")).read_text()
    run = "(async () => { const r = await axe.run(); return JSON.stringify(r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html).slice(0, 3).join(' | '))); })()"
    bad = []
    # axe is a script itself: for pages without scripts, only those of the page are kept away.

    def check(page, what):
        cdp = page.context.new_cdp_session(page)  # the page's policy does not let it be injected
        cdp.send("Runtime.evaluate", {"expression": source})
        result = cdp.send(
            "Runtime.evaluate", {"expression": run, "awaitPromise": True, "returnByValue": True}
        )
        if "value" not in result["result"]:
            raise AssertionError(result)
        bad.extend(f"{what}: {v}" for v in json.loads(result["result"]["value"]))

    asset = api("api/v1/assets?limit=3")["assets"][1]["id"]
    failed = api("api/v1/assets?q=is:failed&limit=1")["assets"]
    for scheme in ("light", "dark"):
        for scripts in (True, False):
            for path in [
                "",
                "?q=kind:video",
                "?q=nothing-is-like-this",
                "?q=camra:x",
                f"a/{asset}",
                "work",
                "no-such-page",
                "login",
            ] + [f"a/{a['id']}" for a in failed]:
                page = browser.open(
                    path,
                    ready="main",
                    color_scheme=scheme,
                    unscripted=not scripts,
                    expected=("Failed to load resource",),
                )
                settled(page)
                check(page, f"{scheme} {path or 'gallery'}{'' if scripts else ' without scripts'}")
        page = browser.open(color_scheme=scheme)
        page.locator(TILE).first.click()
        opened(page)
        page.keyboard.press("i")
        page.wait_for_selector(".panel h1")
        settled(page)
        check(page, f"{scheme} viewer with facts")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog.viewer[open]", state="detached")
        page.keyboard.press("?")
        page.wait_for_selector("dialog.help[open]")
        check(page, f"{scheme} help")
        page.keyboard.press("Escape")
        page.locator("#q").fill("cam")
        page.wait_for_selector("#options:not([hidden])")
        check(page, f"{scheme} completions")
    assert not bad, "\n      ".join(["axe:"] + bad)


@test
def b7_without_scripts(browser):
    page = browser.open(ready=".tiles img", java_script_enabled=False)
    shown = page.locator(".tiles .tile").count()
    assert 20 <= shown <= 100, shown
    first = page.locator(".tiles .tile").first.get_attribute("href")
    page.locator("a[rel=next]").click()
    page.wait_for_url("**after=**")
    assert page.locator(".tiles .tile").first.get_attribute("href") != first
    page.locator("#q").fill("kind:image")
    page.locator("#search button").click()
    page.wait_for_url("**q=kind**")
    assert page.locator(".tiles .tile").count() > 0
    page.locator(".tiles .tile:has(img)").first.click()
    page.wait_for_selector(".stage img")
    one = page.url
    assert page.locator(".facts dl").count() >= 1
    page.locator("a[rel=next]").click()
    page.wait_for_load_state()
    assert page.url != one
    page.locator("a[rel=prev]").click()
    page.wait_for_load_state()
    assert page.url == one
    page.locator(".places a", has_text="Work").click()
    page.wait_for_selector(".stages tbody tr")


@test
def b8_a_new_asset_appears_without_a_jump(browser):
    page = browser.open(ready=TILE + " img")
    for depth in (0, 3):
        page.evaluate("(n) => document.querySelector('.box').scrollTo(0, n * innerHeight)", depth)
        settled(page)
        before = in_view(page)
        count = page.locator(".count strong").text_content()
        began = time.time()
        name = add()
        page.wait_for_function(
            "(old) => document.querySelector('.count strong').textContent !== old", arg=count
        )
        if depth == 0:
            page.wait_for_function(
                "(name) => [...document.querySelectorAll('.box .tile')].some((t) => t.textContent.includes(name) || t.querySelector('img')?.alt === name)",
                arg=name,
            )
        print(f"    there after {1000 * (time.time() - began):.0f} ms")
        settled(page)
        after = {t["id"]: t for t in in_view(page)}
        moved = [
            t["id"]
            for t in before
            if t["id"] not in after
            or abs(after[t["id"]]["top"] - t["top"]) > 1
            or abs(after[t["id"]]["left"] - t["left"]) > 1
        ]
        assert before and not moved, f"{len(moved)} of {len(before)} moved"
    page.locator(".more").click()
    page.wait_for_function("() => document.querySelector('.box').scrollTop === 0")


@test
def b8_the_active_picture_stays_active(browser):
    page = browser.open(ready=TILE + " img")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    href = page.evaluate("() => document.activeElement.href")
    index = focused(page)
    add()
    page.wait_for_function("(old) => document.activeElement.index === old + 1", arg=index)
    assert page.evaluate("() => document.activeElement.href") == href


@test
def b9_bytes_and_origins(browser):
    page = browser.open()
    scripts = [u for u in page.requests if "/static/" in u]
    files = [urllib.request.urlopen(u).read() for u in sorted(set(scripts))]
    size, small = sum(map(len, files)), sum(len(gzip.compress(f, 9)) for f in files)
    print(f"    {len(files)} files, {size:,} bytes of source, {small:,} compressed one by one")
    assert small < 60_000
    page.goto(Site.base + "work")
    settled(page)


@test
def keyboard_in_the_gallery(browser):
    page = browser.open(ready=TILE + " img")
    page.keyboard.press("ArrowRight")
    assert focused(page) == 0
    page.keyboard.press("ArrowRight")
    assert focused(page) == 1
    page.keyboard.press("ArrowLeft")
    assert focused(page) == 0
    page.keyboard.press("ArrowDown")
    down = focused(page)
    assert down > 0
    page.keyboard.press("ArrowUp")
    assert focused(page) < down
    page.keyboard.press("PageDown")
    settled(page)
    far = focused(page)
    assert far is None or far > down
    page.wait_for_function("() => document.activeElement.index > 0")
    page.keyboard.press("PageUp")
    page.wait_for_function("() => document.activeElement.index !== undefined")
    page.keyboard.press("End")
    page.wait_for_function("() => document.activeElement.index > 100")
    page.keyboard.press("Home")
    page.wait_for_function("() => document.activeElement.index === 0")
    page.keyboard.press("Enter")
    opened(page)
    assert place(page) == 1
    page.keyboard.press("Escape")
    page.wait_for_function(
        "() => !document.querySelector('dialog.viewer').open && document.activeElement.index === 0"
    )
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "q"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.id") != "q"
    page.keyboard.press("?")
    page.wait_for_selector("dialog.help[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.help", state="detached")


@test
def keyboard_in_the_viewer(browser):
    page = browser.open(ready=TILE + " img")
    page.locator(TILE + ":has(img):not(:has(.badge))").nth(1).click()
    opened(page)
    at = place(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        f"() => document.querySelector('.place').textContent.startsWith('{at + 1} ')"
    )
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        f"() => document.querySelector('.place').textContent.startsWith('{at} ')"
    )
    page.keyboard.press("i")
    page.wait_for_selector(".panel h1")
    page.keyboard.press("i")
    page.wait_for_selector(".panel", state="hidden")
    page.keyboard.press("z")
    page.wait_for_selector(".slide.zoomed")
    page.keyboard.press("z")
    page.wait_for_selector(".slide.zoomed", state="detached")
    with page.expect_download() as download:
        page.keyboard.press("d")
    assert download.value.suggested_filename
    page.keyboard.press("End")
    page.wait_for_function(
        "() => { const [a, b] = document.querySelector('.place').textContent.split(' of '); return a === b; }"
    )
    page.keyboard.press("Home")
    page.wait_for_function("() => document.querySelector('.place').textContent.startsWith('1 of')")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('dialog.viewer').open")


@test
def the_viewer_opens_without_a_jump(browser):
    page = browser.open(ready=TILE + " img", reduced_motion="no-preference")
    settled(page)
    tile = page.locator(TILE + ":has(img)").nth(2)
    box = tile.bounding_box()
    tile.evaluate(
        "(t) => { t.click(); for (const a of document.getAnimations()) { a.pause(); a.currentTime = 0; } }"
    )
    frame = page.locator(".slide:not([inert]) .frame").bounding_box()
    middle = lambda b: (b["x"] + b["width"] / 2, b["y"] + b["height"] / 2)
    (x, y), (fx, fy) = middle(box), middle(frame)
    assert abs(x - fx) < 3 and abs(y - fy) < 3, (box, frame)
    assert abs(frame["height"] - box["height"]) < 0.05 * box["height"] + 3, (box, frame)


@test
def the_url_is_the_state(browser):
    page = browser.open(ready=TILE + " img")
    page.evaluate("() => document.querySelector('.box').scrollTo(0, 900)")
    settled(page)
    top = page.evaluate("() => document.querySelector('.box').scrollTop")
    page.locator("#q").fill("kind:image")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=kind%3Aimage")
    page.wait_for_function("() => document.querySelector('h1').textContent === 'Found'")
    page.locator(TILE).nth(3).click()
    opened(page)
    url = page.url
    assert re.search(r"/a/[^/?]+\?q=kind", url)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(old) => location.href !== old", arg=url)
    page.go_back()
    page.wait_for_function("() => !document.querySelector('dialog.viewer').open")
    assert page.url.endswith("?q=kind%3Aimage")
    page.go_back()
    page.wait_for_url(Site.base)
    page.wait_for_function(
        "(top) => Math.abs(document.querySelector('.box').scrollTop - top) < 2", arg=top
    )
    page.go_forward()
    page.wait_for_function("() => document.querySelector('#q').value === 'kind:image'")
    # A picture's address opens it where it is in that order, and Escape leads to the gallery.
    page.goto(url)
    opened(page)
    at = place(page)
    assert at == 4, at
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelector('.place').textContent.startsWith('3 ')")
    page.keyboard.press("Escape")
    page.wait_for_url("**/?q=kind%3Aimage")
    page.wait_for_function("() => document.activeElement.index === 2")
    page.goto(Site.base + "?sort=taken")
    page.wait_for_selector(TILE)
    assert page.locator(".sort select").input_value() == "taken"
    page.locator(".sort select").select_option("name")
    page.wait_for_url("**sort=name")


@test
def a_query_that_is_wrong_says_so(browser):
    page = browser.open(
        "?q=camra:x", ready=".notice:not([hidden])", expected=("Failed to load resource",)
    )
    page.wait_for_selector(".box .notice")
    assert "camra" in page.locator(".notice").inner_text()
    page.locator("#q").fill("")
    page.keyboard.press("Enter")
    page.wait_for_selector(TILE)
    assert page.locator(".notice").is_hidden()


@test
def completions(browser):
    page = browser.open()
    page.locator("#q").click()
    page.keyboard.type("kind:image ca")
    page.wait_for_selector("#options li:has-text('camera:')")
    page.keyboard.press("ArrowDown")
    assert page.locator("#q").get_attribute("aria-activedescendant") == "option-0"
    text = page.locator("#option-0 .word").inner_text()
    page.keyboard.press("Enter")
    assert page.locator("#q").input_value().strip() == "kind:image " + text
    page.keyboard.press("Escape")
    assert page.locator("#options").is_hidden()


@test
def the_scrubber_is_exact(browser):
    grid = api("api/v1/grid?sort=-taken")
    page = browser.open()
    years = page.evaluate(
        "() => [...document.querySelectorAll('.years span')].map((s) => [s.textContent, s.getBoundingClientRect().top])"
    )
    assert years
    bar = page.locator(".scrubber").bounding_box()
    for year, top in years[1:4]:
        page.mouse.click(bar["x"] + bar["width"] / 2, top + 1)
        settled(page)
        assert (
            page.evaluate("() => document.querySelector('.scrubber').ariaValueText").endswith(year)
            or len(years) > 8
        )
    page.locator(".scrubber").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    settled(page)
    second = grid["days"][1][0]
    heading = page.evaluate(
        "(d) => document.querySelector(`h2 a[href='day/${d}']`)?.getBoundingClientRect().top",
        second,
    )
    assert heading is not None


@test
def zoom_loads_tiles(browser):
    page = browser.open(ready=TILE + " img")
    asked = []
    page.on("request", lambda r: asked.append(r.url) if "/iiif/" in r.url else None)
    served = next(
        asset["id"]
        for asset in api("api/v1/assets?limit=512")["assets"]
        if asset["width"] and max(asset["width"], asset["height"]) > 2500
    )
    page.goto(Site.base + f"a/{served}")
    opened(page)
    settled(page)
    page.keyboard.press("z")
    page.wait_for_selector(".piece.ready", timeout=20000)
    assert any("/0/default.jpg" in u for u in asked)
    page.mouse.move(640, 400)
    page.mouse.wheel(0, -300)
    page.mouse.down()
    page.mouse.move(500, 300, steps=5)
    page.mouse.up()
    settled(page)
    assert page.locator(".piece").count() < 80
    page.keyboard.press("0")
    settled(page)
    assert page.locator(".piece").count() == 0


@test
def zoom_without_tiles_says_so(browser):
    page = browser.open(ready=TILE + " img", expected=("Failed to load resource",))
    page.route("**/iiif/**", lambda route: route.fulfill(status=404, body="{}"))
    page.locator(TILE + ":has(img):not(:has(.badge))").nth(1).click()
    opened(page)
    settled(page)
    page.keyboard.press("z")
    page.wait_for_selector(".viewer .toast")
    assert "preview" in page.locator(".toast").inner_text()


@test
def swipe_and_pinch(browser):
    page = browser.open(width=390, height=844, has_touch=True, is_mobile=True, ready=TILE + " img")
    page.locator(TILE + ":has(img):not(:has(.badge))").nth(1).tap()
    opened(page)
    at = place(page)
    cdp = page.context.new_cdp_session(page)
    touch = lambda kind, points: cdp.send(
        "Input.dispatchTouchEvent",
        {
            "type": kind,
            "touchPoints": [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)],
        },
    )

    def swipe(x1, y1, x2, y2):
        touch("touchStart", [(x1, y1)])
        for n in range(1, 9):
            touch("touchMove", [(x1 + (x2 - x1) * n / 8, y1 + (y2 - y1) * n / 8)])
        touch("touchEnd", [])

    swipe(340, 400, 60, 410)
    page.wait_for_function(
        f"() => document.querySelector('.place').textContent.startsWith('{at + 1} ')"
    )
    swipe(60, 400, 340, 410)
    page.wait_for_function(
        f"() => document.querySelector('.place').textContent.startsWith('{at} ')"
    )
    touch("touchStart", [(180, 400), (210, 430)])
    for n in range(1, 8):
        touch("touchMove", [(180 - 14 * n, 400 - 14 * n), (210 + 14 * n, 430 + 14 * n)])
    touch("touchEnd", [])
    page.wait_for_selector(".slide.zoomed")
    assert place(page) == at
    page.keyboard.press("0")
    page.wait_for_selector(".slide.zoomed", state="detached")
    swipe(195, 300, 200, 620)
    page.wait_for_function("() => !document.querySelector('dialog.viewer').open")


@test
def narrow_pages_do_not_scroll_sideways(browser):
    asset = api("api/v1/assets?limit=1")["assets"][0]["id"]
    for scripts in (True, False):
        for path in ("", "?q=kind:image", "work", f"a/{asset}", "no-such-page", "login"):
            page = browser.open(
                path,
                width=320,
                height=568,
                ready="main",
                java_script_enabled=scripts,
                expected=("Failed to load resource",),
            )
            if scripts:  # without, there are no frames to wait for
                settled(page)
            wide = (
                page.evaluate("() => document.documentElement.scrollWidth")
                if scripts
                else page.locator("html").evaluate("(e) => e.scrollWidth")
            )
            assert wide <= 320, (path, scripts, wide)


@test
def edits(browser):
    page = browser.open(ready=TILE + " img")
    allowed = (page.locator("body").get_attribute("data-allow") or "").split()
    assert "tag" in allowed and "trash" in allowed
    page.locator(TILE + ":has(img)").nth(2).click()
    opened(page)
    page.keyboard.press("i")
    page.wait_for_selector(".panel .add input")
    page.locator(".panel .add input").fill("z i d <b>")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel .tags li:has-text('z i d <b>')")
    assert page.evaluate("() => document.activeElement.name") == "tag"
    page.locator(".panel .tags li:has-text('z i d <b>') button").click()
    page.wait_for_function(
        "() => ![...document.querySelectorAll('.panel .tags li')].some((l) => l.textContent.includes('<b>'))"
    )
    page.locator(".panel .stars button").nth(3).click()
    page.wait_for_function(
        "() => document.querySelectorAll('.panel .stars [aria-pressed=true]').length === 4"
    )
    page.locator(".panel .stars button").nth(3).click()
    page.wait_for_function(
        "() => document.querySelectorAll('.panel .stars [aria-pressed=true]').length === 0"
    )
    name = page.locator(".panel h1").inner_text()
    at = place(page)
    count = api("api/v1/grid")["count"]
    page.locator(".viewer .trash-icon").click()
    page.wait_for_selector(".toast:has-text('in the trash')")
    page.wait_for_function(
        "(old) => document.querySelector('.panel h1')?.innerText !== old", arg=name
    )
    page.locator(".toast button").click()
    page.wait_for_selector(".toast:has-text('is back')")
    assert api("api/v1/grid")["count"] == count


@test
def the_dashboard_lives(browser):
    page = browser.open("work", ready=".stages tbody tr")
    page.locator(".wide").first.focus()
    before = page.locator(".stages tbody tr").last.inner_text()
    add()
    page.wait_for_function(
        "(old) => [...document.querySelectorAll('.stages tbody tr')].at(-1).innerText !== old",
        arg=before,
    )
    assert page.evaluate("() => document.activeElement.className") == "wide"  # the focus stays
    page.locator(".retry").first.click()
    page.wait_for_selector(".toast")


@test
def a_library_that_is_gone_says_so(browser):
    page = browser.open(ready=TILE + " img", expected=("Failed to load resource", "ERR_"))
    page.route(
        "**/api/v1/**",
        lambda route: route.fulfill(
            status=503,
            content_type="application/json",
            body='{"error":{"code":"busy","message":"The library is being restored."}}',
        ),
    )
    page.locator("#q").fill("x")
    page.keyboard.press("Enter")
    page.wait_for_selector(".notice:has-text('being restored')")


if __name__ == "__main__":
    sys.exit(1 if run(*sys.argv[1:]) else 0)
