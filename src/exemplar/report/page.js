"use strict";
// Any table of class "sorts": a click on a column's head sorts its rows, numbers from the largest, names from the first; again, the
// other way round. What is missing comes last, either way.
function sortKey(row, column) {
  const cell = row.cells[column], value = cell.dataset.value;
  return value !== undefined ? Number(value) : cell.classList.contains("number") ? null : cell.textContent.trim();
}
function sortBy(head, direction) {
  const table = head.closest("table"), column = head.cellIndex, rows = [...table.tBodies[0].rows];
  rows.sort((one, other) => {
    const a = sortKey(one, column), b = sortKey(other, column);
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
    return direction === "ascending" ? order : -order;
  });
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
  table.tBodies[0].append(...rows);
}
function sortFromHead(head) {
  const now = head.getAttribute("aria-sort");
  const first = head.classList.contains("number") ? "descending" : "ascending";
  sortBy(head, now === null ? first : now === "ascending" ? "descending" : "ascending");
}
for (const head of document.querySelectorAll("table.sorts thead th")) {
  head.tabIndex = 0;
  head.addEventListener("click", () => sortFromHead(head));
  head.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    sortFromHead(head);
  });
}

// A table whose numbers are chosen: data-values[choice][row][column] is [value, low, high], or null. Bars are shares of the largest.
const written = value => (Math.abs(value) < 1000 ? value.toFixed(3) : Math.round(value).toLocaleString("en"))
  .replace(/^-(?=[0.]*$)/, "").replace("-", "−");
for (const block of document.querySelectorAll(".choices")) {
  const values = JSON.parse(block.dataset.values), table = block.querySelector("table"), rows = table.tBodies[0].rows;
  const choice = block.querySelector("select"), filter = block.querySelector("input");
  const show = chosen => {
    const largest = Math.max(...values[chosen].flat().map(entry => entry ? entry[0] : 0));
    for (const row of rows) {
      const cells = row.querySelectorAll("td.number");
      values[chosen][row.dataset.row].forEach((entry, column) => {
        const cell = cells[column];
        cell.textContent = entry ? written(entry[0]) : "–";
        cell.removeAttribute("title");
        if (entry) cell.dataset.value = entry[0]; else delete cell.dataset.value;
        cell.style.setProperty("--share", entry && largest > 0 ? 100 * Math.max(0, entry[0]) / largest + "%" : "0%");
        if (entry && entry[1] !== null) {
          const small = document.createElement("small");
          small.textContent = "[" + written(entry[1]) + ", " + written(entry[2]) + "]";
          cell.append(small);
        }
      });
    }
    const sorted = table.querySelector("th[aria-sort]");
    if (sorted) sortBy(sorted, sorted.getAttribute("aria-sort"));
  };
  choice.addEventListener("change", () => show(choice.value));
  filter.addEventListener("input", () => {
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(filter.value.toLowerCase());
  });
  if (values.length) show(choice.value);
}

// No line ends between a number and its percent sign.
const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const text = texts.currentNode;
  if (text.data.includes(" %") && !text.parentNode.closest("pre, code")) text.data = text.data.replaceAll(" %", "\u00a0%");
}

// What scrolls sideways can be scrolled by keys.
function reachScrolled() {
  for (const part of document.querySelectorAll(".scroll, .card, pre")) {
    if (part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}
for (const when of ["load", "resize", "toggle"]) addEventListener(when, reachScrolled, true);

addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
