/* Up to four pinned designs, and exports: the selection as CSV, or as a study. */

const mostPins = 4;
function pin(row) {
  const at = pins.indexOf(row);
  if (at >= 0) pins.splice(at, 1);
  else if (pins.length < mostPins) pins.push(row);
  showPins();
  saveState(true);
}
const sameValue = (column, a, b) => column.values[a] === column.values[b] || (column.number && Number.isNaN(column.values[a]) && Number.isNaN(column.values[b]));
function showPins() {
  const full = pins.length >= mostPins, button = $("pin"), pinned = state.selected !== null && pins.includes(state.selected);
  button.textContent = pinned ? "Unpin" : "Pin to compare";
  button.disabled = state.selected === null || (full && !pinned);
  button.title = full && !pinned ? `${mostPins} designs are pinned: unpin one first` : "Keep this design among the alternatives";
  showAlternatives();
}

// exports
/* A text that no spreadsheet takes for a formula, as in the files of the run. */
const protectedCell = (words) => (/^'/.test(words) || (/^[=+\-@\t\r]/.test(words) && (words.trim() !== words || Number.isNaN(Number(words)))) ? `'${words}` : words);
function csv(rows) {
  const quoted = (words) => (/[",\n\r]/.test(words) ? `"${protectedCell(words).replaceAll('"', '""')}"` : protectedCell(words));
  const exact = (v) => (Number.isNaN(v) ? "" : Number.isFinite(v) ? String(v) : v > 0 ? "inf" : "-inf");
  const shown = [numbered, ...columns];
  const records = rows.map((row) => shown.map((column) => (column.number ? exact(column.values[row]) : quoted(column.values[row]))).join(","));
  return [shown.map((column) => quoted(column.name)).join(","), ...records, ""].join("\n");
}
/* A text as TOML has it: JSON's escapes, and those of two characters more. */
const tomlText = (words) => JSON.stringify(words).replace(/[\u007f\ud800-\udfff]/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const tomlNumber = (v) => (Number.isInteger(v) && Math.abs(v) >= 1e15 ? v.toExponential() : String(v)).replace(/^(-?\d+)e/, "$1.0e");
const tomlKey = (name) => (/^[A-Za-z0-9_-]+$/.test(name) ? name : tomlText(name));
const tomlValue = (v) => (Array.isArray(v) ? `[${v.map(tomlValue).join(", ")}]` : v && typeof v === "object" ? `{ ${Object.entries(v).map(([key, each]) => `${tomlKey(key)} = ${tomlValue(each)}`).join(", ")} }`
  : typeof v === "number" ? tomlNumber(v) : typeof v === "boolean" ? String(v) : tomlText(v));
/* A variable narrowed to the hull of some rows: its least and greatest value, or its options. */
function narrowed(name, { kind, table, grid }, rows) {
  const column = byName.get(name), { values } = column;
  if (!column.number) {
    const options = column.options.filter((option) => rows.some((row) => values[row] === option));
    if (kind === "catalog") return { ...table, options };
    if (kind === "rows") return { rows: Object.fromEntries(options.map((option) => [option, table.rows[option]])) };
    const sets = options.map((option) => (option === "none" ? [] : option.split(" + "))), sizes = sets.map((set) => set.length);
    const of = [...new Set(sets.flat())];
    return of.length ? { ...table, of, least: Math.min(...sizes), most: Math.max(1, ...sizes) } : table;
  }
  const [low, high] = rows.reduce(([a, b], row) => [Math.min(a, values[row]), Math.max(b, values[row])], [Infinity, -Infinity]);
  if (kind === "values") return { values: grid.filter((v) => v >= low && v <= high) };
  if (kind === "integer") return { ...table, integer: [low, high] };
  if (low === high) return { values: [low] };
  if (grid) return { values: grid.filter((v) => v >= low && v <= high) };
  if (!table.steps) return { ...table, real: [low, high] };
  const on = (v) => (table.log ? Math.log(v) : v), [first, last] = table.real.map(on); // a grid too long to list
  return { ...table, real: [low, high], steps: Math.round(((on(high) - on(low)) / (last - first)) * (table.steps - 1)) + 1 };
}
function narrowedStudy(rows) {
  const { before, space } = data.narrow, list = Object.entries(space);
  const said = list.map(([name, each]) => `${tomlKey(name)} = ${tomlValue(narrowed(name, each, rows))}`);
  return `${before}\n[space]\n${said.join("\n")}\n`;
}
function tellExports() {
  const empty = !nSelected;
  for (const id of ["export-csv", "export-toml"]) $(id).toggleAttribute("aria-disabled", empty);
  $("export-toml").hidden = !data.narrow;
}
function offer(link, words, type) {
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([words], { type }));
}
function connectPins() {
  $("pin").addEventListener("click", () => pin(state.selected));
  $("all-rows").addEventListener("change", showAlternatives);
  const exported = (id, type, words) => $(id).addEventListener("click", (event) => {
    if (!nSelected) { event.preventDefault(); return; }
    offer(event.currentTarget, words(rowsOf(selected)), type);
  });
  exported("export-csv", "text/csv", csv);
  exported("export-toml", "application/toml", narrowedStudy);
  $("download").addEventListener("click", (event) => offer(event.currentTarget, csv(front), "text/csv"));
}
