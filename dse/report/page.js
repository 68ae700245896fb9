/* The chosen design, the tables, and the controls. */

// the chosen design
function fact(column, row) {
  const note = goalOf.has(column.name) && goalOf.get(column.name).condition;
  return make("div", { title: column.about }, make("dt", {}, column.name, note ? small(note) : null), make("dd", {}, text(column, row)));
}
function badges(row) {
  const marks = row === data.knee ? ["knee"] : [];
  for (const goal of goals) if (bestRow(goal) === row) marks.push(`best ${goal.name}`);
  if (row >= data.front) marks.push("dominated");
  return marks.flatMap((mark) => [" ", make("span", { class: "badge" }, mark)]);
}
function showDesign(row) {
  $("design-title").replaceChildren(`Design ${whole(designs[row])}`, ...badges(row));
  const groups = roles.map(([role, heading]) => {
    const list = withRole(role).map((column) => fact(column, row));
    const kind = role === "objective" ? "facts strong" : "facts";
    return list.length ? make("div", {}, make("h3", {}, heading), make("dl", { class: kind }, ...list)) : null;
  });
  $("design-values").replaceChildren(...groups.filter(Boolean));
}
const unitOf = (name) => (byName.has(name) ? byName.get(name).unit : "1");
/* "10 → 1 cycle": the unit once where both have it. */
function change(from, to, unit) {
  const [before, after] = [quantity(real(from), unit), quantity(real(to), unit)], shown = before.split(" ")[1];
  return `${shown && after.endsWith(` ${shown}`) ? before.split(" ")[0] : before} → ${after}`;
}
const gainText = (gain) => (real(gain) === Infinity ? "now possible" : `${digits(Number(real(gain).toPrecision(3)))}×`);
function nextSteps(explanation) {
  if (!explanation.next.length) {
    const why = explanation.sensitivities.length
      ? "No single input limits this design: improving any one of them gains too little to count."
      : "No input of this study declares which way it improves.";
    return make("p", { class: "next" }, why);
  }
  const items = explanation.next.map((i) => {
    const [goal, input, symbol, unit, value, improved, before, after, gain] = explanation.sensitivities[i];
    const factor = real(gain) === Infinity ? gainText(gain) : `better by ${gainText(gain)}`;
    const told = `, ${change(value, improved, unit)}. That takes it ${change(before, after, unitOf(goal))}, ${factor}`;
    return make("li", {}, make("em", {}, goal), ": improve ", make("strong", {}, named(input, symbol)), told);
  });
  return make("div", { class: "next" }, make("strong", {}, "What to change next"), make("ul", {}, ...items));
}
function breakdown(parts) {
  if (!parts.length) return null;
  const colors = new Map([...new Set(parts.map((part) => part[2]))].map((name, i) => [name, data.palette[i % data.palette.length]]));
  const totals = new Map();
  for (const part of parts) {
    const key = JSON.stringify([part[1], part[0]]);
    totals.set(key, [...(totals.get(key) || []), part]);
  }
  const bars = [...totals].map(([key, list]) => {
    const [total, goal] = JSON.parse(key), sum = list.reduce((all, part) => all + real(part[4]), 0);
    const share = (part) => Math.max(0, real(part[5]) || 0), told = (part) => `${part[2]} ${quantity(real(part[4]), part[3])}`;
    const segment = (part) => {
      const narrow = share(part) < 0.12, style = { width: `${100 * share(part)}%`, background: colors.get(part[2]) };
      return make("span", { class: narrow ? "thin" : "", title: told(part), style }, narrow ? "" : `${(100 * share(part)).toFixed(0)} %`);
    };
    const names = list.map((part) => make("span", {}, swatch(colors.get(part[2])), told(part)));
    const note = goal ? make("span", { class: "hint" }, ` · for ${goal}`) : null;
    const heading = make("div", {}, make("strong", {}, total), ` ${quantity(sum, list[0][3])}`, note);
    return make("div", {}, heading, make("div", { class: "bar" }, ...list.map(segment)), make("div", { class: "legend" }, ...names));
  });
  return make("div", {}, make("h3", {}, "Where it goes"), ...bars);
}
function bottlenecks(list) {
  if (!list.length) return null;
  const widest = Math.log(Math.max(2, ...list.map((item) => Math.min(real(item[8]) || 1, 1e3))));
  const line = ([goal, input, symbol, unit, value, improved, before, after, gain, limits]) => {
    const length = Math.max(0, Math.log(Math.min(real(gain) || 1, 1e3)) / widest);
    const bar = make("span", { class: "gain", style: { width: `${Math.round(56 * length)}px` } });
    const cells = [td(named(input, symbol)), td(change(value, improved, unit)), td(change(before, after, unitOf(goal))), td(bar, gainText(gain))];
    return make("tr", { class: limits ? "" : "below", hidden: !limits }, ...cells);
  };
  const rows = [];
  for (const goal of goals) {
    const mine = list.filter((item) => item[0] === goal.name);
    if (!mine.length) continue;
    const none = mine.some((item) => item[9]) ? "" : ": no bottleneck";
    const title = goal.name + (goal.condition ? ` ${goal.condition}` : "") + none;
    rows.push(make("tr", {}, make("th", { colspan: 4, scope: "rowgroup" }, title)), ...mine.map(line));
  }
  const hidden = list.filter((item) => !item[9]).length;
  const button = make("button", { onclick: showAll }, `Show ${hidden} more that gain too little`);
  function showAll() {
    for (const row of rows) row.hidden = false;
    button.hidden = true;
  }
  const head = ["input", "improved", "objective", "gain"].map((name) => th(name));
  return make("div", { id: "bottlenecks" }, make("h3", {}, "Bottlenecks"), scrolled(head, rows), hidden ? make("p", {}, button) : null);
}
function regionsPanel(regions, i) {
  const end = (value, last) => make("td", { class: "number" }, quantity(real(value), regions.unit), last ? small("end of the axis") : null);
  const rows = regions.rows.map(([label, inputs, low, high, color], k, all) => {
    const limits = make("td", { style: { whiteSpace: "normal" } }, inputs.join(", ") || "nothing limits");
    return make("tr", {}, td(swatch(color), label || "–"), limits, end(low, k === 0), end(high, k === all.length - 1));
  });
  const head = [th("region"), th("bottlenecks"), th("from", "number"), th("to", "number")];
  const [gain, factor] = [digits(100 * regions.threshold), digits(regions.factor)];
  const note = `In each region, the named inputs improve ${regions.objective} by at least ${gain} % when they get ${factor}× better.`;
  const table = make("div", {}, make("p", { class: "hint" }, note), scrolled(head, rows));
  const plot = make("div", { class: "plot regions", id: `regions-${i}` });
  const heading = make("h3", {}, `Optimization regions of ${regions.objective} along ${regions.axis}`);
  return make("div", {}, heading, make("div", { class: "panels wide" }, plot, table));
}
function drawRegions(explanation) {
  explanation.regions.forEach(({ plot }, i) => {
    const [base, ...improved] = plot.data, ink = theme().ink;
    const curves = [{ ...base, line: { ...base.line, color: ink } }, ...improved.map((curve) => ({ ...curve, x: base.x }))];
    Plotly.react(`regions-${i}`, curves, themed(plot.layout), config);
  });
}
function showLimits(row) {
  const design = designs[row], explanation = data.explanations[design];
  $("limits-title").textContent = `What limits design ${whole(design)}`;
  if (!explanation) {
    $("limits-body").replaceChildren(make("p", {}, "This report does not hold it. In a terminal: ", make("code", {}, data.explain + design)));
    return;
  }
  const panels = [breakdown(explanation.parts), bottlenecks(explanation.sensitivities)].filter(Boolean);
  $("limits-body").replaceChildren(nextSteps(explanation), make("div", { class: "panels" }, ...panels), ...explanation.regions.map(regionsPanel), ...explanation.curves.map(curvePanel));
  drawRegions(explanation);
  drawCurves(explanation);
}

