"""Pages in a real browser, headless: one for all tests of a process, which each see a tab that
shares nothing with others. It is told what to do by Chrome's DevTools protocol, over pipes:
messages in JSON, each followed by a NUL."""

import atexit
import base64
import functools
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import tempfile
import time

BROWSER = next(
    (path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path),
    None,
)
#: How long a page may take, in seconds; it has as many of its own, which pass as fast as they can.
LONGEST, ITS_OWN = 120, 8


def one(pattern, text):
    """What a pattern finds first; it may reach over lines."""
    match = re.search(pattern, text, flags=re.S)
    assert match, f"nothing matches {pattern}"
    return match


class Browser:
    """A browser that runs."""

    def __init__(self):
        assert BROWSER, "no chromium in PATH"
        self._profile = tempfile.TemporaryDirectory()
        read, self._to = os.pipe()
        self._from, write = os.pipe()
        # It reads its descriptor 3 and writes to 4, whatever these are here. The last pipe's end is
        # above 3, so that the first redirection does not take it away.
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{read} 4>&{write}',
                "bash",
                BROWSER,
                *"""
                    --headless --no-sandbox --disable-gpu --disable-background-networking
                    --disable-component-update --disable-sync --no-first-run
                    --remote-debugging-pipe
                """.split(),
                f"--user-data-dir={self._profile.name}",
            ],
            pass_fds=(read, write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._asked, self._rest, self.events = 0, b"", []

    def ask(self, method, session=None, **parameters):
        """What it answers. Events that come before the answer are kept."""
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": parameters}
        os.write(
            self._to,
            json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0",
        )
        answer = self._heard(lambda each: each.get("id") == self._asked)
        assert "result" in answer, (method, answer)
        return answer["result"]

    def wait(self, event, session):
        """Returns as soon as a tab has told of an event."""
        self._heard(lambda each: (each.get("method"), each.get("sessionId")) == (event, session))

    def _heard(self, wanted):
        if (kept := next(filter(wanted, self.events), None)) is not None:
            return kept
        end = time.monotonic() + LONGEST
        while True:
            *whole, self._rest = self._rest.split(b"\0")
            heard = list(map(json.loads, whole))
            self.events += heard
            for each in heard:
                if wanted(each):
                    return each
            assert select.select([self._from], [], [], end - time.monotonic())[0], "it says nothing"
            more = os.read(self._from, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more

    def close(self):
        self._process.kill()
        self._process.wait()
        self._profile.cleanup()


@functools.cache
def browser():
    """The one browser of this process."""
    made = Browser()
    atexit.register(made.close)
    return made


class Tab:
    """A page, opened, whose scripts have had their time."""

    def __init__(self, address, width, scheme="light"):
        self._browser = browser()
        self._browser.events.clear()
        self._context = self._ask("Target.createBrowserContext", None)["browserContextId"]
        target = self._ask(
            "Target.createTarget", None, url="about:blank", width=width, height=900,
            browserContextId=self._context,
        )["targetId"]  # fmt: skip
        attached = self._ask("Target.attachToTarget", None, targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable", self._session)
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", self._session, features=media)
        # Its time stands still until it is there.
        clock = functools.partial(self._ask, "Emulation.setVirtualTimePolicy", self._session)
        clock(policy="pause")
        self._ask("Page.navigate", self._session, url=address)
        clock(policy="pauseIfNetworkFetchesPending", budget=ITS_OWN * 1000)
        self._browser.wait("Emulation.virtualTimeBudgetExpired", self._session)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ask("Target.disposeBrowserContext", None, browserContextId=self._context)

    def _ask(self, method, session, **parameters):
        return self._browser.ask(method, session, **parameters)

    def text(self):
        """The document as HTML."""
        asked = "document.documentElement.outerHTML"
        answer = self._ask("Runtime.evaluate", self._session, expression=asked)
        return answer["result"]["value"]

    def picture(self):
        """What is seen, as PNG."""
        return base64.b64decode(self._ask("Page.captureScreenshot", self._session)["data"])

    def complaints(self):
        """What its scripts, or the browser, have said."""
        said = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [
            each
            for each in self._browser.events
            if each.get("method") in said and each.get("sessionId") == self._session
        ]


class Opened:
    """A page that a browser opens."""

    def __init__(self, file: pathlib.Path, width=1400):
        self.file, self.folder, self.width = file, file.parent, width

    def tab(self, address="", scheme="light"):
        return Tab(f"{self.file.as_uri()}{address}", self.width, scheme)

    def dom(self, address=""):
        """The document after its scripts ran, without the data and the scripts themselves."""
        with self.tab(address) as tab:
            complaints, text = tab.complaints(), tab.text()
        assert not complaints, complaints
        assert text, "the page is empty"
        text = re.sub(r"<script.*?</script>", "", text, flags=re.S)
        return re.sub(r'<div id="plain">.*?(?=<output class="asked"|$)', "", text, flags=re.S)

    def after(self, actions, address=""):
        """The document after `actions`, a script that acts as a reader of the page; `asked(text)`
        leaves what it found."""
        acted = Opened(self.folder / "acted.html", self.width)
        script = f"""<script>setTimeout(async () => {{
          const asked = (text) => {{
            const output = document.createElement("output");
            output.className = "asked";
            output.textContent = text;
            document.body.append(output);
          }};
          {actions} }}, 500)</script></body>"""
        acted.file.write_text(self.file.read_text("utf-8").replace("</body>", script), "utf-8")
        return acted.dom(address)
