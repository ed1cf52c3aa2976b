"""The viewer: one picture, its zoom, its facts and their edits."""

from harness import TILE, Site, api, opened, place, settled, test


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


def fingers(page):
    """Returns what sends a touch event with the places of all fingers."""
    session = page.context.new_cdp_session(page)
    return lambda kind, places: session.send(
        "Input.dispatchTouchEvent",
        {
            "type": kind,
            "touchPoints": [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(places)],
        },
    )


def swipe(page, x1, y1, x2, y2):
    touch = fingers(page)
    touch("touchStart", [(x1, y1)])
    for n in range(1, 9):
        touch("touchMove", [(x1 + (x2 - x1) * n / 8, y1 + (y2 - y1) * n / 8)])
    touch("touchEnd", [])


@test
def swipe_and_pinch(browser):
    page = browser.open(width=390, height=844, has_touch=True, is_mobile=True, ready=TILE + " img")
    page.locator(TILE + ":has(img):not(:has(.badge))").nth(1).tap()
    opened(page)
    at = place(page)
    touch = fingers(page)
    swipe(page, 340, 400, 60, 410)
    page.wait_for_function(
        f"() => document.querySelector('.place').textContent.startsWith('{at + 1} ')"
    )
    swipe(page, 60, 400, 340, 410)
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
    swipe(page, 195, 300, 200, 620)
    page.wait_for_function("() => !document.querySelector('dialog.viewer').open")


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


def film(name):
    return next(a for a in api("api/v1/assets?q=kind:video")["assets"] if a["name"] == name)["id"]


@test
def films_play(browser):
    for name in ("film.mp4", "film.mov", "film.webm"):
        page = browser.open(f"a/{film(name)}", ready="dialog.viewer[open] video")
        # Its controls, its first frame and its length are there before anything is asked for.
        page.wait_for_function("() => document.querySelector('video').duration > 1.5")
        assert page.evaluate("() => document.querySelector('video').paused")
        assert page.locator("video").get_attribute("poster").startswith("r/")
        page.keyboard.press("Space")
        page.wait_for_function("() => document.querySelector('video').currentTime > 0.2")
        page.keyboard.press("Space")
        page.wait_for_function("() => document.querySelector('video').paused")
        # A part of the file, which the browser asks for when it goes somewhere else in the film.
        page.evaluate("() => { document.querySelector('video').currentTime = 1.5 }")
        page.wait_for_function("() => !document.querySelector('video').seeking")
        page.evaluate("() => document.querySelector('video').play()")
        at = place(page)
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(
            f"() => !document.querySelector('.place').textContent.startsWith('{at} ')"
        )
        assert page.evaluate(
            "() => [...document.querySelectorAll('.slide[inert] video')].every((v) => v.paused)"
        )
        page.keyboard.press("Escape")
        page.wait_for_function("() => !document.querySelector('video')")


@test
def films_that_the_browser_cannot_play_say_so(browser):
    page = browser.open(f"a/{film('film.avi')}", ready="dialog.viewer[open] .film")
    assert "download" in page.locator(".film").inner_text()
    assert page.locator("video").count() == 0
    # What it thought it could play turns out to be damaged.
    page = browser.open(ready=TILE + " img", expected=("Failed to load resource",))
    page.route("**/o/*", lambda route: route.fulfill(body="no film", content_type="video/mp4"))
    page.goto(Site.base + f"a/{film('film.mp4')}")
    page.wait_for_selector("dialog.viewer[open] .film")
    assert page.locator("video").count() == 0


@test
def films_play_without_scripts(browser):
    page = browser.open(
        f"a/{film('film.mp4')}", ready=".stage video", java_script_enabled=False
    )
    page.locator(".stage video").evaluate(
        "(v) => new Promise((done, fail) => { v.onerror = fail; if (v.readyState) done(); else v.onloadedmetadata = done; })"
    )


@test
def a_swipe_over_a_film_goes_on(browser):
    page = browser.open(
        f"a/{film('film.mp4')}",
        width=390,
        height=844,
        has_touch=True,
        is_mobile=True,
        ready="dialog.viewer[open] video",
    )
    at = place(page)
    box = page.locator("video").bounding_box()
    y = box["y"] + 40
    swipe(page, 340, y, 60, y + 5)
    page.wait_for_function(
        f"() => document.querySelector('.place').textContent.startsWith('{at + 1} ')"
    )
