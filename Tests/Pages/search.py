"""The search box, and addresses of what it finds."""

import re

from harness import TILE, Site, opened, place, settled, test


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
def a_search_ends_completions(browser):
    page = browser.open()
    held = []
    page.route("**/api/v1/complete*", lambda route: held.append(route))
    page.locator("#q").click()
    with page.expect_request("**/api/v1/complete?q=kind*"):
        page.keyboard.type("kind:image")
    with page.expect_event("requestfailed", lambda request: "complete?q=kind" in request.url):
        page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('h1').textContent === 'Found'")
    for route in held:
        route.abort()


@test
def a_search_under_way_says_so(browser):
    page = browser.open("?q=name:nothing-is-called-so", ready=".box .notice:not([hidden])")
    held = []
    page.route("**/api/v1/grid*", lambda route: held.append(route))
    page.locator("#q").fill("kind:image")
    page.keyboard.press("Enter")
    page.wait_for_selector(".box[aria-busy=true]")
    assert page.locator(".notice").is_hidden()
    # A count of what was there before is not shown for long.
    page.wait_for_function("() => getComputedStyle(document.querySelector('.count')).opacity === '0'")
    line = page.evaluate("() => document.getAnimations().map((one) => one.animationName)")
    assert "pass" in line, line
    held[0].continue_()
    page.wait_for_selector(TILE)
    page.wait_for_selector(".box[aria-busy=false]")
    assert page.locator(".notice").is_hidden()
    page.wait_for_function("() => getComputedStyle(document.querySelector('.count')).opacity === '1'")


@test
def a_search_without_an_answer_has_not_found_nothing(browser):
    page = browser.open(expected=("Failed to load resource",))
    page.route("**/api/v1/grid*", lambda route: route.fulfill(status=503, body="{}"))
    page.locator("#q").fill("kind:image")
    page.keyboard.press("Enter")
    page.wait_for_selector(".notice:has-text('503')")
    assert page.locator(".count").inner_text() == ""


@test
def only_the_last_search_is_shown(browser):
    page = browser.open()
    held = []
    page.route("**/api/v1/grid?q=name*", lambda route: held.append(route))
    for query in ("name:nothing-is-called-so", "kind:image"):
        page.locator("#q").fill(query)
        page.keyboard.press("Enter")
        page.wait_for_timeout(400)
    page.wait_for_selector(".box[aria-busy=false]")
    found = page.locator(".count").inner_text()
    held[0].continue_()
    page.wait_for_timeout(500)
    assert page.locator(".count").inner_text() == found and page.locator(".notice").is_hidden()
