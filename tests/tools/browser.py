"""A page opened in a browser: what it complains of, how wide it is, what is drawn, whether its tables sort and filter.

Measures are taken by a script in a copy of the page and read back from the DOM that the browser prints. A window has at
least 500 pixels, so the page stands in a frame of the width asked for, whose script tells the page around it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any

from archsim.report.kit.pdf import headless

WIDTH, PHONE = 1280, 390
WATCH = """<script>
window.said = [];
window.addEventListener("error", (event) => window.said.push(String(event.message)), true);
for (const level of ["error", "warn"]) console[level] = (...words) => window.said.push(words.join(" "));
</script>"""
MEASURE = """<script>
window.addEventListener("load", () => {
  const count = (css) => document.querySelectorAll(css).length;
  const cellHeight = (cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().height;
  };
  const all = (css, from = document) => [...from.querySelectorAll(css)];
  const right = (each) => each.getBoundingClientRect().right, left = (each) => each.getBoundingClientRect().left;
  const marks = all("svg").map((svg) => svg.querySelectorAll("rect, circle, path, line, polyline").length);
  const wide = all("main *").filter((each) => right(each) > innerWidth + 1 &&
    !each.parentElement.closest(".scroll, svg, figure, nav"));
  const shown = all("svg").filter((svg) => svg.getBoundingClientRect().width > 0);
  const letters = shown.flatMap((svg) => all("text", svg)).map((text) => {
    const matrix = text.getScreenCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(matrix.a, matrix.b);
  });
  const still = shown.filter((svg) => !svg.closest(".moves"));
  const outside = still.flatMap((svg) => all("rect, circle, text", svg)).filter((each) =>
    right(each) > innerWidth + 0.5 || left(each) < -0.5);
  const drawn = still.map((svg) => [svg.querySelector("title")?.textContent ?? "",
    all("rect", svg).filter((each) => each.getBoundingClientRect().width > 0).length,
    all("text", svg).map((each) => each.textContent).join(" | ")]);
  const unsaid = shown.filter((svg) => svg.getBoundingClientRect().width > innerWidth && !getComputedStyle(
    svg.parentElement, "::before").content.includes("sideways")).map((svg) => svg.parentElement);
  const hides = all(".scroll tbody tr").filter((row) => {
    const height = row.getBoundingClientRect().height;
    return height > 60 && [...row.cells].every((cell) => right(cell) > innerWidth || cellHeight(cell) < height / 2);
  });
  const cut = all(".scroll").filter((box) => box.scrollWidth > box.clientWidth + 1);
  const split = all(".scroll td.line").filter((cell) => {
    const text = cell.firstChild, range = document.createRange();
    return text && text.nodeType === 3 && [...text.data.matchAll(/\\S{1,24}/g)].some((word) => {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      return range.getClientRects().length > 1;
    });
  });
  const longest = (cell) => Math.max(...cell.textContent.trim().split(/\\s+/).map((word) => word.length));
  const least = (cell) => cell.matches("th") ? 5 * longest(cell) + 12 : cell.textContent.trim().length > 12 ? 60 : 0;
  const crushed = all(".scroll td, .scroll th").filter((cell) =>
    cell.getBoundingClientRect().width < least(cell) && !cell.closest("[hidden]"));
  const moving = all(".scroll").filter((box) => box.scrollWidth > box.clientWidth + 100);
  const lost = moving.filter((box) => {
    box.scrollLeft = 100;
    const row = box.querySelector("tbody tr"), name = row.cells[row.closest("table").matches(".second") ? 1 : 0];
    return Math.abs(left(name) - left(box)) > 1;
  });
  const unsorted = all("table.sortable").filter((table) => {
    const before = table.tBodies[0].rows.length, head = [...table.tHead.rows].pop().cells[0];
    head.click();
    const order = head.getAttribute("aria-sort");
    return !order || table.tBodies[0].rows.length !== before;
  });
  const typed = TYPED.map((text) => {
    const box = document.querySelector(".find"), input = box.querySelector("input");
    input.value = text;
    input.dispatchEvent(new Event("input"));
    const table = document.getElementById(input.getAttribute("aria-controls"));
    const rows = [...table.tBodies[0].rows].filter((row) => row.getBoundingClientRect().height > 0);
    return {
      label: input.labels[0].textContent, seen: box.getBoundingClientRect().height > 0,
      told: box.querySelector("output").textContent, rows: rows.map((row) => row.cells[0].textContent),
      totals: table.tFoot ? [...table.tFoot.rows[0].cells].map((cell) => cell.textContent) : [],
    };
  });
  const words = (found) => found.map((each) => each.tagName + ": " + each.textContent.slice(0, 60));
  parent.postMessage(JSON.stringify({
    said: window.said, width: document.scrollingElement.scrollWidth, marks, titles: count("svg title"),
    wide: words(wide), letters: Math.min(...letters), crushed: words(crushed), moving: moving.length,
    lost: words(lost),
    outside: words(outside), drawn, unsaid: words(unsaid), hides: words(hides), cut: words(cut), split: words(split),
    tables: count("table.sortable"), unsorted: unsorted.length, typed,
  }), "*");
});
</script>"""
FRAME = """<!DOCTYPE html><html><body style="margin: 0"><iframe src="{page}"
style="border: 0; width: {width}px; height: 900px"></iframe><pre id="measured"></pre><script>
window.addEventListener("message", (event) => (document.getElementById("measured").textContent = event.data));
</script></body></html>"""


@dataclass(frozen=True)
class Seen:
    """``said``: errors and warnings; ``width`` that the page takes; ``wide``: what sticks out of it; ``marks`` of each
    drawing; ``titles`` that show when pointed at; ``letters``: the height of the smallest in drawings, pixels;
    ``tables`` that sort, ``unsorted`` those that do not when asked to; ``crushed``: cells of words in columns that are
    too narrow for them; ``moving``: boxes whose table moves sideways, ``lost`` those that lose the names of rows then;
    ``outside``: bars, dots and words of drawings that do not move and are not all in the window; ``drawn``: of each
    such drawing its title, its bars and its words; ``unsaid``: drawings wider than the window that do not say so;
    ``hides``: rows whose height no text in the window explains; ``typed``: what the first filter answered to each text:
    label, told, rows, totals; ``cut``: boxes whose table is wider than they are; ``split``: cells in which a word of up
    to 24 letters stands on two lines.
    """

    said: tuple[str, ...]
    width: int
    wide: tuple[str, ...]
    marks: tuple[int, ...]
    titles: int
    letters: float
    tables: int
    unsorted: int
    crushed: tuple[str, ...]
    moving: int
    lost: tuple[str, ...]
    outside: tuple[str, ...]
    drawn: tuple[tuple[str, int, str], ...]
    unsaid: tuple[str, ...]
    hides: tuple[str, ...]
    cut: tuple[str, ...]
    split: tuple[str, ...]
    typed: tuple[dict[str, Any], ...]


def seen(page: Path, folder: Path, width: int = WIDTH, typed: tuple[str, ...] = ()) -> Seen:
    """Open a copy of ``page``, made in ``folder``, ``width`` pixels wide, and type texts into its first filter, one
    after another; raises ConfigError where no browser is installed."""
    text = page.read_text(encoding="utf-8")
    copy, frame = folder / "watched.html", folder / "frame.html"
    measure = MEASURE.replace("TYPED", json.dumps(typed))
    watched = text.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{measure}</body>", 1)
    copy.write_text(watched, encoding="utf-8")
    frame.write_text(FRAME.format(page=escape(copy.as_uri()), width=width), encoding="utf-8")
    done = headless(
        frame, "--dump-dom", "--enable-logging=stderr", "--v=0", f"--window-size={max(width, 500)},900",
        "--hide-scrollbars", "--virtual-time-budget=5000",
    )  # fmt: skip
    match = re.search(r'<pre id="measured">(.+?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, f"the page did not load: {done.stderr[-1000:]}"
    measured = json.loads(unescape(match[1])).items()
    found = {key: tuple(value) if isinstance(value, list) else value for key, value in measured}
    logged = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Seen(**{**found, "said": (*found["said"], *logged), "letters": found["letters"] or 0.0})


def pages(pdf: Path) -> list[tuple[float, float]]:
    """Width and height of each page of a PDF in points."""
    text = pdf.read_bytes().decode("latin-1")
    assert text.startswith("%PDF-")
    boxes = re.findall(r"/Type /Page\b[^s].*?/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", text, re.DOTALL)
    return [(float(width), float(height)) for width, height in boxes]
