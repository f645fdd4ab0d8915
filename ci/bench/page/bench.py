#!/usr/bin/env python3
"""How long does the HTML page take to open, to filter and to tell the story of a verdict, and how
does that grow?

    ci/bench/page/bench.py [--log run.jsonl] [--verdicts 1000 10000 100000] [--rounds 3]

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep) and chromium. The verdicts of the log (as it is
shipped: the sample of the reports' tests) are repeated under other names until there are enough.
For each number it tells the size of the page, and in milliseconds, the median of the rounds: from
the start of navigation until the verdicts are drawn; the slowest and the median key of the filters
below, each from the key to the new layout, the first word that is searched apart; and the time from
the choice of the last verdict to its story."""

import argparse
import http.server
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
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


def measure(page, profile):
    """What the page tells of itself in a browser without a window."""
    answers = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answers.append(json.loads(urllib.parse.unquote(self.path.partition("?")[2])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.timeout = 120
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
        sys.exit("the page told nothing within 120 s")
    return answers[0]


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
    print(
        f"{'verdicts':>9}  {'MB':>6}  {'open':>6}  {'first word':>10}  {'slowest key':>11}  "
        f"{'median key':>10}  {'story':>6}   (ms)"
    )
    opening = {}
    for count in given.verdicts:
        with tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True
        ) as name:  # the browser may still write its profile
            folder = pathlib.Path(name)
            write_log(given.log, count, folder)
            done = subprocess.run(
                [lockstep, "report", folder / "run.jsonl", "--html", folder / "page.html"],
                # A log of 100,000 verdicts takes more memory than one of a stranger may.
                env={**os.environ, "LOCKSTEP_READING_MIB": "4096"},
                capture_output=True,
                text=True,
            )
            if not (folder / "page.html").is_file():
                sys.exit(done.stderr)
            told = [measure(folder / "page.html", folder / "profile") for _ in range(given.rounds)]
            columns = zip(
                *(
                    (
                        one["open"],
                        one["keys"][0],
                        max(one["keys"][1:]),
                        statistics.median(one["keys"]),
                        one["story"],
                    )
                    for one in told
                )
            )
            opened, word, slowest, key, story = map(statistics.median, columns)
            opening[count] = opened
            print(
                f"{count:9,}  {(folder / 'page.html').stat().st_size / 1e6:6.1f}  {opened:6.0f}  "
                f"{word:10.0f}  {slowest:11.0f}  {key:10.0f}  {story:6.0f}",
                flush=True,
            )
    first, last = given.verdicts[0], given.verdicts[-1]
    name = f"page, opening {last:,} verdicts against {first:,}"
    tell(name, opening[last] / opening[first], "less")


if __name__ == "__main__":
    main()
