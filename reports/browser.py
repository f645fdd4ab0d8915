"""A page in a real browser, headless."""

import re
import shutil
import subprocess

BROWSER = next(
    (path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path),
    None,
)


def one(pattern, text):
    """What a pattern finds first; it may reach over lines."""
    match = re.search(pattern, text, flags=re.S)
    assert match, f"nothing matches {pattern}"
    return match


class Opened:
    """A page that a browser opens."""

    def __init__(self, file, width=1400):
        self.file, self.folder, self.width = file, file.parent, width

    def browse(self, *arguments, address=""):
        assert BROWSER, "no chromium in PATH"
        return subprocess.run(
            [
                BROWSER,
                *"""
                    --headless --no-sandbox --disable-gpu --disable-background-networking
                    --disable-component-update --disable-sync --no-first-run
                """.split(),
                f"--user-data-dir={self.folder / 'profile'}",
                "--enable-logging=stderr",
                f"--window-size={self.width},900",
                "--virtual-time-budget=8000",
                *arguments,
                f"{self.file.as_uri()}{address}",
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )

    def dom(self, address=""):
        """The document after its scripts ran, without the data and the scripts themselves."""
        result = self.browse("--dump-dom", address=address)
        console = [line for line in result.stderr.splitlines() if ":CONSOLE" in line]
        assert not console, console
        text = re.sub(r"<script.*?</script>", "", result.stdout, flags=re.S)
        assert text, result.stderr
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
