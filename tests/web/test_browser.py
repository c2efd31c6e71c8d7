"""The pages in a real Chromium: no errors, nothing from elsewhere, accessible, and hostile text
stays text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from bot.cli.main import main
from tests.example.build import build
from tests.web.conftest import HOSTILE, NOW, pull

TABS = ("analysis", "review", "ci", "kernels", "device", "logprobs", "history")
PULL = tuple(f"/pr/octo/engine/1?tab={tab}" for tab in TABS)
PATHS = ("/", *PULL, "/rules", "/rules/protocol.unmasked-pack", "/stats")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
)


# No longer than this module: as long as it lives, no other test can run an event loop.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=chromium, args=[*QUIET, "--disable-sync", "--no-first-run"]
        )
        yield made
        made.close()


@pytest.fixture
def page(browser: Browser, site) -> Iterator[Page]:
    """A page whose console errors and requests to other hosts fail the test."""
    context = browser.new_context(base_url=site.url, locale="en-US")
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("dialog", lambda dialog: (wrong.append("a dialog"), dialog.dismiss()))
    opened.on(
        "request", lambda r: None if r.url.startswith((site.url, "data:")) else wrong.append(r.url)
    )
    yield opened
    context.close()
    assert wrong == []


@pytest.mark.parametrize("path", PATHS)
def test_nothing_serious_for_axe(page: Page, path: str):
    page.goto(path)
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    assert _serious(page, {}) == []
    page.emulate_media(color_scheme="dark")
    assert _serious(page, {"runOnly": ["color-contrast"]}) == []


def _serious(page: Page, options: dict[str, object]) -> list[str]:
    found = (
        Axe().run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
    )
    return [
        f"{v['id']}: {v['nodes'][0]['html'][:120]}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_phone_shows_it_without_scrolling_sideways(page: Page, path: str, language: str):
    page.set_viewport_size({"width": 375, "height": 800})
    page.goto(f"{path}{'&' if '?' in path else '?'}lang={language}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.locator("html").get_attribute("lang") == language


def test_one_long_word_hides_nothing_beside_it(page: Page, site):
    """A title of 180 letters without a blank pushed the verdict out of sight."""
    site.archive.keep_pull(pull(700, title="x" * 180, verdict="pass", updated_at=NOW + 1))
    page.set_viewport_size({"width": 1100, "height": 800})
    page.goto("/?q=" + "x" * 180)
    site.archive.closed("octo/engine", 700, merged=False)
    cell = page.locator("table.board tbody td:last-child")
    assert cell.evaluate("e => e.getBoundingClientRect().right") <= 1100


@pytest.mark.parametrize("path", PATHS)
def test_on_paper_there_is_the_page_and_nothing_to_click_on(page: Page, path: str):
    page.emulate_media(media="print")
    page.goto(path)
    assert page.locator("main").is_visible()
    assert not any(one.is_visible() for one in page.locator(".top, .tabs, .filter").all())


@pytest.mark.parametrize("tab", ["analysis", "ci"])
def test_on_paper_nothing_is_cut_off_or_folded(page: Page, tab: str):
    page.set_viewport_size({"width": 680, "height": 1000})
    page.emulate_media(media="print")
    page.goto(f"/pr/octo/engine/1?tab={tab}")
    wider = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.className || e.tagName)"
    assert page.locator("pre, .wide, figure").evaluate_all(wider) == []
    assert all(table.is_visible() for table in page.locator("details table").all())
    assert max(page.locator("tr").evaluate_all("all => all.map(e => e.offsetHeight)")) < 200


@pytest.mark.parametrize("path", ["/", *PULL])
def test_hostile_text_is_text(page: Page, path: str):
    page.goto(path)
    assert page.title() != "owned"
    assert "<script>document.title" in page.inner_text("main")
    assert page.locator("main script, main [onerror], main a[href^=javascript]").count() == 0


@pytest.mark.parametrize("tab", ["ci", "kernels", "logprobs"])
def test_a_tab_s_own_report_holds_hostile_text_and_its_picture(page: Page, site, tab: str):
    """The title of the page is hostile on every tab: here it is the report itself that is asked."""
    page.goto(f"/pr/octo/engine/1?tab={tab}")
    reported = page.locator("h1 ~ p.soft ~ *").all_inner_texts()
    assert any("<script>document.title" in text for text in reported)
    assert all(
        picture.evaluate("i => i.complete && i.naturalWidth > 300") and picture.get_attribute("alt")
        for picture in page.locator("figure img").all()
    )
    assert page.locator("figure img").count() == (1 if tab == "ci" else 2)


def test_from_the_board_to_a_report_in_both_languages(page: Page):
    page.goto("/")
    page.fill("input[name=q]", "word 7")
    page.click(".filter button")
    assert "q=word+7" in page.url
    page.goto("/")
    page.click("table.board tbody tr:first-child a")
    page.click(".tabs a:has-text('Review')")
    assert "Findings" in page.inner_text("main")
    page.click("text=中文")
    assert "问题" in page.inner_text("main")
    assert page.locator("html").get_attribute("lang") == "zh"


FOCUSED = """() => {
    const at = document.activeElement, box = at.getBoundingClientRect();
    const seen = box.width > 0 && box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight;
    return {to: at.getAttribute("href") || "", marked: seen && getComputedStyle(at).outlineStyle !== "none"};
}"""


def _tabbed(page: Page) -> str:
    """Where the link leads that the next press of the tab key comes to; that it has the focus is to
    be seen."""
    page.keyboard.press("Tab")
    focused = page.evaluate(FOCUSED)
    assert focused["marked"], focused
    return str(focused["to"])


def test_a_pull_request_is_read_with_the_keyboard_alone(page: Page):
    page.goto("/pr/octo/engine/1")
    assert _tabbed(page) == "#main"
    assert [_tabbed(page) for _ in range(4)] == ["/", "/", "/rules", "/stats"]
    page.goto("/pr/octo/engine/1")
    _tabbed(page)
    page.keyboard.press("Enter")
    assert _tabbed(page).startswith("https://")  # past the navigation: the pull request on GitHub
    assert [_tabbed(page) for _ in TABS[:2]] == [f"/pr/octo/engine/1?tab={tab}" for tab in TABS[:2]]
    page.keyboard.press("Enter")
    page.wait_for_url("**?tab=review")
    assert "Findings" in page.inner_text("main")
    page.locator(".tabs a").first.focus()
    assert [_tabbed(page) for _ in TABS[1:]] == [f"/pr/octo/engine/1?tab={tab}" for tab in TABS[1:]]


def test_the_picture_is_drawn_and_its_numbers_are_a_table(page: Page):
    page.goto("/pr/octo/engine/1")
    picture = page.locator("figure img")
    assert picture.evaluate("i => i.complete && i.naturalWidth > 300")
    assert picture.get_attribute("alt")
    assert page.locator("table:has-text('token_processor.py')").count() == 1


def test_one_file_to_send_opens_by_itself(browser: Browser, tmp_path: Path):
    repo = build(tmp_path / "example", "first-push").repo
    file = tmp_path / "page.html"
    args = ["analyze", "--repo", str(repo), "--base", "base", "--head", "head", "--title", HOSTILE]
    assert main([*args, "--format", "html", "-o", str(file)]) == 0
    opened = browser.new_page()
    wrong: list[str] = []
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    opened.on(
        "request", lambda r: None if r.url.startswith(("file:", "data:")) else wrong.append(r.url)
    )
    opened.goto(file.as_uri())
    assert "<script>" in opened.inner_text("main") and opened.title() != "owned"
    opened.close()
    assert wrong == []
