/* The table of the front, and the controls. */

// the table
const thin = data.total > data.front;
function tellThinned() {
  $("thinned").hidden = !thin;
  if (!thin) return;
  $("thinned").textContent = `This page holds ${whole(data.front)} of ${whole(data.total)} designs, evenly, with the best of each objective, the Nash design and those explained. All are in ${data.folder}/front.csv.`;
  $("download").title = `The ${whole(data.front)} designs on this page`;
  $("download").setAttribute("download", "front-some.csv");
}
function header(column, title) {
  const { condition } = objectiveOf.get(column.name) || {};
  return make("th", { class: numberClass(column), scope: "col", title: column.about }, title, condition ? small(condition) : null);
}
const tabled = [numbered, ...ordered];
/* A design's number is its name, as commands and filters take it. */
const tableCell = (column, row) => (column === numbered ? String(designs[row]) : cell(column, row));
const inTable = new Map(tabled.map((column) => [column.name, column]));
/* All rows in the order that is asked for: sorted once, however often the selection changes. */
const sortedRows = (() => {
  let key = "", rows = front;
  return () => {
    if (key === `${state.descending} ${state.sort}`) return rows;
    key = `${state.descending} ${state.sort}`;
    const { values, number } = inTable.get(state.sort), sign = state.descending ? -1 : 1;
    const compare = number
      ? (a, b) => (Number.isNaN(values[a]) - Number.isNaN(values[b])) || sign * (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0)
      : (a, b) => sign * values[a].localeCompare(values[b], "en", { numeric: true });
    rows = front.slice().sort((a, b) => compare(a, b) || a - b);
    return rows;
  };
})();
function order() {
  state.order = sortedRows().filter((row) => selected[row]);
  state.page = 0;
  showTable();
}
function showTable() {
  const size = Number($("page-size").value), pages = Math.max(1, Math.ceil(state.order.length / size));
  const rows = state.order.slice(state.page * size, (state.page + 1) * size);
  const shown = tabled.filter(({ role }) => role !== "input" || $("set-by-options").checked);
  const heads = shown.map((column) => {
    const sort = () => {
      state.descending = state.sort === column.name && !state.descending;
      state.sort = column.name;
      order();
      saveState(true);
      $("front-table").querySelector("th[aria-sort] button").focus();
    };
    const head = header(column, make("button", { title: column.about, onclick: sort }, ...breakable(column.title)));
    if (state.sort === column.name) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
    return head;
  });
  const cells = (row) => shown.map((column) => make("td", { class: numberClass(column) }, tableCell(column, row)));
  const lines = rows.map((row) => make("tr", choosable(row), ...cells(row)));
  $("front-table").replaceChildren(...table(heads, lines));
  $("page").textContent = `page ${state.page + 1} of ${whole(pages)}`;
  $("previous").disabled = state.page === 0;
  $("next").disabled = state.page >= pages - 1;
}
// start
function fillSelect(which) {
  const select = $(`axis-${which}`);
  for (const [role, heading] of roles) {
    const mine = ordered.filter((column) => column.role === role);
    const options = mine.map((column) => make("option", { value: column.name }, column.name));
    if (mine.length) select.append(make("optgroup", { label: heading }, ...options));
  }
  select.value = axes[which].name;
  select.addEventListener("change", () => { axes[which].name = select.value; if (which !== "color") resetLog(which); draw(); saveState(true); });
}
function connect() {
  for (const which of ["x", "y", "color"]) fillSelect(which);
  for (const which of ["x", "y"]) $(`log-${which}`).addEventListener("change", (event) => { axes[which].log = event.target.checked; draw(); saveState(true); });
  for (const id of Object.values(boxes)) $(id).addEventListener("change", () => { draw(); saveState(true); });
  const views = Object.keys(drawers);
  for (const name of views) {
    const tab = $(`tab-${name}`), show = (view) => { state.view = view; hideTooltip(); draw(); saveState(true); };
    tab.addEventListener("click", () => show(name));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = views[(views.indexOf(name) + step + views.length) % views.length];
      show(next);
      $(`tab-${next}`).focus();
    });
  }
  $("view").addEventListener("mousemove", (event) => { mouse = event; }, true);
  $("view").addEventListener("mouseleave", hideTooltip);
  $("previous").addEventListener("click", () => { state.page -= 1; showTable(); });
  $("next").addEventListener("click", () => { state.page += 1; showTable(); });
  $("set-label").hidden = !withRole("input").length;
  $("set-by-options").addEventListener("change", showTable);
  $("page-size").addEventListener("change", () => { state.page = 0; showTable(); });
  const seen = new ResizeObserver(() => {
    const plot = $(state.view);
    if (state.view === "parallel") drawParallel();
    else if (plot.classList.contains("js-plotly-plot")) Plotly.Plots.resize(plot);
  });
  seen.observe($("view")); // the plot is as tall as the column next to it
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });
}
function redraw() {
  if (front.length) draw();
  drawRun();
  const explained = state.selected !== null && data.explanations[designs[state.selected]];
  if (explained) drawPanels(explained.panels);
}
/* How many designs each constraint cuts, in sum and alone. */
function showCuts() {
  $("cuts").hidden = !data.cuts.length;
  const share = (n) => `${whole(n)} (${((100 * n) / Math.max(1, data.evaluated)).toFixed(1)}\u2009%)`;
  const rows = data.cuts.map(({ name, violated, alone }) => make("tr", {}, make("td", { class: "words" }, name), make("td", { class: "number" }, share(violated)), make("td", { class: "number" }, share(alone))));
  $("cuts-table").replaceChildren(...table([th("constraint"), th("violated by", "number"), th("by it alone", "number")], rows));
}

// the bar
const shortTitles = { "answer-title": "Answer", "front-title": "Trade-offs", "callsize-title": "Inputs" };
/* Links to the sections that are shown. */
function showContents() {
  const models = $("models").firstElementChild, sections = [...document.querySelectorAll("main > section[id], main > details[id]")].filter((each) => !each.hidden);
  const links = sections.map((each) => {
    const heading = each.querySelector("h2"), words = shortTitles[heading.id] || heading.textContent;
    return make("li", {}, make("a", { href: `#${each.id}`, onclick: () => { if (each.tagName === "DETAILS") each.open = true; } }, words));
  });
  if (models) links.splice(links.length - 2, 0, make("li", {}, make("a", { href: `#${models.id}` }, "Models")));
  $("contents").replaceChildren(...links);
}
function connectBar() {
  $("print").addEventListener("click", () => print());
  $("copy-link").addEventListener("click", async (event) => {
    const button = event.currentTarget;
    try { await navigator.clipboard.writeText(location.href); button.textContent = "Copied"; } catch { button.textContent = "Copy it from the address"; }
    setTimeout(() => { button.textContent = "Copy link"; }, 2000);
  });
  $("details").addEventListener("toggle", drawRun);
}
function start() {
  showCuts();
  showSections();
  showAssumptions();
  tellThinned();
  connectBar();
  if (!front.length) {
    for (const id of ["tradeoffs", "why", "alternatives", "designs", "tiles", "built", "preferences", "chosen", "download"]) $(id).hidden = true;
    $("sentence").textContent = "No feasible design was found.";
    showContents();
    return;
  }
  connect();
  connectSelection();
  connectPins();
  connectPreferences();
  Object.assign(chosen, recommend(preferences));
  $("cloud-label").hidden = !infeasible.size;
  state.selected = startRow();
  connectState();
  openState();
  showContents();
}
const startRow = () => chosen.row ?? objectives[0].best;
start();
