"use strict";
/* The embedded data, numbers for people, and elements. The scripts of the page run as one.
   Text from the study reaches the page through textContent, and plots through plain(), only. */

const $ = (id) => document.getElementById(id);
const data = JSON.parse(dataText);

// data
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const floats = (text) => new Float64Array(bytes(text).buffer);
function unpack(packed) {
  if (packed.numbers !== undefined) return floats(packed.numbers);
  const raw = bytes(packed.codes).buffer;
  const codes = packed.width === 1 ? new Uint8Array(raw) : packed.width === 2 ? new Uint16Array(raw) : new Uint32Array(raw);
  if (Array.isArray(packed.distinct)) return Array.from(codes, (code) => packed.distinct[code]);
  const distinct = floats(packed.distinct.numbers);
  return Float64Array.from(codes, (code) => distinct[code]);
}
const columns = data.columns.map((column) => ({ ...column, values: unpack(column.values) }));
for (const column of columns) column.categories = column.number ? null : [...new Set(column.values)]; // as they come
for (const column of columns) column.options = column.number ? null : column.choices.length ? column.choices.filter((option) => column.categories.includes(option)) : [...column.categories].sort();
const byName = new Map(columns.map((column) => [column.name, column]));
const objectives = data.objectives.map((objective) => ({ ...objective, column: byName.get(objective.name) }));
const objectiveOf = new Map(objectives.map((objective) => [objective.name, objective]));
const designs = unpack(data.designs);
const front = Array.from({ length: data.front }, (_, row) => row);
const infeasible = new Set(data.infeasible);
const others = Array.from(designs.slice(data.front), (_, i) => data.front + i).filter((row) => !infeasible.has(row));
/* What is not on the front: of an infeasible design nobody asks whether it is dominated. */
const standing = (row) => (row < data.front ? null : infeasible.has(row) ? "infeasible" : "dominated");
const { roles } = data; // with their headings
const withRole = (role) => (role === "objective" ? objectives.map((objective) => objective.column) : columns.filter((column) => column.role === role));
const ordered = roles.flatMap(([role]) => withRole(role));

// numbers and elements
const real = (value) => (value === null ? NaN : value === "inf" ? Infinity : value === "-inf" ? -Infinity : value); // as JSON has them
/* As dse.model.values.number says it. */
function digits(x) {
  const near = rounded(x, 4);
  if (x === 0) return "0";
  if (Math.abs(x) >= 1e7 || Math.abs(near) < 1e-4) return powered(near.toExponential(3).replace(/\.?0+e/, "e"));
  return rounded(x, Math.max(4, powerOf(x) + 1)).toLocaleString("en-US", { maximumSignificantDigits: 8 });
}
const powerOf = (x) => Number(x.toExponential(60).split("e")[1]);
/* To so many digits. A tie goes to the even digit, as in Python; 60 digits are exact. */
function rounded(x, count) {
  const [head, power] = x.toExponential(60).split("e"), end = head.indexOf(".") + count;
  const tie = /^50*$/.test(head.slice(end)) && /[02468]\.?$/.test(head.slice(0, end));
  return Number(tie ? `${head.slice(0, end)}e${power}` : x.toPrecision(count));
}
const powered = (words) => words.replace(/e\+?(-?\d+)$/, (_, power) => `×10${[...power].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("")}`);
/* As dse.model.values.aligned does: one count of decimals a column. */
function fixed(x, places) {
  if (places === null) return digits(x);
  const count = powerOf(x) + 1 + places, near = count > 0 ? rounded(x, count) : Number(x.toFixed(places));
  return near.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}
const nonfinite = (x, word, undefinedWord = "–") => (Number.isNaN(x) ? undefinedWord : x > 0 ? word : "-∞");
/* As dse.model.values.show_value writes it. */
function quantity(x, unit, show = digits) {
  if (!Number.isFinite(x)) return nonfinite(x, data.words[unit] || "∞", "undefined");
  if (unit === "1" || unit === "") return show(x);
  const table = data.prefixes[unit];
  if (!table || x === 0 || (unit === "B" && Math.abs(x) < 10240)) return `${show(x)} ${unit}`;
  const [first, ...rest] = Object.entries(table); // ascending
  const [prefix, scale] = rest.reduce((best, each) => (each[1] <= Math.abs(x) * (1 + 1e-12) ? each : best), first);
  return `${show(x / scale)} ${prefix}${unit}`;
}
/* As dse.model.values.amount writes it: three digits, whole numbers below 10,000 as they are. */
const greatWords = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]], countedUnits = ["cycle", "instruction", "element", "call"];
const threeDigits = (x) => digits(Number.isInteger(x) && Math.abs(x) < 10000 ? x : rounded(x, 3));
function brief(x, unit = "1") {
  if (!Number.isFinite(x) || data.prefixes[unit]) return quantity(x, unit, threeDigits);
  const [scale, word] = greatWords.find(([size]) => Math.abs(x) >= size) || [1, ""], words = threeDigits(x / scale), [first] = unit.split("/");
  const many = countedUnits.includes(first) && words !== "1" ? `${first}s${unit.slice(first.length)}` : unit;
  return [words, word, many === "1" ? "" : many].filter(Boolean).join(" ");
}
const text = (column, row) => (column.number ? quantity(column.values[row], column.unit) : column.values[row]);
const cell = (column, row) => {
  const value = column.values[row];
  return !column.number ? value : Number.isFinite(value) ? fixed(value / column.scale, column.decimals) : nonfinite(value, column.infinite);
};
const plain = (words) => String(words).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const numberClass = (column) => (column.number ? "number" : "");
const whole = (count) => count.toLocaleString("en-US");
const plural = (count, one, many = one + "s") => `${whole(count)} ${count === 1 ? one : many}`;
const small = (words) => make("small", {}, words);
const td = (...children) => make("td", {}, ...children);
const th = (words, kind = "") => make("th", { scope: "col", class: kind }, words);
const table = (heads, rows) => [make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)];
const scrolled = (heads, rows) => make("div", { class: "scroll" }, make("table", {}, ...table(heads, rows)));
const worded = (name) => name.replaceAll("_", " ");
const breakable = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
const swatch = (color) => make("span", { class: "swatch", style: { background: color || "transparent" } });

// state
const [x, y, color] = data.axes;
const axes = { x: { name: x }, y: { name: y }, color: { name: color } };
const resetLog = (which) => { axes[which].log = byName.get(axes[which].name).log; };
["x", "y"].forEach(resetLog);
const state = { selected: null, view: "plane", sort: "design", descending: false, page: 0, order: front };
