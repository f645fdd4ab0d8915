"""Makes the pictures of the documents: ci/pictures.py [page] [terminal FILE]

`page` has a headless chromium show the sample pages in reports/testdata/ in both themes, and writes
docs/pictures/{run,verdict,gate}-{light,dark}.png. `terminal FILE` makes
docs/pictures/FILE.svg of what a command printed, a text whose first line begins with `$ `; its
colours follow the theme."""

import html
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
#: Picture → sample page, what stands behind # in its address, width and height.
SHOTS = {
    "run": ("run", "", 1400, 820),
    "verdict": ("run", "id=ops/softmax/last-dim[dtype=bfloat16]@cpu/inductor", 1400, 1000),
    "gate": ("gate", "", 1400, 820),
}
STYLE = """
svg { --paper: #fffffe; --ink: #1d1f23; --soft: #5a5e66; --line: #e3e1db;
      --failing: #b3241b; --conform: #1d7242; --known: #855800; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #191b1e; --ink: #e7e6e2; --soft: #a2a6ae; --line: #2d3035;
        --failing: #ff8b7c; --conform: #74c997; --known: #e3b055; }
}
rect { fill: var(--paper); stroke: var(--line); }
text { fill: var(--ink); white-space: pre; }
.soft { fill: var(--soft); } .failing { fill: var(--failing); } .known { fill: var(--known); }
.command { font-weight: 650; }"""


def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    sys.exit("pictures: there is no chromium in PATH")


def shoot(page: str, to: pathlib.Path, dark: bool, width: int, height: int) -> None:
    """A picture of a page as a browser with this theme shows it."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        command += ["--virtual-time-budget=8000", f"--screenshot={to}"]
        command += [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
        subprocess.run([*command, page], check=True, capture_output=True, timeout=120)


def pages() -> None:
    for name, (sample, place, width, height) in SHOTS.items():
        for theme in ("light", "dark"):
            page = (ROOT / "reports" / "testdata" / f"sample.{sample}.html").as_uri()
            shoot(
                f"{page}#{urllib.parse.quote(place, safe='=')}",
                PICTURES / f"{name}-{theme}.png",
                theme == "dark",
                width,
                height,
            )


def kind(line: str) -> str:
    """The class of a line of the console: the word that it begins with says it."""
    if line.startswith("$ "):
        return "command"
    if re.match(r"known\b", line):
        return "known"
    if re.match(r"[a-z -]*(diverges|error|crash|divergence)\b", line):
        return "failing"
    return "soft" if line.startswith("    ") else ""


def terminal(text: str, title: str) -> str:
    """A console as SVG: lines of at most 100 columns, cut beyond."""
    lines = [line if len(line) <= 100 else line[:99] + "…" for line in text.splitlines()]
    height = 18 * len(lines) + 30
    rows = "\n".join(
        f'  <text class="{kind(line)}" x="16" y="{30 + 18 * i}" xml:space="preserve">'
        f"{html.escape(line)}</text>"
        for i, line in enumerate(lines)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 {height}" role="img" \
font-size="13" font-family="ui-monospace, 'DejaVu Sans Mono', 'Liberation Mono', monospace">
  <title>{html.escape(title)}</title>
  <style>{STYLE}
  </style>
  <rect x="0.5" y="0.5" width="839" height="{height - 1}" rx="8"/>
{rows}
</svg>
"""


def main() -> int:
    if sys.argv[1:] == ["page"]:
        pages()
    elif len(sys.argv) == 3 and sys.argv[1] == "terminal":
        file = pathlib.Path(sys.argv[2])
        text = file.read_text("utf-8")
        to = PICTURES / f"{file.stem}.svg"
        to.write_text(terminal(text, f"What `{text.splitlines()[0][2:]}` prints"), "utf-8")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
