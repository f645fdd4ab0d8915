#!/usr/bin/env python3
"""How long does the HTML page take to open, to filter and to tell the story of a verdict, and how
does that grow?

    ci/bench/page/bench.py [--log run.jsonl] [--verdicts 1000 10000 100000] [--rounds 3]
    ci/bench/page/bench.py --verdicts 1000000    # in parts; takes 5 GB and minutes

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep) and chromium. The verdicts of the log (as it is
shipped: the sample of the reports' tests) are repeated under other names until there are enough.
For each number it tells the seconds and the megabytes in which `report` writes the page, and its
size. Then, as the median of the rounds, in milliseconds: `open`, from the start of navigation until
the verdicts are drawn; `word`, the first word that is searched, and the `slowest` and the `median`
of the other filters below, each from the key to the new layout; `story`, from the choice of the
last verdict to its story; `rest`, in which a button loads the other parts, if there are some; and
at last the megabytes of the browser."""

import argparse
import http.server
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ratios import tell

ROOT = pathlib.Path(__file__).resolve().parents[3]
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FILTERS = [
    *"""
        s so softmax status:crash path:inductor !is:known op:softmax dtype:float32
        fingerprint:*:value ops/* """.split(),
    "",
]

PATIENCE = 300  # seconds for a page to tell
SHOWN = ("open", "word", "slowest", "median", "story", "rest", "memory")

# Runs before the scripts of the page.  A frame after the page says that it has scripts, its
# verdicts are drawn.
PROBE = """<script>
(() => {
  const told = {};
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  async function measure() {
    await drawn();
    told.open = performance.now();
    const filter = document.getElementById("filter");
    told.keys = [];
    for (const text of FILTERS) {
      const before = performance.now();
      filter.value = text;
      filter.dispatchEvent(new Event("input"));
      document.body.getBoundingClientRect();
      told.keys.push(performance.now() - before);
      await drawn();
    }
    const list = document.querySelector("[role=grid]");
    const before = performance.now();
    list.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
    while (!document.querySelector("#details .headline .id .path"))
      await new Promise((done) => setTimeout(done));
    told.story = performance.now() - before;
    const more = document.getElementById("more"), asked = performance.now();
    more.click();
    while (!more.hidden) await new Promise((done) => setTimeout(done, 10));
    told.rest = performance.now() - asked;
    new Image().src = "http://127.0.0.1:PORT/?" + encodeURIComponent(JSON.stringify(told));
  }
  new MutationObserver((_, observer) => {
    if (!document.documentElement.classList.contains("js")) return;
    observer.disconnect();
    measure();
  }).observe(document.documentElement, { attributes: true });
})();
</script>"""


def write_log(source, count, folder):
    """A log of `count` verdicts, those of `source` again and again."""
    records = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    verdicts = [record for record in records if record["type"] == "verdict"]
    with (folder / "run.jsonl").open("w", encoding="utf-8") as log:
        for record in records:
            if record["type"] == "run":
                record["planned"] = count
            if record["type"] in ("run", "environment"):
                log.write(json.dumps(record) + "\n")
        for index in range(count):
            copy, place = divmod(index, len(verdicts))
            record = dict(verdicts[place], index=index)
            if copy:
                case, at, rest = record["instance"].partition("@")
                record["instance"] = (
                    f"{case}[copy={copy}]{at}{rest}"
                    if not case.endswith("]")
                    else f"{case[:-1]},copy={copy}]{at}{rest}"
                )
                record["id"] = f"{record['instance']}/{record['path']}"
            log.write(json.dumps(record) + "\n")
        log.write(
            json.dumps({"type": "end", "seconds": 1, "interrupted": False, "unmatched": []}) + "\n"
        )


def megabytes(process):
    """The memory of a process and all that it started, what they share counted once."""
    folder = pathlib.Path("/proc") / str(process)
    try:
        own = re.search(r"^Pss: +(\d+) kB", (folder / "smaps_rollup").read_text(), re.MULTILINE)
        below = (folder / "task").glob("*/children")
        children = [child for file in below for child in file.read_text().split()]
    except OSError:  # it has ended
        return 0
    return (int(own[1]) / 1e3 if own else 0) + sum(map(megabytes, children))


def measure(page, profile):
    """What the page tells of itself in a browser without a window, and the memory of that."""
    answers = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            told = json.loads(urllib.parse.unquote(self.path.partition("?")[2]))
            answers.append(told | {"memory": megabytes(browser.pid)})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.timeout = PATIENCE
        text = page.read_text("utf-8")
        head, meta, tail = text.partition(
            '<meta http-equiv="Content-Security-Policy"'
        )  # it lets nothing out
        probe = PROBE.replace("FILTERS", json.dumps(FILTERS)).replace(
            "PORT", str(server.server_port)
        )
        probed = page.with_name("probed.html")
        probed.write_text(head + probe + tail.partition(">")[2] if meta else text, "utf-8")
        browser = subprocess.Popen(
            [
                BROWSER,
                *"""
                    --headless=new --no-sandbox --disable-gpu --no-first-run --window-size=1400,900
                """.split(),
                f"--user-data-dir={profile}",
                probed.as_uri(),
            ],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            server.handle_request()
        finally:
            browser.terminate()
            browser.wait()
    if not answers:
        sys.exit(f"the page told nothing within {PATIENCE} s")
    return answers[0]


def write_page(lockstep, folder):
    """The seconds and megabytes in which `report` writes the page of a log."""
    before = time.monotonic()
    process = subprocess.Popen(
        [lockstep, "report", folder / "run.jsonl", "--html", folder / "page.html"],
        # A log of 100,000 verdicts takes more memory than one of a stranger may.
        env={**os.environ, "LOCKSTEP_READING_MIB": "65536"},
        stdout=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    if not (folder / "page.html").is_file():
        sys.exit(1)
    return time.monotonic() - before, usage.ru_maxrss / 1e3


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--log", type=pathlib.Path, default=ROOT / "reports" / "testdata" / "sample.jsonl"
    )
    parser.add_argument("--verdicts", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if not BROWSER:
        sys.exit("no chromium in PATH: ci/packages-test.txt has its package")
    lockstep = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    print(f"{'verdicts':>9} {'s':>6} {'MB':>6} {'page MB':>8}", *(f"{each:>8}" for each in SHOWN))
    opening = {}
    for count in given.verdicts:
        with tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True
        ) as name:  # the browser may still write its profile
            folder = pathlib.Path(name)
            write_log(given.log, count, folder)
            seconds, memory = write_page(lockstep, folder)
            told = [measure(folder / "page.html", folder / "profile") for _ in range(given.rounds)]
            for one in told:
                word, *keys = one.pop("keys")
                one |= {"word": word, "slowest": max(keys), "median": statistics.median(keys)}
            medians = {each: statistics.median(one[each] for one in told) for each in SHOWN}
            opening[count] = medians["open"]
            size = (folder / "page.html").stat().st_size / 1e6
            print(
                f"{count:9,} {seconds:6.1f} {memory:6.0f} {size:8.1f}",
                *(f"{medians[each]:8.0f}" for each in SHOWN),
                flush=True,
            )
    first, last = given.verdicts[0], given.verdicts[-1]
    name = f"page, opening {last:,} verdicts against {first:,}"
    tell(name, opening[last] / opening[first], "less")


if __name__ == "__main__":
    main()
