/* The front in 2-D; what a pointer on it does. */

// plots
const config = {
  responsive: true, displaylogo: false, showSendToCloud: false,
  modeBarButtonsToRemove: ["autoScale2d", "sendChartToCloud"],
};
const planeConfig = {
  ...config, modeBarButtonsToRemove: [...config.modeBarButtonsToRemove, "toImage"],
  modeBarButtonsToAdd: [{ name: "Download the plot as PNG", icon: Plotly.Icons.camera, click: savePlane }],
};
let printing = false;
function theme() {
  const style = getComputedStyle(document.documentElement);
  const look = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["ink", "soft", "line", "card"], light = ["#1d2530", "#5b6675", "#dfe3e9", "#ffffff"];
  return Object.fromEntries(names.map((name, i) => [name, printing ? light[i] : look(name)]));
}
function themed(layout) {
  const { ink, soft, line, card } = theme();
  const themedAxis = (axis) => ({ gridcolor: line, zerolinecolor: line, linecolor: line, tickfont: { color: soft }, ...axis });
  const result = {
    showlegend: true, ...(printing ? { width: 660, height: 200 } : { autosize: true }), ...layout,
    margin: { l: 64, r: 24, t: 34, b: 48, ...layout.margin },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink } },
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    modebar: { color: soft, activecolor: ink, bgcolor: "rgba(0,0,0,0)" },
  };
  for (const name of Object.keys(result)) if (/^[xy]axis\d*$/.test(name)) result[name] = themedAxis(result[name]);
  return result;
}
/* Where the rows of a column are drawn: infinite values on a rail beyond the front, and not what
   dominated designs have beyond it. Scales, rails, ranges and ticks come from dse.report.scales. */
