"""What the site has besides the pages of docs/: the command line from the golden help texts, the
benchmarks over commits, whole sample pages, and links to files of the repository, each of which
must exist.

LOCKSTEP_REPOSITORY, such as https://github.com/OWNER/lockstep/blob/main, is where these files can
be read; without it their names stay text."""

import os
import pathlib
import posixpath
import re
import sys

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "ci" / "bench"))
import drawn  # noqa: E402

DOCS = ROOT / "docs"
HELP = ROOT / "runner" / "commands" / "testdata"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
COMMAND_LINE = """\
# Command line

Here you find what each subcommand takes. `lockstep SUBCOMMAND --help` prints the same text.
What SELECT means is in [Select](selection.md).
"""


def command_line() -> str:
    """The help of every subcommand; what all of them share comes once, at the end."""
    text, shared = COMMAND_LINE, ""
    for file in [HELP / "help.txt", *sorted(HELP.glob("help-*.txt"))]:
        own, _, rest = file.read_text("utf-8").partition("\nEnvironment (flags come first):\n")
        own, _, selecting = own.partition("\nSelecting (SELECT):")
        name = f"lockstep {file.stem[5:]}".strip()
        text += f"\n## {name}\n\n```text\n{own.strip()}\n```\n"
        if selecting and not shared:
            shared = (
                f"\n## Shared by those that select\n\n```text\nSELECT:{selecting.rstrip()}\n```\n"
            )
    return text + shared


def on_files(files, config):
    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    files.append(File.generated(config, "contributing/benchmarks.md", content=drawn.page()))
    for name in ("run", "gate", "history"):
        page = ROOT / "reports" / "testdata" / f"sample.{name}.html"
        uri = f"start/sample.{name}.html"
        files.append(File.generated(config, uri, abs_src_path=str(page)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links of pages that leave docs/."""
    repository = os.environ.get("LOCKSTEP_REPOSITORY", "").rstrip("/")
    here = posixpath.dirname(page.file.src_uri)

    def linked(match):
        picture, label, target, anchor = match[1], match[2], match[3], match[4] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        place = posixpath.normpath(posixpath.join("docs", here, target))
        if place.startswith("docs/"):
            return match[0]
        if sample := re.fullmatch(r"reports/testdata/(sample\.(?:run|gate|history)\.html)", place):
            up = posixpath.relpath(f"start/{sample[1]}", here or ".")
            return f"{picture}[{label}]({up}{anchor})"
        if not (ROOT / place).exists():
            raise PluginError(f"{page.file.src_uri}: there is no {place}")
        return f"{picture}[{label}]({repository}/{place}{anchor})" if repository else label

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else LINK.sub(linked, part) for part in parts)
