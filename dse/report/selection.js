/* Which designs are selected: by brushes on axes, an outline in 2-D and the filter, all at once; and
   which are out of sight, as earlier selections were kept or excluded. Plot, lines and table follow. */

const count = data.front;
const ask = { filter: "", brushes: {}, outline: null }; // what selects
const steps = []; // earlier ones that were kept or excluded, each { keep, ask }
let alive = new Uint8Array(count).fill(1), selected = alive, nAlive = count, nSelected = count, wrong = [];
const selecting = () => Boolean(ask.filter || ask.outline || Object.keys(ask.brushes).length);
const numbered = { name: "design", title: "design", about: "number of the design", number: true, scale: 1, unit: "1", decimals: 0, values: designs };
const fields = new Map([numbered, ...columns].map((column) => [column.name, { unit: column.unit || "1", options: column.number ? null : column.choices.length ? column.choices : column.options, values: column.values }]));
const clockColumn = byName.get("clock");
const clockOf = clockColumn && clockColumn.number ? (row) => clockColumn.values[row] : data.clock === null ? null : () => data.clock;

// masks
/* Where the front lies along a column, as drawn: in the shown unit, its logarithm, or the option's place. */
const placesOf = cachedPlaces(count), allPlaces = cachedPlaces(designs.length); // of the front, of all that the page holds
function cachedPlaces(rows) {
  const known = new Map();
  return (column, log) => {
    const key = `${column.name} ${Boolean(log)}`;
    if (!known.has(key)) known.set(key, computed(column, log));
    return known.get(key);
  };
  function computed(column, log) {
    const found = new Float64Array(rows);
    if (!column.number) {
      const codes = new Map(column.categories.map((option, i) => [option, i]));
      for (let row = 0; row < rows; row += 1) found[row] = codes.get(column.values[row]);
      return found;
    }
    const rail = column.scales[Number(log)].rail;
    for (let row = 0; row < rows; row += 1) {
      const v = column.values[row] / column.scale;
      const place = v === Infinity ? rail : Number.isFinite(v) && (!log || v > 0) && (rail === null || v < rail) ? v : NaN;
      found[row] = log ? Math.log10(place) : place;
    }
    return found;
  }
}
/* The least and the greatest place along a column, the same whatever is selected. */
const spanOfPlaces = (() => {
  const known = new Map();
  return (column, log) => {
    const places = placesOf(column, log);
    if (known.has(places)) return known.get(places);
    const span = [Infinity, -Infinity];
    for (const v of places) { if (v < span[0]) span[0] = v; if (v > span[1]) span[1] = v; }
    known.set(places, span);
    return span;
  };
})();
function keepInside(mask, name, brush) {
  const column = byName.get(name), { values } = column;
  if (!column.number) {
    const kept = new Set(brush);
    for (let row = 0; row < count; row += 1) if (!kept.has(values[row])) mask[row] = 0;
    return;
  }
  const [low, high] = brush;
  for (let row = 0; row < count; row += 1) if (!(values[row] >= low && values[row] <= high)) mask[row] = 0;
}
/* Even-odd rule, in the coordinates that are drawn. */
function keepOutlined(mask, { x, y, points }) {
  const across = placesOf(byName.get(x.name), x.log), up = placesOf(byName.get(y.name), y.log), n = points.length;
  const xs = Float64Array.from(points, ([v]) => v), ys = Float64Array.from(points, ([, v]) => v);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  for (let row = 0; row < count; row += 1) {
    if (!mask[row]) continue;
    const u = across[row], v = up[row];
    let inside = false;
    if (u >= left && u <= right && v >= low && v <= high) {
      for (let i = 0, j = n - 1; i < n; j = i, i += 1) {
        if (ys[i] > v !== ys[j] > v && u < ((xs[j] - xs[i]) * (v - ys[i])) / (ys[j] - ys[i]) + xs[i]) inside = !inside;
      }
    }
    if (!inside) mask[row] = 0;
  }
}
/* The designs in sight that are selected; a wrong filter selects none. */
function maskOf(asked, within) {
  const mask = within.slice();
  for (const [name, brush] of Object.entries(asked.brushes)) keepInside(mask, name, brush);
  if (asked.outline) keepOutlined(mask, asked.outline);
  if (!asked.filter) return { mask, problems: [], bare: [] };
  const read = readFilter(asked.filter, fields, clockOf);
  if (read.problems.length) return { mask: mask.fill(0), problems: read.problems, bare: [] };
  for (let row = 0; row < count; row += 1) if (mask[row] && !read.keeps(row)) mask[row] = 0;
  return { mask, problems: [], bare: read.bare };
}
const total = (mask) => mask.reduce((sum, each) => sum + each, 0);
function replay() {
  alive = new Uint8Array(count).fill(1);
  for (const { keep, ask: asked } of steps) {
    const { mask } = maskOf(asked, alive);
    for (let row = 0; row < count; row += 1) if (Boolean(mask[row]) !== keep) alive[row] = 0;
  }
  nAlive = total(alive);
}
const rowsOf = (mask) => { const rows = []; for (let row = 0; row < mask.length; row += 1) if (mask[row]) rows.push(row); return rows; };
/* Designs with equal objectives are one point: its number for each row, and how many points are selected. */
const pointOf = (() => {
  const known = new Map(), keyOf = (row) => objectives.map(({ column }) => column.values[row]).join();
  return Int32Array.from(front, (row) => known.set(keyOf(row), known.get(keyOf(row)) ?? known.size).get(keyOf(row)));
})();
const tiesOf = (row) => (row < count ? front.filter((other) => pointOf[other] === pointOf[row]) : [row]);
/* The first row of each point. */
function distinctRows(rows) {
  const seen = new Uint8Array(count);
  return rows.filter((row) => !seen[pointOf[row]] && (seen[pointOf[row]] = 1));
}
const countPoints = (mask) => distinctRows(rowsOf(mask)).length;

