"""bugs/README.md is what `list` prints of the cases there, with what expected/known/ says of them.

LOCKSTEP_RENEW=1 writes it."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "cases" / "bugs" / "README.md"


def test_the_page_is_what_list_prints():
    binary = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", ".")) / "bin" / "lockstep"
    if not binary.is_file():
        pytest.skip("LOCKSTEP_BINARY_DIR names no build with bin/lockstep")
    done = subprocess.run(
        [binary, "list", "bugs/*", "--markdown"],
        env={**os.environ, "LOCKSTEP_HOME": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    page = f"""# Public reports

What each case says, and what is known of it on the paths of Lockstep.
`LOCKSTEP_RENEW=1 pytest cases/test_bugs_page.py` writes it from what
`ci/lockstep list 'bugs/*' --markdown` prints; it is not written by hand.

{done.stdout}"""
    if os.environ.get("LOCKSTEP_RENEW"):
        assert not os.environ.get("CI")
        PAGE.write_text(page)
    assert page == PAGE.read_text(), "LOCKSTEP_RENEW=1 writes it anew"
