"""The workbench as a person uses it, in a real browser."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import AXE

pytestmark = pytest.mark.browser

SHOTS = os.environ.get("SHOTS")  # a folder for pictures of what was tested


def shoot(page: Any, name: str, **more: Any) -> None:
    if SHOTS:
        page.wait_for_timeout(250)
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), **more)


def check_access(page: Any) -> None:
    """Let axe look for what people who use keys or a screen reader could not do."""
    if not AXE.exists():
        pytest.skip("no axe-core here: cd workbench && npm install")
    page.evaluate(AXE.read_text(encoding="utf_8"))  # as a script of the browser, not of the page
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(one => one.violations)")
    said = [f"{one['id']}: {[node['target'] for node in one['nodes']][:3]}" for one in found]
    assert not said, "\n".join(said)


def wait_until(page: Any, expression: str, *given: Any) -> None:
    """Wait until something is true in the page; its policy lets it evaluate nothing, so it is asked from here."""
    for _ in range(400):
        if page.evaluate(expression, *given):
            return
        page.wait_for_timeout(50)
    raise AssertionError(expression)


def open_page(page: Any, address: str, hash: str = "") -> None:
    page.goto(address + hash)
    page.wait_for_selector(".cm-content")
    page.wait_for_selector(".automaton svg")


def write(page: Any, text: str) -> None:
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def run(page: Any) -> None:
    page.click("button.primary")
    page.wait_for_selector(".result circle.dot")


def choose_point(page: Any, number: int = 5) -> None:
    page.wait_for_timeout(300)  # a chart that has just changed is drawn
    dot = page.locator(".result circle.dot").nth(number)
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("path.arc")


def test_an_error_comes_and_goes(page: Any, address: str) -> None:
    open_page(page, address)
    write(page, "RETURN COUNT(*) PATTERN Stock S+ WHERE S.prise > 3")
    page.wait_for_selector(".faults >> text=did you mean 'price'?")
    page.wait_for_selector(".cm-lintRange-error")
    shoot(page, "error")
    check_access(page)
    page.click(".faults button")  # selects the place
    page.keyboard.insert_text("price")
    wait_until(page, "!document.querySelector('.faults li') && !document.querySelector('.cm-lintRange-error')")
    assert "S.price > 3" in page.inner_text(".cm-content")


def test_complete_an_attribute(page: Any, address: str) -> None:
    open_page(page, address)
    write(page, "RETURN COUNT(*) PATTERN Stock S+ WHERE S")
    page.keyboard.type(".pr")
    page.wait_for_selector(".cm-tooltip-autocomplete >> text=price")
    shoot(page, "completion")
    page.wait_for_timeout(150)  # CodeMirror takes no key right after the list appears
    page.keyboard.press("Enter")
    assert page.inner_text(".cm-content").endswith("S.price")


def test_run_and_look_behind(page: Any, address: str) -> None:
    open_page(page, address)
    run(page)
    page.wait_for_selector(".status:has-text('143 rows')")
    choose_point(page)
    shoot(page, "workbench", full_page=True)
    check_access(page)
    said = page.inner_text("text=drawn at random")
    assert "12 of" in said
    first = page.locator("path.arc").first.get_attribute("d")
    page.click("text=Draw again")
    wait_until(page, "(old) => document.querySelector('path.arc')?.getAttribute('d') !== old", first)
    page.click("button:has-text('longest')")
    page.wait_for_selector("text=the longest")
    page.click("text=Why so few?")
    page.wait_for_selector(".why table")
    shoot(page, "why", full_page=True)
    check_access(page)


def test_a_link_shows_the_same(page: Any, address: str, browser: Any) -> None:
    open_page(page, address)
    run(page)
    page.select_option("label:has-text('Scale') select", "linear")
    choose_point(page)
    seen = [page.inner_text(".readout >> nth=0"), page.inner_text(".cm-content")]
    arcs = page.locator("path.arc").first.get_attribute("d")
    where = page.url
    other = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    other.goto(where)
    other.wait_for_selector("path.arc")
    wait_until(other, "document.querySelector('.readout').textContent.includes('window from')")
    assert [other.inner_text(".readout >> nth=0"), other.inner_text(".cm-content")] == seen
    assert other.locator("path.arc").first.get_attribute("d") == arcs
    assert other.eval_on_selector("label:has-text('Scale') select", "one => one.value") == "linear"
    other.context.close()


def test_table(page: Any, address: str) -> None:
    open_page(page, address)
    run(page)
    page.click("button:has-text('Table')")
    page.click("th button:has-text('count')")
    page.wait_for_selector("th[aria-sort=descending]")
    cells = page.locator("td.number:nth-child(4)").all_inner_texts()
    counts = [float(one.replace(",", "")) for one in cells]
    assert len(counts) == 100 and counts == sorted(counts, reverse=True)
    shoot(page, "table")
    check_access(page)
    with page.expect_download() as download:
        page.click("text=CSV")
    assert Path(download.value.path()).read_text().count("\n") == 144


def test_data(page: Any, address: str) -> None:
    open_page(page, address)
    page.select_option("#data", "file:events/clicks.parquet")
    page.click("button:has-text('Data')")
    page.wait_for_selector("text=3,000 events")
    shoot(page, "data", full_page=True)
    check_access(page)


def test_funnel(page: Any, address: str) -> None:
    open_page(page, address)
    page.click("nav >> text=Funnel")
    wait_until(page, "document.querySelectorAll('.steps input').length === 3")
    page.wait_for_selector(".bars svg")
    page.click("button.primary")
    page.wait_for_selector(".funnelbars")
    assert page.locator(".funnelbars li").count() == 3
    shoot(page, "funnel", full_page=True)
    check_access(page)
    page.click(".funnelbars >> text=KindleCase")
    page.wait_for_selector(".automaton svg")
    assert "PATTERN SEQ(Search" in page.inner_text(".cm-content")


def test_workload(page: Any, address: str) -> None:
    open_page(page, address)
    page.click("nav >> text=Workload")
    page.wait_for_selector(".share.together")
    page.click("button.primary")
    wait_until(page, "document.querySelectorAll('.many svg').length === 3")
    page.wait_for_selector("text=What was shared")
    shoot(page, "workload", full_page=True)
    check_access(page)


def test_live(page: Any, address: str) -> None:
    open_page(page, address)
    page.click("nav >> text=Live")
    page.click("text=A stream, live")
    wait_until(page, "() => document.querySelector('.cm-content').innerText.includes('S{2,4}')")
    page.wait_for_timeout(400)
    page.click("text=Start")
    page.wait_for_selector(".live circle.dot")
    wait_until(page, "document.querySelectorAll('.live circle.dot').length > 12")
    shoot(page, "live", full_page=True)
    page.click("text=Pause")
    page.wait_for_selector("text=Go on")
    page.wait_for_timeout(600)
    before = page.inner_text(".tiles")
    page.wait_for_timeout(800)
    assert page.inner_text(".tiles") == before
    check_access(page)
    page.click("text=Go on")
    wait_until(page, "(old) => document.querySelector('.tiles').innerText !== old", before)
    page.click("text=Stop")
    page.wait_for_selector(".status:has-text('stopped')")
    page.wait_for_selector("text=Start")


def test_cancel(page: Any, address: str) -> None:
    open_page(page, address)
    page.fill("label:has-text('Events') input", "400000")
    page.keyboard.press("Tab")
    write(page, "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price * NEXT(S).volume > NEXT(S).price * S.volume")
    page.click("button.primary")
    page.wait_for_selector("text=counting trends in 400,000 events")
    shoot(page, "running")
    page.click("text=Cancel")
    page.wait_for_selector(".status:has-text('cancelled')")
    assert page.is_visible("button.primary")


def test_dark(page: Any, address: str) -> None:
    open_page(page, address)
    page.select_option(".theme select", "dark")
    run(page)
    choose_point(page)
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert ground == "rgb(16, 19, 25)"
    shoot(page, "dark", full_page=True)
    check_access(page)
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_dark_as_the_system_is(page: Any, address: str) -> None:
    page.emulate_media(color_scheme="dark")
    open_page(page, address)
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(16, 19, 25)"
    check_access(page)


@pytest.mark.parametrize("mode", ["Query", "Funnel", "Workload", "Live"])
def test_a_phone(page: Any, address: str, mode: str) -> None:
    page.set_viewport_size({"width": 375, "height": 740})
    open_page(page, address)
    page.click(f"nav >> text={mode}")
    page.wait_for_timeout(500)
    if mode == "Query":
        run(page)
        choose_point(page)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 375
    shoot(page, f"phone-{mode.lower()}", full_page=True)
    check_access(page)


def test_keys_only(page: Any, address: str) -> None:
    open_page(page, address)

    def tab_to(found: Callable[[], bool], most: int = 60) -> None:
        for _ in range(most):
            page.keyboard.press("Tab")
            if found():
                return
        raise AssertionError("no key leads there")

    def focus(selector: str) -> Callable[[], bool]:
        return lambda: bool(page.evaluate("(s) => !!document.activeElement?.closest(s)", selector))

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the query"
    page.keyboard.press("Enter")
    assert focus(".cm-content")()
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".result circle.dot")
    tab_to(focus(".result .plot"))
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    said = page.inner_text(".readout >> nth=0")
    assert "estate" in said and "00:05:00" in said
    page.keyboard.press("Enter")
    page.wait_for_selector("path.arc")
    tab_to(focus(".timeline"))
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("path.arc.strong")
    page.keyboard.press("ArrowRight")
    assert "S: time" in page.inner_text(".readout >> nth=1")
    shoot(page, "keys", full_page=True)


def test_nothing_moves_while_typing(page: Any, address: str) -> None:
    """The page does not flicker: an edit that stays right moves nothing and draws the same picture."""
    open_page(page, address)
    run(page)
    places = "() => [...document.querySelectorAll('.card')].map(one => one.getBoundingClientRect().top)"
    before = page.evaluate(places)
    page.click(".cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.type(" ")
    for _ in range(8):
        page.wait_for_timeout(60)
        assert page.evaluate(places) == before
