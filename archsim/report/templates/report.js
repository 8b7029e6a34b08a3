// Click a heading to sort the table by that column: first down for numbers, up for words, then the other way.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
  };
  heads.forEach((head, column) => {
    head.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const down = head.ariaSort ? head.ariaSort === "ascending" : numeric;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = down ? "descending" : "ascending";
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        return numeric ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      });
      body.append(...(down ? rows.reverse() : rows));
    });
  });
}

// Type words to keep the rows that hold all of them in the columns marked data-find; the last row sums what is kept.
const PREFIXES = { "-12": "p", "-9": "n", "-6": "\u00b5", "-3": "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P" };
function prefixed(value, unit) {
  if (!value) return "\u2013";
  const power = Math.min(15, Math.max(-12, 3 * Math.floor(Math.log10(Number(value.toPrecision(3))) / 3)));
  return `${Number((value / 10 ** power).toPrecision(3))} ${PREFIXES[power]}${unit}`.trimEnd();
}
const SHOWN = {
  count: (value) => value.toLocaleString("en"),
  share: (value, cell) => `${((100 * value) / Number(cell.dataset.whole)).toFixed(1)} %`,
  si: (value, cell) => prefixed(value, cell.dataset.unit),
};
for (const box of document.querySelectorAll(".find")) {
  const [input, said] = [box.querySelector("input"), box.querySelector("output")];
  const table = document.getElementById(input.getAttribute("aria-controls"));
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const columns = heads.flatMap((head, column) => (head.dataset.find === undefined ? [] : [column]));
  const totals = table.tFoot ? [...table.tFoot.rows[0].cells] : [];
  const all = totals.map((cell) => cell.textContent);
  const total = (rows, text) => totals.forEach((cell, column) => {
    const sum = rows.reduce((before, row) => before + Number(row.cells[column].dataset.v || 0), 0);
    if (!text) cell.textContent = all[column];
    else if (column === 0) cell.textContent = `sum of ${rows.length} of ${table.tBodies[0].rows.length} rows with "${text}"`;
    else if (cell.dataset.sum) cell.textContent = SHOWN[cell.dataset.sum](sum, cell);
  });
  const find = () => {
    const rows = [...table.tBodies[0].rows], text = input.value.trim();
    const words = text.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const held = columns.map((column) => row.cells[column].textContent).join("\n").toLowerCase();
      row.hidden = !words.every((word) => held.includes(word));
    }
    const kept = rows.filter((row) => !row.hidden);
    said.textContent = text ? `${kept.length} of ${rows.length} rows` : "";
    total(kept, text);
  };
  input.addEventListener("input", find);
  box.hidden = false;
  if (input.value) find();
}