// best designs
function bestRow(goal) {
  const sign = goal.direction === "minimize" ? 1 : -1, { values } = goal.column;
  return front.reduce((best, row) => (best === null || sign * values[row] < sign * values[best] ? row : best), null);
}
const breakable = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
function header(column, ...title) {
  const condition = goalOf.has(column.name) && goalOf.get(column.name).condition;
  const attributes = { class: numberClass(column), scope: "col", title: column.about };
  return make("th", attributes, ...(title.length ? title : breakable(column.title)), condition ? small(condition) : null);
}
function showBest() {
  const lines = goals.map((goal) => [`${goal.direction === "maximize" ? "highest" : "lowest"} ${goal.name}`, bestRow(goal), goal.name]);
  if (data.knee !== null) lines.push(["knee: the best compromise", data.knee, ""]);
  const shown = [...goals.map((goal) => goal.column), ...withRole("variable")];
  const rows = lines.map(([name, row, which]) => {
    const cells = shown.map((column) => make("td", { class: `${numberClass(column)} ${column.name === which ? "best" : ""}` }, cell(column, row)));
    return make("tr", choosable(row), td(name), make("td", { class: "number" }, whole(designs[row])), ...cells);
  });
  $("best").replaceChildren(...table([th(""), th("design", "number"), ...shown.map((column) => header(column))], rows));
}

