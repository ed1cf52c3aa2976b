"""The gallery: its rows, its scrubber, and its keys."""

import base64
import json
import time

from harness import TILE, api, focused, in_view, opened, place, settled, test


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
def a_phone_has_room_for_all(browser):
    page = browser.open(width=380, has_touch=True, is_mobile=True)
    box = "(e) => e.getBoundingClientRect().toJSON()"
    order = page.locator(".sort").evaluate(box)
    top = page.locator(".scrubber").evaluate("(e) => parseFloat(getComputedStyle(e).top)")
    # Half of its hand is above the place that it shows.
    assert top - 24 >= order["bottom"], (top, order)
    assert page.locator(".years").evaluate("(e) => getComputedStyle(e).whiteSpace") == "nowrap"
    link = page.locator("h2.day a").first
    assert link.evaluate("(e) => getComputedStyle(e).textOverflow") == "ellipsis"
    page.locator(TILE).first.click()
    opened(page)
    page.keyboard.press("i")
    row = page.locator(".panel .facts dl div").first
    assert row.evaluate("(e) => getComputedStyle(e).alignItems") == "baseline"