// all views at once
/* `settled` is false while a pointer moves: the address is written when it rests. */
function linked(settled = true) {
  const { mask, problems, bare } = maskOf(ask, alive);
  [selected, wrong, nSelected] = [mask, problems, total(mask)];
  tellSelection(bare);
  order();
  showChips();
  if (!opening) drawers[state.view]();
  if (settled) showMultiples();
  if (settled) saveState(true);
}
let waiting = false;
function linkedSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; linked(false); });
}
function tellSelection(bare) {
  const thinly = thin ? " on this page" : "", out = nAlive < count ? `; ${plural(count - nAlive, "is", "are")} out of sight` : "";
  const points = countPoints(selected), distinct = points < nSelected ? ` (${whole(points)} distinct)` : "";
  $("matches").textContent = wrong.length ? "" : `${whole(nSelected)} of ${plural(nAlive, "design")}${distinct}${thinly}${out}`;
  $("wrong").hidden = !wrong.length;
  $("wrong").replaceChildren(...wrong.map(({ at, message, remedy }) => make("div", {}, `character ${at + 1}: ${message}`, remedy ? ` (${remedy})` : "")));
  $("bare").textContent = bare.length ? `Numbers without a unit are in the base unit: ${bare.join(", ")}.` : "";
  $("unbrush").hidden = !selecting();
  const part = selecting() && !wrong.length && nSelected > 0 && nSelected < nAlive;
  $("keep").disabled = $("exclude").disabled = !part;
  $("restore").disabled = !steps.length;
  const chip = (words, drop) => make("button", { class: "chip", title: "Drop this", onclick: () => { drop(); linked(); } }, `${words} ×`);
  const brushes = Object.entries(ask.brushes).map(([name, brush]) => chip(brushWords(name, brush), () => { delete ask.brushes[name]; }));
  const { outline } = ask;
  if (outline) brushes.push(chip(`outline in ${outline.x.name} and ${outline.y.name}`, () => { ask.outline = null; }));
  $("brushes").replaceChildren(...brushes);
  tellExports();
}
function brushWords(name, brush) {
  const column = byName.get(name), said = (v) => quantity(v, column.unit);
  if (!column.number) return `${name}: ${brush.join(", ")}`;
  return `${name}: ${brush[0] === -Infinity ? "up" : `${said(brush[0])}`} to ${said(brush[1])}`;
}
function clearAsk() {
  ask.filter = $("filter").value = "";
  [ask.brushes, ask.outline] = [{}, null];
}
/* Keep or exclude what is selected; the earlier selections are a list, which the address holds. */
function settle(keep) {
  steps.push({ keep, ask: { ...ask } });
  clearAsk();
  replay();
  linked();
}
function restoreAll() {
  steps.length = 0;
  replay();
  linked();
}

