"""Opens the HTML report in a real browser, headless, and looks at what stands there."""

import base64
import gzip
import html
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"
BROWSER = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
NASTY = "</script><script>document.title='broken out'</script><img src=x onerror=\"document.title='broken out'\"> {{data}} <!-- & \u202e"

pytestmark = [
    pytest.mark.skipif(not BINARY.is_file(), reason="LOCKSTEP_BINARY_DIR names no build with bin/lockstep"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium in PATH: ci/packages-test.txt has its package"),
]


class Page:
    def __init__(self, records, folder):
        folder.mkdir(exist_ok=True)
        (folder / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        subprocess.run([BINARY, "report", folder], capture_output=True, timeout=120)
        self.file, self.folder = folder / "report.html", folder

    def browse(self, *arguments, address=""):
        return subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--no-first-run", f"--user-data-dir={self.folder / 'profile'}", "--enable-logging=stderr",
             "--window-size=1400,900", "--virtual-time-budget=8000", *arguments, f"{self.file.as_uri()}{address}"],
            capture_output=True, text=True, timeout=120)

    def dom(self, address=""):
        """The document after its scripts ran, without the data and the scripts themselves."""
        result = self.browse("--dump-dom", address=address)
        console = [line for line in result.stderr.splitlines() if ":CONSOLE" in line]
        assert not console, console
        text = re.sub(r"<script.*?</script>", "", result.stdout, flags=re.S)
        assert text, result.stderr
        return re.sub(r'<div id="plain">.*', "", text, flags=re.S)


def sample():
    return [json.loads(line) for line in (HERE / "testdata" / "sample.jsonl").read_text("utf-8").splitlines()]


def rows(dom):
    return len(re.findall(r'class="row kind-', dom))


def count_shown(dom):
    return re.search(r'<output id="count"[^>]*>([^<]*)</output>', dom).group(1)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Page(sample(), tmp_path_factory.mktemp("page"))


def test_it_shows_the_verdicts(page):
    dom = page.dom()
    assert count_shown(dom) == "22 verdicts"
    assert rows(dom) >= 10  # those in view
    assert '<div id="app" hidden' not in dom


@pytest.mark.parametrize("query, expected", [("status:crash", 1), ("tag:silent", 4), ("op:to", 4), ("op:to.dtype", 4), ("op:add", 0),
                                             ("dtype:float32", 4), ("!tag:precision-cast", 18)])
def test_its_filter_is_that_of_the_command_line(page, query, expected):
    assert count_shown(page.dom(f"#q={query}")) == ("22 verdicts" if expected == 22 else f"{expected} of 22")


def test_the_details_have_the_program(page):
    verdict = next(record for record in sample() if record.get("program"))
    dom = html.unescape(page.dom(f"#id={verdict['id']}"))
    assert "h = aten::to.dtype(x, float16)" in dom
    assert verdict["repro"] in dom


def test_the_details_show_where_the_differences_lie(page):
    verdict = next(record for record in sample() if '"heat"' in json.dumps(record))
    dom = html.unescape(page.dom(f"#id={verdict['id']}"))
    heat = re.search(r'<div class="heat".*?</div>', dom).group(0)
    assert "17 of 20 cells have differences" in heat
    assert len(re.findall(r"<i ", heat)) == 20 and len(re.findall(r'class="none"', heat)) == 3
    assert "row 3, column 1: 1 differ, greatest |Δ| 0.000244" in heat
    assert verdict["outputs"][0]["tensors"][0] in dom


def test_hostile_strings_stay_text(tmp_path):
    records = sample()
    for record in records:
        if record["type"] == "verdict":
            record.update({key: NASTY for key in ("title", "reason", "program", "repro", "stderr_tail", "stage")})
            record.update(tags=[NASTY], operators=[NASTY], dtypes=[NASTY], links=["javascript:alert(1)"], proof={NASTY: NASTY})
    for address in ("", "#id=" + next(record["id"] for record in records if record["type"] == "verdict")):
        dom = Page(records, tmp_path / "page").dom(address)
        assert "<title>broken out" not in dom
        assert "<img" not in dom and 'href="javascript' not in dom
        assert count_shown(dom) == "22 verdicts"


def test_ten_thousand_verdicts_are_small_and_quick(tmp_path):
    run, *rest = sample()
    some = [record for record in rest if record["type"] == "verdict"]
    records = [{**run, "planned": 10000}]
    for i in range(10000):
        record = dict(some[i // 7 % len(some) if i % 7 == 3 else 0])
        instance = f"ops/family-{i // 300:02}/case-{i // 12}[dtype=float32,dim={i // 3 % 4}]@cpu"
        record.update(instance=instance, path=("aot_eager", "inductor", "aoti")[i % 3], index=i)
        record.update(id=f"{instance}/{record['path']}", program=f"{instance}\n" + "  y = aten::softmax.int(x, 1)\n" * 20)
        records.append(record)
    page = Page(records, tmp_path / "page")
    assert page.file.stat().st_size < 2e6
    assert count_shown(page.dom()) == "10,000 verdicts"
    # The data is what any gzip reads.
    data = re.search(r'<script type="application/gzip" id="data">([^<]*)</script>', page.file.read_text("utf-8")).group(1)
    document = json.loads(gzip.decompress(base64.b64decode(data)))
    assert len(document["verdicts"]) == 10000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_drawn(page, scheme):
    picture = page.folder / f"{scheme}.png"
    page.browse(f"--screenshot={picture}", *(["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []))
    assert picture.stat().st_size > 20000  # a blank page takes a fraction of it
