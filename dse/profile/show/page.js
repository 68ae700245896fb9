// Tables that are sorted by a click on a heading and searched by what is typed; the graph that is chosen.
for (const table of document.querySelectorAll("table.sorted")) {
  const body = table.tBodies[0];
  const value = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent;
  const compare = (a, b) => (isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b);
  [...table.tHead.rows[0].cells].forEach((cell, at) => {
    cell.querySelector("button").addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      body.append(...[...body.rows].sort((a, b) => sign * compare(value(a, at), value(b, at))));
    });
  });
  const search = document.querySelector(`input[data-table="${table.id}"]`);
  const few = Number(table.dataset.few);
  const show = () => {
    const wanted = search.value.toLowerCase();
    [...body.rows].forEach((row, at) => {
      row.hidden = wanted ? !row.dataset.name.toLowerCase().includes(wanted) : at >= few;
    });
  };
  search.addEventListener("input", show);
  table.tHead.addEventListener("click", show);
  show();
}
const choose = document.getElementById("choose");
choose?.addEventListener("change", () => {
  for (const graph of document.querySelectorAll(".graph"))
    graph.classList.toggle("shown", graph.id === `graph-${choose.value}`);
});
