"""Gives README.md whole addresses in the place of relative links, for the index of packages, where
relative ones lead nowhere: ci/readme_urls.py REPOSITORY REF, such as
https://github.com/OWNER/lockstep v0.1.0. Publishing does it in its own checkout."""

import pathlib
import re
import sys

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"
#: What comes before a target, the target, and what comes behind it.
LINK = re.compile(r"(!?\[[^\]]*\]\(\s*|\b(?:href|src|srcset)=\")([^)\s\"]+)([)\"])")
PICTURES = (".png", ".svg")


def with_urls(text: str, repository: str, ref: str) -> str:
    """The text with addresses of this state of the repository; pictures have those of files."""

    def whole(match: re.Match[str]) -> str:
        target = match[2]
        if re.match(r"\w+:|#", target):
            return match[0]
        kind = "raw" if target.endswith(PICTURES) else "blob"
        return f"{match[1]}{repository}/{kind}/{ref}/{target}{match[3]}"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else LINK.sub(whole, part) for part in parts)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    repository, ref = sys.argv[1].rstrip("/"), sys.argv[2]
    README.write_text(with_urls(README.read_text("utf-8"), repository, ref), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
