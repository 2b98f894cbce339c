"""For tests that want them: a browser, a page that reaches this machine only, Jupyter servers."""

from urllib.parse import urlparse

import pytest

from tests.labdriver import CHROMIUM_ARGS, PATIENCE, Lab, chromium

SERVERS = {"lab", "start_lab"}  # the fixtures that bring a Jupyter server


def pytest_collection_modifyitems(items):
    """A browser, a server and a kernel share two cores: such a test gets a second try.

    What is broken fails twice; what stumbled is counted as "rerun" in the last line.  A page
    without a kernel has nothing to stumble over, and gets one try.
    """
    for item in items:
        if SERVERS.intersection(getattr(item, "fixturenames", ())):  # a notebook's cell has none
            item.add_marker(pytest.mark.flaky(reruns=1))


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
    page.set_default_timeout(PATIENCE * 1000)
    yield page
    context.close()


@pytest.fixture(scope="session")
def lab_of_all(browser, tmp_path_factory):
    """The one server behind ``lab``: to start it takes many seconds."""
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.stop()


@pytest.fixture
def lab(page, lab_of_all):
    """JupyterLab on a copy of the course; no kernel outlives the test, also if it fails."""
    yield lab_of_all
    page.close()  # first, so that it asks for no kernel any more
    lab_of_all.end_sessions()


@pytest.fixture
def start_lab(page, tmp_path):
    """Start a server of the test's own: ``start_lab(app="notebook")``.  It ends with the test."""
    servers = []

    def start(**options):
        servers.append(Lab(tmp_path, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