// the outline in 2-D
/* Plotly gives an outline in the values of the axes; kept is where it is drawn, in few digits. */
function outlined(event) {
  const box = event && event.range, path = event && event.lassoPoints;
  if (!box && !path) return;
  const [x, y] = ["x", "y"].map((d) => ({ name: axes[d].name, log: Boolean(axes[d].log) && byName.get(axes[d].name).number }));
  const place = ({ name, log }) => {
    const column = byName.get(name), codes = column.number ? null : column.categories.map(plain);
    return (v) => Number((codes ? (typeof v === "string" ? codes.indexOf(v) : v) : log ? Math.log10(v) : Number(v)).toPrecision(6));
  };
  const [px, py] = [place(x), place(y)];
  const corners = box && [[0, 0], [1, 0], [1, 1], [0, 1]].map(([i, j]) => [px(box.x[i]), py(box.y[j])]);
  const points = corners || thinned(path.x.map((_, i) => [px(path.x[i]), py(path.y[i])]), 120);
  ask.outline = { x, y, points: box ? widened(points, x, y) : points };
  linked();
}
/* A box around options takes them whole. */
function widened(points, x, y) {
  const grown = [x, y].map(({ name }) => (byName.get(name).number ? 0 : 0.5));
  const middle = [0, 1].map((k) => (points[0][k] + points[2][k]) / 2);
  return points.map((point) => point.map((v, k) => v + (v < middle[k] ? -grown[k] : grown[k])));
}
function outlineShape() {
  const { outline } = ask;
  if (!outline) return [];
  const same = (d) => outline[d].name === axes[d].name && outline[d].log === (Boolean(axes[d].log) && byName.get(axes[d].name).number);
  if (!same("x") || !same("y")) return [];
  const at = (k, { log }) => (p) => (log ? 10 ** p[k] : p[k]), [px, py] = [at(0, outline.x), at(1, outline.y)];
  const path = `M${outline.points.map((p) => `${px(p)},${py(p)}`).join("L")}Z`;
  return [{ type: "path", path, line: { color: theme().soft, width: 1.5, dash: "dot" } }];
}
function connectSelection() {
  $("filter").addEventListener("input", () => { ask.filter = $("filter").value.trim(); linked(false); });
  $("filter").addEventListener("change", () => saveState(true));
  $("filter").placeholder = filterExample();
  $("unbrush").addEventListener("click", () => { clearAsk(); linked(); });
  $("keep").addEventListener("click", () => settle(true));
  $("exclude").addEventListener("click", () => settle(false));
  $("restore").addEventListener("click", restoreAll);
}
function filterExample() {
  const column = objectives[0].column, row = startRow(), middling = column.values[row];
  const sign = objectives[0].direction === "minimize" ? "<=" : ">=";
  const name = (each) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(each) ? each : `\`${each}\``);
  const text = withRole("variable").find((each) => !each.number);
  const example = Number.isFinite(middling) ? `${name(column.name)} ${sign} ${quantity(middling, column.unit).replaceAll(",", "")}` : `${name(column.name)} < inf`;
  return text ? `${example} and ${name(text.name)} == "${text.values[row]}"` : example;
}
