/* The table of the front, and the controls. */

// the table
const thin = data.total > data.front;
function tellThinned() {
  $("thinned").hidden = !thin;
  if (!thin) return;
  $("thinned").textContent = `Drawn: ${whole(data.front)} of ${whole(data.total)} designs, evenly, with the best of each objective, the knee and those explained. Table and download hold these; all are in ${data.folder}/front.csv.`;
  $("download").textContent = `Download the ${whole(data.front)} that are drawn (CSV)`;
  $("download").setAttribute("download", "front-drawn.csv");
}
const numbered = { name: "design", title: "design", about: "number of the design", number: true, scale: 1, decimals: 0, values: designs };
const tabled = [numbered, ...ordered];
const inTable = new Map(tabled.map((column) => [column.name, column]));
const tests = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "=": (a, b) => a === b };
/* A word must occur in an option or be the number; a condition such as area<=2 is in the shown unit. */
function filters() {
  return $("filter").value.trim().split(/\s+/).filter(Boolean).map((word) => {
    const asked = word.match(/^([^<>=]+)(<=|>=|<|>|=)(.+)$/), column = asked && inTable.get(asked[1]);
    if (asked && !column) return { problem: `no column “${asked[1]}”` };
    if (asked && column.number) {
      const bound = asked[3] === column.infinite ? Infinity : Number(asked[3].replaceAll(",", ""));
      if (Number.isNaN(bound)) return { problem: `“${asked[3]}” is not a number` };
      return { keeps: (row) => tests[asked[2]](column.values[row] / column.scale, bound) };
    }
    const sought = (asked ? asked[3] : word).toLowerCase(), searched = asked ? [column] : tabled.filter((each) => !each.number);
    return { keeps: (row) => (!asked && String(designs[row]) === sought) || searched.some((each) => each.values[row].toLowerCase().includes(sought)) };
  });
}
function order() {
  const tested = filters(), problem = tested.find((each) => each.problem);
  const kept = problem ? [] : front.filter((row) => (!state.brushed || state.brushed.has(row)) && tested.every((each) => each.keeps(row)));
  const { values, number } = inTable.get(state.sort), sign = state.descending ? -1 : 1;
  const compare = number
    ? (a, b) => (Number.isNaN(values[a]) - Number.isNaN(values[b])) || sign * (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0)
    : (a, b) => sign * values[a].localeCompare(values[b], "en", { numeric: true });
  state.order = kept.sort((a, b) => compare(a, b) || a - b);
  state.page = 0;
  const count = `${whole(kept.length)} of ${whole(front.length)} designs${thin ? " that are drawn" : ""}`;
  $("matches").textContent = problem ? problem.problem : count + (state.brushed ? ", as chosen in parallel coordinates" : "");
  $("unbrush").hidden = !state.brushed;
  showTable();
}
function showTable() {
  const size = Number($("page-size").value), pages = Math.max(1, Math.ceil(state.order.length / size));
  const rows = state.order.slice(state.page * size, (state.page + 1) * size);
  const heads = tabled.map((column) => {
    const sort = () => {
      state.descending = state.sort === column.name && !state.descending;
      state.sort = column.name;
      order();
      $("front-table").querySelector("th[aria-sort] button").focus();
    };
    const head = header(column, make("button", { title: column.about, onclick: sort }, ...breakable(column.title)));
    if (state.sort === column.name) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
    return head;
  });
  const cells = (row) => tabled.map((column) => make("td", { class: numberClass(column) }, cell(column, row)));
  const lines = rows.map((row) => make("tr", choosable(row), ...cells(row)));
  $("front-table").replaceChildren(...table(heads, lines));
  $("page").textContent = `page ${state.page + 1} of ${whole(pages)}`;
  $("previous").disabled = state.page === 0;
  $("next").disabled = state.page >= pages - 1;
}
function csv() {
  const quoted = (words) => (/[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
  const exact = (v) => (Number.isNaN(v) ? "" : Number.isFinite(v) ? String(v) : v > 0 ? "inf" : "-inf");
  const shown = [inTable.get("design"), ...columns];
  const lines = front.map((row) => shown.map((column) => (column.number ? exact(column.values[row]) : quoted(column.values[row]))).join(","));
  return [shown.map((column) => quoted(column.name)).join(","), ...lines, ""].join("\n");
}

// start
function fillSelect(which, allowed) {
  const select = $(`axis-${which}`);
  for (const [role, heading] of roles) {
    const mine = ordered.filter((column) => column.role === role && allowed(column));
    const options = mine.map((column) => make("option", { value: column.name }, column.name));
    if (mine.length) select.append(make("optgroup", { label: heading }, ...options));
  }
  select.value = axes[which].name;
  select.addEventListener("change", () => { axes[which].name = select.value; if (which !== "color") resetLog(which); draw(); });
}
function connect() {
  for (const which of ["x", "y", "z", "color"]) fillSelect(which, (column) => which !== "z" || column.number);
  for (const which of ["x", "y", "z"]) $(`log-${which}`).addEventListener("change", (event) => { axes[which].log = event.target.checked; draw(); });
  $("dominated").addEventListener("change", draw);
  const views = Object.keys(drawers);
  for (const name of views) {
    const tab = $(`tab-${name}`), show = (view) => { state.view = view; hideTooltip(); draw(); };
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
  $("filter").addEventListener("input", order);
  $("filter").placeholder = `words and conditions, such as ${objectives[0].name}>${digits(1)}`;
  $("unbrush").addEventListener("click", () => {
    state.brushed = null;
    Plotly.purge("parallel");
    delete $("parallel").dataset.listening;
    if (state.view === "parallel") draw();
    order();
  });
  $("previous").addEventListener("click", () => { state.page -= 1; showTable(); });
  $("next").addEventListener("click", () => { state.page += 1; showTable(); });
  $("page-size").addEventListener("change", () => { state.page = 0; showTable(); });
  $("download").addEventListener("click", (event) => {
    const link = event.currentTarget;
    URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  });
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
function start() {
  showSections();
  tellThinned();
  if (!front.length) {
    for (const id of ["front", "design", "on-front"]) $(id).hidden = true;
    $("best").replaceChildren(make("caption", {}, "No feasible design was found."));
    return;
  }
  connect();
  showBest();
  order();
  draw();
  select(data.knee === null ? bestRow(objectives[0]) : data.knee);
}
start();
