"""Changes of the library while a page is open."""

import datetime
import os
import pathlib
import time

from harness import TILE, add, api, change, focused, in_view, settled, test


def moved(before, after):
    """The pictures that were in view and are not where they were."""
    places = {t["id"]: t for t in after}
    return [
        t
        for t in before
        if t["id"] not in places
        or abs(places[t["id"]]["top"] - t["top"]) > 1
        or abs(places[t["id"]]["left"] - t["left"]) > 1
        or abs(places[t["id"]]["width"] - t["width"]) > 1
    ]


def scroll(page, views):
    page.evaluate("(n) => document.querySelector('.box').scrollTo(0, n * innerHeight)", views)
    settled(page)


def count(page):
    return int(page.locator(".count strong").text_content().replace(",", ""))


def wait_for_count(page, number):
    page.wait_for_function(
        "(n) => document.querySelector('.count strong').textContent.replace(',', '') === `${n}`",
        arg=number,
    )
    settled(page)


def up_to_date(page):
    """Waits until no stage has work left and the page shows what came of it: a picture is counted as soon
    as it is imported, but its shape, and with it its row, is known only once it has been identified."""
    deadline = time.monotonic() + 30
    while left := work_left():
        assert time.monotonic() < deadline, f"there is work left: {left}"
        time.sleep(0.05)
    # Playwright's own wait takes the promise of an answer for an answer.
    while not shows_last_revision(page):
        assert time.monotonic() < deadline, "the page does not show the last revision"
        time.sleep(0.05)
    settled(page)


def work_left():
    stages = api("api/v1/status")["jobs"]
    return {
        stage: jobs for stage, jobs in stages.items() if jobs["ready"] + jobs["running"] + jobs["waiting"]
    }


def shows_last_revision(page):
    return page.evaluate("""async () => {
        const grid = await import(new URL("grid.js", document.querySelector("script[type=module]").src));
        const { revision } = await (await fetch("api/v1/grid")).json();
        return grid.revision === revision;
    }""")


@test
def b8_a_new_asset_appears_without_a_jump(browser):
    page = browser.open(ready=TILE + " img")
    for depth in (0, 3):
        scroll(page, depth)
        before, known = in_view(page), count(page)
        began = time.time()
        name = add()
        page.wait_for_function(
            "(old) => document.querySelector('.count strong').textContent !== old", arg=str(known)
        )
        if depth == 0:
            page.wait_for_function(
                "(name) => [...document.querySelectorAll('.box .tile')].some((t) => t.textContent.includes(name) || t.querySelector('img')?.alt === name)",
                arg=name,
            )
        print(f"    there after {1000 * (time.time() - began):.0f} ms")
        settled(page)
        gone = moved(before, in_view(page))
        assert before and not gone, f"{len(gone)} of {len(before)} moved"
    # Rows that a later change keeps as they are would differ from those of a new page.
    up_to_date(page)
    text = page.locator(".more").inner_text()
    assert text == "2 new ↑", text
    page.locator(".more").click()
    page.wait_for_function("() => document.querySelector('.box').scrollTop === 0")
    assert page.locator(".more").is_hidden()
    settled(page)
    # In order, as a new page would show them.
    old = in_view(page)
    page.reload()
    page.wait_for_selector(TILE)
    settled(page)
    assert not moved(old, in_view(page))


@test
def b8_many_at_once_and_below_move_nothing(browser):
    page = browser.open(ready=TILE + " img")
    scroll(page, 2)
    before, known = in_view(page), count(page)
    for _ in range(5):
        add()
    for _ in range(3):  # older than all others
        add(datetime.datetime(1999, 1, 1, 12))
    wait_for_count(page, known + 8)
    # They are counted before their dates are known, which bring them above the view.
    page.wait_for_selector(".more:has-text('5 new ↑')")
    settled(page)
    assert before and not moved(before, in_view(page))


@test
def b8_a_picture_among_those_in_view_moves_only_what_is_behind_it(browser):
    page = browser.open(ready=TILE + " img")
    scroll(page, 1)
    before, known = in_view(page), count(page)
    # Between two pictures, in a row that has something above and below it.
    rows = sorted({t["top"] for t in before if t["top"] > 120})
    row = [t for t in before if t["top"] == rows[1]]
    taken = api(f"api/v1/assets?from={row[0]['id']}&limit=1")["assets"][0]["taken"]
    name = add(datetime.datetime.fromisoformat(taken) - datetime.timedelta(seconds=1))
    wait_for_count(page, known + 1)
    page.wait_for_function(
        "([name, index]) => [...document.querySelectorAll('.box .tile')].some((t) => t.index === index && t.querySelector('img')?.alt === name)",
        arg=[name, row[0]["index"] + 1],
    )
    settled(page)
    after = in_view(page)
    above = [t for t in before if t["top"] < rows[1]]
    assert above and not moved(above, after)
    # Rows below are the same rows, all moved by as much.
    below = [t for t in before if t["top"] > rows[1]]
    places = {t["id"]: t for t in after}
    by = {
        (round(places[t["id"]]["top"] - t["top"]), round(places[t["id"]]["left"] - t["left"]))
        for t in below
        if t["id"] in places
    }
    assert len(by) <= 1 and all(left == 0 for _, left in by), by


@test
def b8_a_picture_that_goes_moves_nothing_above_it(browser):
    page = browser.open(ready=TILE + " img")
    scroll(page, 1)
    before, known = in_view(page), count(page)
    rows = sorted({t["top"] for t in before if t["top"] > 120})
    last = [t for t in before if t["top"] == rows[-1]][-1]
    change(last["id"], trash=True)
    wait_for_count(page, known - 1)
    above = [t for t in before if t["top"] < rows[-1]]
    assert above and not moved(above, in_view(page))
    # The newest is far above the view.
    before = in_view(page)
    change(api("api/v1/assets?limit=1")["assets"][0]["id"], trash=True)
    wait_for_count(page, known - 2)
    assert not moved(before, in_view(page))


@test
def b8_rows_are_in_order_again_once_they_are_out_of_sight(browser):
    page = browser.open(ready=TILE + " img")
    for _ in range(3):
        known = count(page)
        add()
        wait_for_count(page, known + 1)
    height = "() => document.querySelector('.canvas').clientHeight"
    fresh = browser.open().evaluate(height)
    assert page.evaluate(height) != fresh  # the new picture has a row of its own
    page.keyboard.press("End")
    page.wait_for_function(f"(fresh) => ({height})() === fresh", arg=fresh)


@test
def b8_rows_that_are_kept_stay_as_they_are(browser):
    page = browser.open()
    address = next(u for u in page.requests if u.endswith("/layout.js"))
    check = pathlib.Path(__file__).with_name("rows.js").read_text()
    seed = int(os.environ.get("PIPELINE_SEED", time.time_ns() % 2**32))
    print(f"    PIPELINE_SEED={seed}")
    kept = page.evaluate(check, {"address": address, "seed": seed, "rounds": 400})
    assert kept > 400


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
