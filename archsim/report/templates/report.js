// Click a heading to sort the table by that column: first down for numbers, up for words, then the other way.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
  };
  table.querySelectorAll("th").forEach((head, column) => {
    head.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const down = head.ariaSort ? head.ariaSort === "ascending" : numeric;
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = down ? "descending" : "ascending";
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        return numeric ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      });
      body.append(...(down ? rows.reverse() : rows));
    });
  });
}