const scaleOf = (column, log) => column.scales[Number(log)];
function coordinates(column, log, rows) {
  if (!column.number) return { values: rows.map((row) => plain(column.values[row])), rail: null };
  const { rail } = scaleOf(column, log), values = rows.map((row) => column.values[row] / column.scale);
  const place = (v) => (v === Infinity ? rail : Number.isFinite(v) && (!log || v > 0) && (rail === null || v < rail) ? v : null);
  return { values: values.map(place), rail: values.includes(Infinity) ? rail : null };
}
/* A long title in lines, which the height of the plot has room for. */
function titleOf(which, words) {
  const lines = which === "y" && words.length > 52 ? words.split(" · ").flatMap((line) => (line.length > 56 ? line.split(/(?<=,) /) : [line])) : [words];
  return lines.map(plain).join("<br>");
}
function axisLayout(which) {
  const { name, log } = axes[which], column = byName.get(name);
  const type = !column.number ? "category" : log ? "log" : "linear";
  const layout = { title: { text: titleOf(which, column.axis), standoff: 10 }, type, automargin: true, separatethousands: true, exponentformat: "SI" };
  if (!column.number) return { ...layout, categoryorder: "array", categoryarray: column.categories.map(plain) };
  const { shown, powers, whole: at } = scaleOf(column, log);
  const ticks = at ? { tickvals: at, ticktext: at.map((value) => digits(value)) } : log ? powers : {};
  return { ...layout, ...ticks, ...(shown ? { range: shown, autorange: false } : {}) };
}
const warped = (values, log) => values.map((v) => (v === null ? null : log ? Math.log10(v) : v));
/* Ticks of the colours, where they lie: at round places, or at both ends. */
function ticksOf({ ticks, whole: at }, low, high, log) {
  const all = ticks || (at && at.map((value) => [value, digits(value)])), end = (place) => [place, digits(Number((log ? 10 ** place : place).toPrecision(2)))];
  if (!all || !(low < high)) return {};
  const inside = all.filter(([place]) => place >= low && place <= high), shown = inside.length > 1 ? inside : [end(low), end(high)];
  return { tickvals: shown.map(([place]) => place), ticktext: shown.map(([, words]) => words) };
}
function colors(column, rows) {
  const log = column.color_log, bar = { title: { text: plain(column.title), side: "right" }, thickness: 12, outlinewidth: 0, len: 0.9 };
  const color = warped(coordinates(column, log, rows).values, log);
  const [cmin, cmax] = spanOfPlaces(column, log);
  const ends = cmin < cmax ? { cmin, cmax } : {};
  return { color, ...ends, colorscale: data.colorscale, colorbar: { ...bar, ...ticksOf(scaleOf(column, log), cmin, cmax, log) } };
}
function thinned(rows, count) {
  return rows.length <= count ? rows : Array.from({ length: count }, (_, i) => rows[Math.floor((i * (rows.length - 1)) / (count - 1))]);
}
/* What is drawn of the front: of many designs some, evenly; of those not selected fewer. */
function drawnOfFront() {
  const some = nSelected < nAlive, unselected = some ? rowsOf(alive).filter((row) => !selected[row]) : [];
  const ofObjectives = ["x", "y"].every((d) => objectiveOf.has(axes[d].name)), points = ofObjectives ? distinctRows : (rows) => rows; // ties are one point
  return { rows: thinned(points(rowsOf(selected)), data.drawn), unselected: thinned(points(unselected), data.drawn / 4) };
}
/* What is not feasible: what is explained, and if asked for the sample that the run kept. */
function infeasibleShown() {
  const explained = (row) => row === state.selected || designs[row] in data.explanations;
  return $("cloud").checked ? [...infeasible] : [...infeasible].filter(explained);
}
/* Dominated designs, the front by colour, Nash design and choice. */
function traces(size) {
  const dominated = $("dominated").checked ? others : [], broken = infeasibleShown();
  const { rows, unselected } = drawnOfFront(), scatter = (list, name, marker, dot = false) => {
    if (dot && dots.on) return dotted(list, name, marker);
    const placed = ["x", "y"].map((d) => [d, coordinates(byName.get(axes[d].name), axes[d].log, list).values]);
    return { type: "scatter", mode: "markers", hoverinfo: "none", name, marker, customdata: list, ...Object.fromEntries(placed) };
  };
  const list = [];
  if (dominated.length) list.push(scatter(dominated, "dominated", { color: data.neutral, size: size * 0.6, opacity: 0.35 }, true));
  for (const [name, color, part] of byViolation(broken)) list.push(scatter(part, name, { color, size, symbol: "x" }));
  if (unselected.length) list.push(scatter(unselected, "not selected", { color: data.neutral, size, opacity: 0.3 }, true));
  const column = byName.get(axes.color.name);
  const edge = { width: rows.length > 3000 ? 0 : 0.5, color: theme().soft };
  if (column.number) {
    const held = rows.length < data.drawn ? nSelected : rows.length, shown = held < data.total ? `${whole(held)} of ${whole(data.total)}` : whole(held);
    list.push(scatter(rows, `front (${shown})`, { size, line: edge, ...colors(column, dots.on ? [] : rows) }, true));
  } else {
    column.options.forEach((option, i) => {
      const part = rows.filter((row) => column.values[row] === option);
      if (part.length) list.push(scatter(part, plain(option), { size, line: edge, color: categoryColor(i), symbol: categoryShape(i) }, true));
    });
  }
  const { ink } = theme(), inSight = (row) => row !== null && (row >= count ? broken.includes(row) || dominated.includes(row) : alive[row]);
  const ring = (symbol, color, times, width) => ({ size: size * times, symbol, color, line: { width, color } });
  const marked = (row, name, marker) => scatter(inSight(row) ? [row] : [], name, marker);
  if (data.nash !== null) list.push(marked(data.nash, "Nash design", ring("diamond-open", ink, 2, 2)));
  list.push(marked(state.selected, "selected", ring("circle-open", "#d03050", 2.2, 3)));
  const rails = Object.fromEntries(["x", "y"].map((d) => {
    const at = byName.get(axes[d].name), shown = [...rows, ...unselected, ...dominated, ...broken];
    return [d, at.number && shown.some((row) => at.values[row] === Infinity) ? scaleOf(at, axes[d].log).rail : null];
  }));
  return { list, rails };
}
/* Infeasible designs by the first constraint that they violate, each in a colour of its own. */
function byViolation(rows) {
  if (!rows.length) return [];
  if (!$("cloud").checked) return [["infeasible", data.neutral, rows]];
  const names = data.cuts.map(({ name }) => name), of = (row) => data.violated[designs[row]] ?? -1;
  const groups = new Map();
  for (const row of rows) groups.set(of(row), [...(groups.get(of(row)) || []), row]);
  const keys = [...groups.keys()].sort((a, b) => a - b);
  return keys.map((k) => [k < 0 ? "infeasible" : `violates ${plain(names[k])}`, k < 0 ? data.neutral : categoryColor(k), groups.get(k)]);
}
/* Names of the designs that matter, next to their points. */
function directLabels() {
  const named = new Map(), add = (row, words) => { if (row !== null && row < count && alive[row]) named.set(row, [...(named.get(row) || []), words]); };
  add(chosen.row, chosen.role);
  for (const d of ["x", "y"]) {
    const objective = objectiveOf.get(axes[d].name);
    if (objective) add(objective.best, `${objective.direction === "maximize" ? "highest" : "lowest"} ${worded(objective.name)}`);
  }
  if (state.selected !== chosen.row) add(state.selected, "selected");
  const { ink, card } = theme(), placed = [];
  return [...named].flatMap(([row, words]) => {
    const [x, y] = ["x", "y"].map((d) => { const column = byName.get(axes[d].name), log = Boolean(axes[d].log && column.number), place = placesOf(column, log)[row]; return [place, spanOfPlaces(column, log)]; });
    if ([x[0], y[0]].some(Number.isNaN)) return [];
    const share = ([place, [low, high]]) => (place - low) / (high - low || 1), left = share(x) > 0.6, near = placed.filter((other) => Math.hypot(other[0] - share(x), other[1] - share(y)) < 0.15).length;
    const low = share(y) > 0.6 !== (near % 2 === 1); // next to another label: on the other side
    placed.push([share(x), share(y)]);
    return [{ x: x[0], y: y[0], text: words.map(plain).join("<br>"), ax: left ? -34 : 34, ay: low ? 30 : -30, xanchor: left ? "right" : "left", arrowcolor: ink, arrowwidth: 1, arrowhead: 0, standoff: 8, bgcolor: `${card}cc`, font: { color: ink, size: 12 } }];
  });
}
const legend = { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", itemsizing: "constant" };
let revision = 0; // an outline is the page's own: plotly's is forgotten with each drawing
function drawPlane() {
  Object.assign(dots, { on: data.many, stale: true, layers: [] });
  const { list, rails } = traces(data.many ? 5 : 7);
  if (dots.on) list.unshift(dotCorners());
  const shapes = outlineShape(), annotations = [], soft = theme().soft;
  for (const d of ["x", "y"]) {
    const rail = rails[d];
    if (rail === null) continue;
    const never = byName.get(axes[d].name).infinite, o = d === "x" ? "y" : "x";
    const line = { color: soft, width: 1, dash: "dot" }, across = { [`${o}ref`]: "paper" };
    shapes.push({ type: "line", layer: "below", line, ...across, [`${d}0`]: rail, [`${d}1`]: rail, [`${o}0`]: 0, [`${o}1`]: 1 });
    const place = { [d]: axes[d].log ? Math.log10(rail) : rail, [o]: d === "x" ? 0 : 1, xanchor: "right", yanchor: "bottom" };
    annotations.push({ text: never, showarrow: false, font: { color: soft }, ...across, ...place });
  }
  annotations.push(...directLabels());
  const uirevision = JSON.stringify([axes.x, axes.y]); // keeps the zoom while the axes stay
  const grid = dots.on ? { gridcolor: `${soft}26` } : {}; // it lies over the dots
  const layout = { xaxis: { ...axisLayout("x"), ...grid }, yaxis: { ...axisLayout("y"), ...grid }, shapes, annotations, legend, hovermode: "closest", uirevision, selections: [], selectionrevision: (revision += 1) };
  const names = list.filter(({ showlegend }) => showlegend !== false).map(({ name }) => name.length), perRow = Math.max(1, Math.floor($("view").clientWidth / (60 + 7 * Math.max(...names))));
  $("plane").style.minHeight = `${440 + 19 * Math.ceil(names.length / perRow)}px`; // rows of the legend
  Plotly.react("plane", list, themed(layout), planeConfig);
  if (dots.stale) paintDots(); // else plotly has had it done
}
const drawers = { plane: drawPlane, parallel: drawParallel };
const hints = {
  plane: "Point at a design for its inputs, click it to see what limits it. Drag to zoom, double-click to see all. Box and lasso, at the top right of the plot, select.",
  parallel: "Drag along an axis to select the designs between two values, click it to undo; click an option to switch it. Drag the name of an axis to move it; ↑ inverts it, × hides it. Click a line to select its design.",
};
function draw() {
  for (const name of Object.keys(drawers)) {
    $(name).hidden = name !== state.view;
    const tab = $(`tab-${name}`), active = name === state.view;
    tab.setAttribute("aria-selected", active);
    tab.tabIndex = active ? 0 : -1;
  }
  $("view").setAttribute("aria-labelledby", `tab-${state.view}`);
  const common = ["x", "y", "color", ...(others.length ? ["dominated"] : []), ...(infeasible.size ? ["cloud"] : [])];
  const used = { plane: common, parallel: ["color"] }[state.view];
  for (const label of $("controls").children) label.hidden = !used.includes(label.dataset.axis);
  for (const which of ["x", "y"]) {
    const column = byName.get(axes[which].name), box = $(`log-${which}`);
    box.disabled = !column.number || !scaleOf(column, true);
    box.checked = axes[which].log && !box.disabled;
  }
  $("hint").textContent = hints[state.view];
  showHiddenAxes();
  showMultiples();
  drawers[state.view]();
  describeView();
  listen($(state.view));
}
/* The text alternative of the front: its axes, its designs, and the selected one. */
function describeView() {
  const shown = state.view === "parallel" ? ordered.slice(0, mostTooltipRows) : ["x", "y"].map((which) => byName.get(axes[which].name));
  const values = state.selected === null ? "" : `Selected: design ${designs[state.selected]}, ${shown.map((column) => `${column.name} ${text(column, state.selected)}`).join(", ")}.`;
  const plot = $(state.view);
  plot.setAttribute("role", "group"); // its tools can have the focus, which an image must not
  plot.setAttribute("aria-label", `${plural(nSelected, "design")} on the front by ${shown.map((column) => column.name).join(", ")}. ${values} The table of all designs has the values.`);
}

// hover and choice
const tooltip = $("tooltip");
let mouse = { clientX: 0, clientY: 0 }, hovered = null;
const mostTooltipRows = 10; // objectives and variables first
function showTooltip(row) {
  hovered = row;
  const lines = ordered.slice(0, mostTooltipRows).map((column) => make("tr", { class: column.role }, td(column.name), td(text(column, row))));
  const title = make("strong", {}, `Design ${designs[row]}`), ties = tiesOf(row).length, note = standing(row) ? ` (${standing(row)})` : ties > 1 ? ` (${ties} designs are tied)` : "";
  tooltip.replaceChildren(...[title, note, make("table", {}, make("tbody", {}, ...lines))].filter(Boolean));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect(), { clientX, clientY } = mouse;
  const left = clientX + 16 + box.width > innerWidth ? Math.min(clientX - 16, innerWidth - 4) - box.width : clientX + 16;
  tooltip.style.left = `${Math.max(4, left)}px`;
  tooltip.style.top = `${Math.max(4, Math.min(clientY + 12, innerHeight - box.height - 4))}px`;
}
function hideTooltip() { tooltip.hidden = true; hovered = null; }
function listen(plot) {
  if (plot.dataset.listening || !plot.on) return;
  plot.dataset.listening = "yes";
  const rowAt = (event) => event.points[0].customdata;
  plot.on("plotly_hover", (event) => showTooltip(rowAt(event)));
  plot.on("plotly_unhover", hideTooltip);
  plot.on("plotly_click", (event) => select(rowAt(event)));
  plot.on("plotly_selected", outlined);
}
function select(row) {
  state.selected = row;
  if (!opening) {
    drawers[state.view]();
    describeView();
    showMultiples();
  }
  showDesign(row);
  showWhy(row);
  showImportance(row);
  showPins();
  saveState(false);
  for (const line of document.querySelectorAll("tr[data-row]")) line.setAttribute("aria-current", Number(line.dataset.row) === row);
}
const choosable = (row) => ({
  "data-row": row, tabindex: 0, "aria-current": String(row === state.selected), onclick: () => select(row),
  onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); select(row); } },
});
