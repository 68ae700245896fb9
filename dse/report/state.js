/* What is looked at, in the page's address: opened again, it shows the same. Back and forward undo. */

const boxes = { dominated: "dominated", cloud: "cloud" };
const pins = []; // rows, side by side
let depth = 0, opening = true;
function snapshot() {
  const { filter, brushes, outline } = ask, taken = {};
  taken.axes = Object.fromEntries(Object.entries(axes).map(([which, { name, log }]) => [which, which === "color" ? [name] : [name, Boolean(log)]]));
  taken.view = state.view;
  taken.boxes = Object.fromEntries(Object.entries(boxes).map(([key, id]) => [key, $(id).checked]));
  taken.lines = lineLayout;
  taken.sort = [state.sort, state.descending];
  taken.ask = { filter, brushes, outline };
  taken.steps = steps;
  taken.pins = pins.map((row) => designs[row]);
  taken.preferences = preferences;
  taken.design = state.selected === null ? null : designs[state.selected];
  return JSON.parse(JSON.stringify(taken, (_, v) => (v === Infinity ? "inf" : v === -Infinity ? "-inf" : v)));
}
let first = null; // as the page opens without a fragment
const fragment = () => {
  const now = snapshot(), differs = Object.keys(now).filter((key) => JSON.stringify(now[key]) !== JSON.stringify(first[key]));
  return differs.length ? `#see=${encodeURIComponent(JSON.stringify(Object.fromEntries(differs.map((key) => [key, now[key]]))))}` : "#";
};
/* An action makes an entry of the history, which the browser's back button undoes. */
function saveState(action) {
  if (opening || !first) return;
  const text = fragment();
  if (text === (location.hash || "#")) return;
  if (action) depth += 1;
  history[action ? "pushState" : "replaceState"]({ depth }, "", text);
  $("undo").disabled = depth === 0;
}
function seen() {
  const found = /^#see=(.*)$/.exec(location.hash);
  if (!found) return {};
  try {
    const read = JSON.parse(decodeURIComponent(found[1]));
    return read && typeof read === "object" ? read : null;
  } catch { return null; }
}
/* Show what the address says; what this report does not have is left out, and said. */
function openState() {
  const read = seen(), lost = new Set(read === null ? ["all of it: it is damaged"] : []), given = { ...first, ...(read || {}) };
  opening = true;
  const has = (name) => byName.has(name) || (lost.add(`the column ${name}`), false);
  for (const [which, [name, log]] of Object.entries(given.axes)) {
    if (!axes[which] || !has(name)) continue;
    axes[which] = which === "color" ? { name } : { name, log };
    $(`axis-${which}`).value = name;
  }
  state.view = drawers[given.view] ? given.view : "plane";
  for (const [key, id] of Object.entries(boxes)) $(id).checked = Boolean(given.boxes[key]);
  for (const [key, names] of Object.entries(given.lines)) if (Array.isArray(lineLayout[key])) lineLayout[key] = names.filter((name) => byName.has(name));
  [state.sort, state.descending] = inTable.has(given.sort[0]) ? given.sort : ["design", false];
  Object.assign(ask, asked(given.ask, has));
  $("filter").value = ask.filter;
  steps.splice(0, steps.length, ...given.steps.map((step) => ({ keep: Boolean(step.keep), ask: asked(step.ask, has) })));
  const rowOf = (design) => { const row = designs.indexOf(design); if (row < 0) lost.add(`design ${design}`); return row; };
  pins.splice(0, pins.length, ...given.pins.map(rowOf).filter((row) => row >= 0));
  openPreferences(given.preferences, lost);
  showPreferences();
  replay();
  linked(false);
  showAnswer();
  showPins();
  const row = given.design === null ? -1 : rowOf(given.design);
  select("design" in (read || {}) && row >= 0 ? row : startRow());
  opening = false;
  draw(); // once: it takes most of the time
  $("lost").hidden = !lost.size;
  $("lost").textContent = `The address names what this report does not have: ${[...lost].join(", ")}.`;
}
function asked(given, has) {
  const end = (v) => (v === "inf" ? Infinity : v === "-inf" ? -Infinity : v);
  const brushes = Object.entries((given && given.brushes) || {}).filter(([name, brush]) => has(name) && Array.isArray(brush));
  const outline = given && given.outline, kept = outline && has(outline.x.name) && has(outline.y.name) && Array.isArray(outline.points);
  return { filter: String((given && given.filter) || ""), brushes: Object.fromEntries(brushes.map(([name, brush]) => [name, brush.map(end)])), outline: kept ? outline : null };
}
function connectState() {
  first = snapshot();
  depth = (history.state && history.state.depth) || 0;
  $("undo").addEventListener("click", () => history.back());
  addEventListener("popstate", (event) => {
    if (location.hash && !/^#(see=|$)/.test(location.hash)) return; // a link within the page
    depth = (event.state && event.state.depth) || 0;
    $("undo").disabled = depth === 0;
    openState();
  });
  $("undo").disabled = depth === 0;
}
