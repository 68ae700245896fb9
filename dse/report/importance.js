/* Importance: how far each variable changes each objective if the others stay as in the selected design,
   and the slice of one objective along each variable. */

const slicePlot = { width: 230, height: 130, left: 10, right: 10, top: 12, bottom: 20 };
let slicedObjective = null;
/* The factor between the largest and the smallest value among the feasible designs of a slice. */
function reachOf({ values, feasible }, k) {
  const mine = values.map((each) => real(each[k])).filter((v, i) => feasible[i] && Number.isFinite(v));
  const low = Math.min(...mine), high = Math.max(...mine);
  return mine.length < 2 || high === low ? 1 : low > 0 ? high / low : Infinity;
}
function showImportance(row) {
  const explanation = data.explanations[designs[row]], slices = (explanation && explanation.slices) || [];
  $("importance").hidden = !slices.length;
  if (!slices.length) return;
  const reaches = slices.map((slice) => objectives.map((_, k) => reachOf(slice, k)));
  const size = (factor) => Math.log(Math.min(factor, 1e3)), widest = Math.max(Math.log(2), ...reaches.flat().map(size));
  const order = slices.map((_, i) => i).sort((a, b) => Math.max(...reaches[b]) - Math.max(...reaches[a]));
  const words = (factor) => (factor === 1 ? "–" : factor === Infinity ? "from 0" : `×${Number(factor.toPrecision(3))}`);
  const cells = (i) => reaches[i].map((factor) => td(factor > 1 ? make("span", { class: "gain", style: { width: `${Math.round((64 * size(factor)) / widest)}px` } }) : null, words(factor)));
  const rows = order.map((i) => make("tr", {}, make("th", { scope: "row" }, worded(slices[i].variable)), ...cells(i)));
  const heads = [th("variable"), ...objectives.map(({ name }) => th(worded(name)))];
  $("importance-table").replaceChildren(...table(heads, rows));
  const k = Math.max(0, objectives.findIndex(({ name }) => name === (slicedObjective || overview.main)));
  const choose = make("select", { id: "sliced", onchange: (event) => { slicedObjective = event.target.value; showImportance(row); $("sliced").focus(); } }, ...objectives.map(({ name }, i) => make("option", { value: name, selected: i === k }, name)));
  $("slices-head").replaceChildren(make("label", {}, "Slices of ", choose), ` through design ${designs[row]}`);
  $("slices").replaceChildren(...order.map((i) => sliceFigure(slices[i], k, row)));
}
function sliceFigure({ variable, values, feasible, at }, k, row) {
  const { width, height, left, right, top, bottom } = slicePlot, objective = objectives[k], column = byName.get(variable);
  const mine = values.map((each) => real(each[k])), finite = mine.filter(Number.isFinite), low = Math.min(...finite), high = Math.max(...finite), log = low > 0 && high > 10 * low;
  const place = (v) => (log ? Math.log(v) : v), spread = place(high) - place(low);
  const x = (i) => left + (i / Math.max(1, at.length - 1)) * (width - left - right), y = (v) => height - bottom - (spread ? (place(v) - place(low)) / spread : 0.5) * (height - top - bottom);
  const said = (i) => `${variable} ${column.number ? quantity(at[i], column.unit) : at[i]}: ${Number.isFinite(mine[i]) ? quantity(mine[i], objective.column.unit) : "no value"}${feasible[i] ? "" : ", infeasible"}`;
  const shown = at.map((_, i) => i).filter((i) => Number.isFinite(mine[i])), own = at.findIndex((value) => value === column.values[row]);
  const dots = shown.map((i) => svg("circle", { cx: x(i), cy: y(mine[i]), r: i === own ? 5 : 3, class: i === own ? "own" : feasible[i] ? "" : "infeasible" }, svg("title", {}, said(i))));
  const line = svg("polyline", { points: shown.map((i) => `${x(i)},${y(mine[i])}`).join(" ") });
  const name = (i) => (column.number ? brief(at[i], column.unit) : at[i]), end = (i) => (column.number ? digits(at[i] / column.scale) : at[i]), label = (i, anchor) => svg("text", { x: anchor === "start" ? left : width - right, y: height - 4, "text-anchor": anchor }, end(i));
  const sign = signOf(objective), best = shown.filter((i) => feasible[i]).reduce((a, i) => (a === null || sign * mine[i] < sign * mine[a] ? i : a), null);
  const caption = best === null ? "no feasible value" : low === high ? `always ${brief(low, objective.column.unit)}` : `${brief(low, objective.column.unit)} to ${brief(high, objective.column.unit)}; best at ${name(best)}`;
  const alternative = `${worded(objective.name)} along ${worded(variable)}: ${caption}`;
  const ends = column.number || at.length === 2 ? [label(0, "start"), label(at.length - 1, "end")] : [];
  return make("figure", { class: "slice" }, make("figcaption", {}, make("strong", {}, worded(column.title)), small(caption)), svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alternative }, ...(column.number ? [line] : []), ...dots, ...ends));
}
