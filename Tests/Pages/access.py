"""Pages for everybody: screen readers, browsers without scripts, narrow screens, fingers."""

import importlib.util
import json
import pathlib

from harness import TILE, Site, api, opened, settled, test


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
def fingers_can_hit_everything(browser):
    asset = next(a for a in api("api/v1/assets?limit=99")["assets"] if a["preview"])["id"]
    page = browser.open(
        f"a/{asset}",
        width=390,
        height=844,
        has_touch=True,
        is_mobile=True,
        ready=".viewer[open]",
        expected=("Failed to load resource",),
    )
    page.keyboard.press("i")
    page.wait_for_selector(".panel .add input")
    page.locator(".panel .add input").fill("to hit")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel .tags li")
    small = """() => [...document.querySelectorAll('a, button, input, select')]
        .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.matches('.skip'))
        .map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
        .filter(([, r]) => r.width < 44 || r.height < 44)
        .map(([text, r]) => `${text} ${r.width} x ${r.height}`)"""
    found = page.evaluate(small)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector(".help[open]")
    found += page.evaluate(small)
    for path in ("work", "login", "no-such-page"):
        page.goto(Site.base + path)
        page.wait_for_selector("main")
        found += page.evaluate(small)
    assert not found, "\n      ".join(["too small:"] + found)


@test
def wide_screens_are_filled(browser):
    page = browser.open(width=3840, height=2160, ready=TILE + " img")
    settled(page)
    right = max(
        page.evaluate(
            "() => [...document.querySelectorAll('.box .tile')].map((t) => t.getBoundingClientRect().right)"
        )
    )
    assert right > 0.9 * 3840, right
    assert page.evaluate("() => document.querySelectorAll('*').length") <= 1500
