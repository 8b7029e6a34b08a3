"""A page opened in a browser: what it complains of, how wide it is, what is drawn, whether its tables sort.

Measures are taken by a script in a copy of the page and read back from the DOM that the browser prints.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from archsim.report.pdf import headless

WIDTH = 1280
WATCH = """<script>
window.said = [];
window.addEventListener("error", (event) => window.said.push(String(event.message)), true);
for (const level of ["error", "warn"]) console[level] = (...words) => window.said.push(words.join(" "));
</script>"""
MEASURE = """<script>
window.addEventListener("load", () => {
  const count = (css) => document.querySelectorAll(css).length;
  const marks = [...document.querySelectorAll("svg")].map(
    (svg) => svg.querySelectorAll("rect, circle, path, line, polyline").length);
  const wide = [...document.querySelectorAll("main *")].filter(
    (each) => !each.closest(".scroll, svg") && each.getBoundingClientRect().right > innerWidth + 1);
  const unsorted = [...document.querySelectorAll("table.sortable")].filter((table) => {
    const before = table.tBodies[0].rows.length, head = table.querySelector("th");
    head.click();
    const order = head.getAttribute("aria-sort");
    return !order || table.tBodies[0].rows.length !== before;
  });
  const found = {
    said: window.said, width: document.documentElement.scrollWidth, marks, titles: count("svg title"),
    wide: wide.map((each) => each.tagName + ": " + each.textContent.slice(0, 60)),
    tables: count("table.sortable"), unsorted: unsorted.length,
  };
  const place = document.createElement("pre");
  place.id = "measured";
  place.textContent = JSON.stringify(found);
  document.body.append(place);
});
</script>"""


@dataclass(frozen=True)
class Seen:
    """``said``: errors and warnings; ``width`` that the page takes of a window of ``WIDTH``; ``wide``: what sticks out
    of it; ``marks`` of each drawing; ``titles`` that show when pointed at; ``tables`` that sort, ``unsorted`` those
    that do not when asked to.
    """

    said: tuple[str, ...]
    width: int
    wide: tuple[str, ...]
    marks: tuple[int, ...]
    titles: int
    tables: int
    unsorted: int


def seen(page: Path, folder: Path) -> Seen:
    """Open a copy of ``page``, made in ``folder``; raises ConfigError where no browser is installed."""
    text = page.read_text(encoding="utf-8")
    copy = folder / "watched.html"
    watched = text.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{MEASURE}</body>", 1)
    copy.write_text(watched, encoding="utf-8")
    done = headless(
        copy, "--dump-dom", "--enable-logging=stderr", "--v=0", f"--window-size={WIDTH},900", "--hide-scrollbars",
        "--virtual-time-budget=5000",
    )  # fmt: skip
    match = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, f"the page did not load: {done.stderr[-1000:]}"
    found = json.loads(unescape(match[1]))
    logged = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Seen(
        (*found["said"], *logged), found["width"], tuple(found["wide"]), tuple(found["marks"]), found["titles"],
        found["tables"], found["unsorted"],
    )  # fmt: skip


def pages(pdf: Path) -> list[tuple[float, float]]:
    """Width and height of each page of a PDF in points."""
    text = pdf.read_bytes().decode("latin-1")
    assert text.startswith("%PDF-")
    boxes = re.findall(r"/Type /Page\b[^s].*?/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", text, re.DOTALL)
    return [(float(width), float(height)) for width, height in boxes]