// the table
const numbered = { name: "design", title: "design", about: "number of the design", number: true, scale: 1, values: designs };
const tabled = [numbered, ...ordered];
const inTable = new Map(tabled.map((column) => [column.name, column]));
const tests = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "=": (a, b) => a === b };
/* A word must occur in an option or be the number; a limit such as area<=2 is in the shown unit. */
function filters() {
  return $("filter").value.trim().split(/\s+/).filter(Boolean).map((word) => {
    const limit = word.match(/^([^<>=]+)(<=|>=|<|>|=)(.+)$/), column = limit && inTable.get(limit[1]);
    if (limit && !column) return { problem: `no column “${limit[1]}”` };
    if (limit && column.number) {
      const bound = limit[3] === column.infinite ? Infinity : Number(limit[3].replaceAll(",", ""));
      if (Number.isNaN(bound)) return { problem: `“${limit[3]}” is no number` };
      return { keeps: (row) => tests[limit[2]](column.values[row] / column.scale, bound) };
    }
    const sought = (limit ? limit[3] : word).toLowerCase(), where = limit ? [column] : tabled.filter((each) => !each.number);
    return { keeps: (row) => (!limit && String(designs[row]) === sought) || where.some((each) => each.values[row].toLowerCase().includes(sought)) };
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
  const count = `${whole(kept.length)} of ${whole(front.length)} designs`;
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
  $("filter").placeholder = `words and limits, such as ${goals[0].name}>${digits(1)}`;
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
function drawConvergence() {
  $("convergence").hidden = !data.convergence;
  if (!data.convergence) return;
  const layout = { ...data.convergence.layout, margin: { l: 60, r: 60, t: 30, b: 45 } };
  Plotly.react("convergence", data.convergence.data, themed(layout), config);
}
function redraw() {
  draw();
  drawConvergence();
  drawSections();
  if (state.selected !== null && data.explanations[designs[state.selected]]) [drawRegions, drawCurves].forEach((draw) => draw(data.explanations[designs[state.selected]]));
}
function start() {
  drawConvergence();
  showSections();
  if (!front.length) {
    for (const id of ["explore", "limits"]) $(id).hidden = true;
    $("best").replaceChildren(make("caption", {}, "No feasible design was found."));
    return;
  }
  connect();
  showBest();
  order();
  draw();
  select(data.knee === null ? bestRow(goals[0]) : data.knee);
}
start();
