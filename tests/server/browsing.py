"""A person at the page in a real browser."""

from contextlib import contextmanager

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 90_000  # milliseconds: machines may be busy
LOOK_OFTEN = (
    "const repeat = setInterval; window.setInterval = (look, wait) => repeat(look, wait === 3000 ? 500 : wait);"
)


@contextmanager
def browser_of(path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


class Visitor:
    """One browser profile on the page; whatever the page logs as an error is kept."""

    def __init__(self, browser, url, name=None, **options):
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        self.context.set_default_timeout(PATIENCE)
        if name is not None:
            self.context.add_cookies([{"name": "bemps_name", "value": name, "url": url}])
        self.context.add_init_script(LOOK_OFTEN)  # a page looks at the server twice a second: tests wait for it less
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.goto(url)
        self.ready()

    def ready(self):
        self.page.wait_for_selector("body[data-ready]")

    def reload(self):
        self.page.reload()
        self.ready()

    def item(self):
        """The id and text on show."""
        place = self.page.locator("#content[data-item]")
        place.wait_for()
        return place.get_attribute("data-item"), place.inner_text()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def label(self, key):
        """Label what is on show by a key; returns its id and text."""
        item = self.item()
        self.press(key)
        self.page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=item[0])
        return item

    def saved(self, words=None):
        """Wait until nothing is on its way to the server, and the page has said so."""
        self.page.wait_for_function("() => !document.querySelector('#saved').textContent.endsWith('…')")
        self.page.wait_for_selector("#banner", state="hidden")
        if words:
            self.sees("#saved", words)

    def sees(self, place, words):
        self.page.locator(place).filter(has_text=words).first.wait_for()

    def panel(self, name):
        """Open a panel and return its text."""
        self.page.click(f"[data-panel={name}]")
        self.page.wait_for_selector("#panel-content h2")
        return self.page.locator("#panel").inner_text()

    def close(self):
        self.context.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
