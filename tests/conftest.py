"""For tests that want them: a browser, a page that reaches this machine only, JupyterLab."""

from urllib.parse import urlparse

import pytest

from tests.labdriver import CHROMIUM_ARGS, Lab, chromium


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium."""
    if chromium() is None:
        pytest.skip("no Chromium here: `apt-get install chromium` brings it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """An empty page that reaches this machine only.

    ``page.outside`` lists the addresses it was kept from, ``page.errors`` the script errors.
    """
    context = browser.new_context(viewport={"width": 1300, "height": 900}, has_touch=True)
    page = context.new_page()
    page.outside, page.errors = [], []

    def guard(route, request):
        if urlparse(request.url).hostname in (None, "127.0.0.1", "localhost"):
            route.continue_()
        else:
            page.outside.append(request.url)
            route.abort()

    context.route("**/*", guard)
    page.on("pageerror", lambda error: page.errors.append(f"{error} {error.stack}"))
    page.set_default_timeout(120_000)
    yield page
    context.close()


@pytest.fixture(scope="session")
def lab(browser, tmp_path_factory):
    """A JupyterLab server on a copy of the course."""
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.stop()
