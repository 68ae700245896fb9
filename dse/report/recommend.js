/* The recommendation by the reader's preferences: weights, bounds and excluded options. The rule is the same as in
   dse.explain.recommendation: of the designs on the front that are beneficial and meet the target and all
   bounds, the largest Nash product. If the target leaves one objective free, the best of this objective. */

const overview = data.overview, rejected = new Set(overview.rejected);
const equalLogs = 1e-9; // a difference of two logarithms that rounding explains, as in dse.evaluate.front
const decadesOfLogs = 2; // values over more decades are compared by logarithm, as there
const tiniest = 2 ** -1022;
const signOf = ({ direction }) => (direction === "minimize" ? 1 : -1);
/* The preferences of the study; the reader's begin with them. */
const ownPreferences = () => JSON.parse(JSON.stringify({ ...overview.preferences, weights: { ...Object.fromEntries(objectives.map(({ name, weight }) => [name, weight])), ...overview.preferences.weights } }));
const preferences = ownPreferences();
const targetBounds = overview.bounds.map(([name, sign, value]) => ({ name, sign, value: real(value) }));

/* Values scaled to [0, 1], 0 best, in the logarithm if they span decades. */
function scaledLosses(values, sign) {
  const signed = values.map((v) => v * sign), finite = signed.filter(Number.isFinite);
  if (!finite.length) return signed.map((v) => (v === -Infinity ? 0 : 1));
  const plainValues = finite.map((v) => v * sign), least = plainValues.reduce((a, b) => Math.min(a, b)), greatest = plainValues.reduce((a, b) => Math.max(a, b));
  const logs = least > 0 && Math.log10(greatest) - Math.log10(least) > decadesOfLogs;
  const place = (v) => (logs ? sign * Math.log10(v * sign) : v), places = finite.map(place);
  const low = places.reduce((a, b) => Math.min(a, b)), high = places.reduce((a, b) => Math.max(a, b));
  return signed.map((v) => (v === -Infinity ? 0 : !Number.isFinite(v) ? 1 : high > low ? (place(v) / 2 - low / 2) / (high / 2 - low / 2) : 0));
}
/* One over the factor of an objective in the Nash product, as a logarithm, for each of some rows. */
function nashLosses(objective, rows) {
  const sign = signOf(objective), values = rows.map((row) => objective.column.values[row]);
  const gains = sign < 0 ? values.map((v) => v - (objective.worth || 0)) : values, positive = gains.filter((v) => v > 0).length;
  if (positive === gains.length || (sign < 0 && positive)) {
    return gains.map((v) => sign * Math.log(Math.min(Math.max(v, tiniest), Number.MAX_VALUE)));
  }
  return scaledLosses(values, sign).map((v) => Math.LN10 * v);
}
/* The row with the largest Nash product among some rows; the first of equals. */
function nashRow(rows, weights) {
  const maximized = objectives.filter((each) => signOf(each) < 0);
  const gaining = rows.filter((row) => maximized.every((each) => each.column.values[row] > (each.worth || 0)));
  const kept = maximized.length && gaining.length ? gaining : rows, losses = new Float64Array(kept.length);
  for (const objective of objectives) {
    const weight = weights[objective.name];
    nashLosses(objective, kept).forEach((loss, i) => { losses[i] += weight * loss; });
  }
  const least = losses.reduce((a, b) => Math.min(a, b), Infinity);
  return kept[Math.max(0, losses.findIndex((loss) => loss <= least + equalLogs))];
}
function bestRow(rows, objective, weights) {
  const sign = signOf(objective), values = objective.column.values;
  const least = rows.reduce((a, row) => Math.min(a, sign * values[row]), Infinity);
  return nashRow(rows.filter((row) => sign * values[row] === least), weights);
}
/* The row whose largest miss of some bounds is smallest, as a fraction of the bound. */
function nearestRow(rows, bounds, weights) {
  const missed = rows.map((row) => Math.max(0, ...bounds.map(({ name, sign, value }) => {
    const own = byName.get(name).values[row];
    return compared[sign](own, value) ? 0 : Math.abs(own - value) / (Math.abs(value) || 1);
  })));
  const least = missed.reduce((a, b) => Math.min(a, b), Infinity);
  return nashRow(rows.filter((_, i) => missed[i] === least), weights);
}
const boundSign = (objective) => (objective.direction === "minimize" ? "<=" : ">=");
/* The recommended row and its role, with the rows that were left to choose from. */
function recommend({ weights, bounds, excluded }) {
  const allowed = front.filter((row) => Object.entries(excluded).every(([name, options]) => !options.includes(optionText(name, row))));
  const own = Object.entries(bounds).map(([name, value]) => ({ name, sign: boundSign(objectiveOf.get(name)), value }));
  const asked = [...targetBounds, ...own], meets = allowed.filter((row) => asked.every(({ name, sign, value }) => compared[sign](byName.get(name).values[row], value)));
  const among = meets.filter((row) => !rejected.has(row));
  if (among.length) {
    const free = objectiveOf.get(overview.free);
    return { row: free ? bestRow(among, free, weights) : nashRow(among, weights), role: "recommended", among };
  }
  if (!allowed.length) return { row: null, role: "none", among };
  if (!meets.length) return { row: nearestRow(allowed, asked, weights), role: "missed", among };
  return { row: bestRow(meets, objectiveOf.get(overview.main), weights), role: "nearest", among };
}
const optionText = (name, row) => String(byName.get(name).values[row]);

// controls
const chosen = { row: null, role: "none", among: [] }; // the recommendation now
const sortedPreferences = ({ weights, bounds, excluded }) => [weights, bounds, excluded].map((part) => Object.entries(part).sort());
function isOwn() {
  return JSON.stringify(sortedPreferences(preferences)) === JSON.stringify(sortedPreferences(ownPreferences()));
}
/* Follow changed preferences in all that shows the recommendation. */
function followPreferences(settled = true) {
  const before = chosen.row;
  Object.assign(chosen, recommend(preferences));
  showAnswer();
  tellPreferences();
  if (chosen.row !== null && (state.selected === null || state.selected === before)) select(chosen.row);
  else showAlternatives();
  if (settled) saveState(true);
}
function tellPreferences() {
  const { weights, bounds, excluded } = preferences, words = [];
  for (const { name, weight } of objectives) if (weights[name] !== weight) words.push(`${worded(name)} weighs ${digits(weights[name])}`);
  for (const [name, value] of Object.entries(bounds)) words.push(`${worded(name)} ${boundWord(objectiveOf.get(name))} ${quantity(value, byName.get(name).unit)}`);
  for (const [name, options] of Object.entries(excluded)) words.push(`${worded(name)} not ${options.join(", ")}`);
  $("preferred").textContent = words.length ? words.join("; ") : "weights, bounds and excluded options";
  $("reset-preferences").disabled = isOwn();
  const { excluded: out } = preferences;
  const chips = Object.entries(out).flatMap(([name, options]) => options.map((option) => make("button", {
    class: "chip", "aria-label": `Allow ${worded(name)} ${option} again`, onclick: () => allowOption(name, option),
  }, `${worded(name)}: ${option} ×`)));
  for (const old of $("excluded").querySelectorAll(".chip")) old.remove();
  $("excluded").append(...chips);
}
const boundWord = ({ direction }) => (direction === "minimize" ? "at most" : "at least");
function excludeOption(name, option) {
  const { excluded } = preferences;
  excluded[name] = [...new Set([...(excluded[name] || []), option])];
  followPreferences();
}
function allowOption(name, option) {
  const { excluded } = preferences;
  excluded[name] = excluded[name].filter((each) => each !== option);
  if (!excluded[name].length) delete excluded[name];
  followPreferences();
}
/* Read a bound such as "200 kLUT"; an empty one is none. */
function readBound(objective, input) {
  const words = input.value.trim(), { name } = objective;
  $("wrong-bound").hidden = true;
  input.removeAttribute("aria-invalid");
  if (!words) delete preferences.bounds[name];
  else {
    const value = boundValue(objective, words);
    if (value === null) { input.setAttribute("aria-invalid", "true"); return; }
    preferences.bounds[name] = value;
  }
  followPreferences();
}
function boundValue(objective, words) {
  const { column } = objective, probe = new Map([["value", { unit: column.unit || "1", options: null, values: [0] }]]);
  const read = readFilter(`value == ${words}`, probe, clockOf);
  if (!read.problems.length) {
    const found = valueWithUnit(words, column.unit || "1");
    if (found !== null) return found;
  }
  const [problem] = read.problems;
  $("wrong-bound").hidden = false;
  $("wrong-bound").textContent = `${worded(objective.name)} ${boundWord(objective)} ${words}: ${problem ? problem.message.replace("value", worded(objective.name)) : "no number"}. Write it as ${quantity(objective.column.values[chosen.row ?? 0], column.unit).replaceAll(",", "")}.`;
  return null;
}
/* A number with a unit in the unit of a column; null if it is not one. */
function valueWithUnit(words, unit) {
  const [word, end] = filterWords(words.replace(/^[+]/, ""));
  if (!word.term || word.term.is !== "number" || end.kind !== "end") return null;
  const { written, unit: own } = word.term, value = Number(written);
  if (!own) return value;
  const [from, to] = [unitOf(own), unitOf(unit)], clock = clockOf && clockOf(chosen.row ?? 0);
  const cycles = (from.powers.cycle || 0) - (to.powers.cycle || 0);
  return value * ratioOf(from.scale, to.scale) * (cycles && clock ? clock ** -cycles : 1);
}
function weightRow(objective) {
  const { name, column } = objective, most = Math.max(4, objective.weight), label = objective.label;
  const number = make("input", { type: "number", id: `weight-${name}`, min: 0, step: 0.05, value: preferences.weights[name], "aria-label": `weight of ${label}` });
  const slider = make("input", { type: "range", min: 0, max: most, step: 0.05, value: preferences.weights[name], "aria-label": `weight of ${label}` });
  const set = (from, other, settled) => {
    const value = Number(from.value);
    if (from.value === "" || !(value >= 0)) return;
    other.value = value;
    preferences.weights[name] = value;
    followPreferences(settled);
  };
  slider.addEventListener("input", () => set(slider, number, false));
  slider.addEventListener("change", () => set(slider, number, true));
  number.addEventListener("change", () => set(number, slider, true));
  const bound = make("input", { type: "text", id: `bound-${name}`, spellcheck: "false", autocomplete: "off", "aria-label": `${label} ${boundWord(objective)}`,
    placeholder: chosen.row === null ? "" : quantity(column.values[chosen.row], column.unit).replaceAll(",", ""),
    value: name in preferences.bounds ? quantity(preferences.bounds[name], column.unit).replaceAll(",", "") : "" });
  bound.addEventListener("change", () => readBound(objective, bound));
  return make("tr", {}, make("th", { scope: "row" }, worded(label)), make("td", {}, slider), make("td", {}, number), make("td", {}, boundWord(objective), " ", bound));
}
/* The controls as the preferences are; not while they are used, since that would lose the focus. */
function showPreferences() {
  $("weights").replaceChildren(...table([th("objective"), th("weight"), th(""), th("bound")], objectives.map(weightRow)));
  const groups = withRole("variable").filter((column) => !column.number || column.distinct.length <= 8).map((column) => {
    const options = column.number ? column.distinct.map(String) : column.options.filter((option) => front.some((row) => column.values[row] === option));
    return options.length > 1 ? make("optgroup", { label: worded(column.name) }, ...options.map((option) => make("option", { value: JSON.stringify([column.name, option]) }, optionWords(column, option)))) : null;
  });
  $("exclude-option").replaceChildren(make("option", { value: "" }, "choose"), ...groups.filter(Boolean));
  $("wrong-bound").hidden = true;
  tellPreferences();
}
function connectPreferences() {
  for (const column of withRole("variable")) column.distinct = column.number ? [...new Set(front.map((row) => column.values[row]))].sort((a, b) => a - b) : column.options;
  $("exclude-option").addEventListener("change", (event) => {
    const { value } = event.target;
    event.target.value = "";
    if (value) excludeOption(...JSON.parse(value));
  });
  $("reset-preferences").addEventListener("click", () => {
    Object.assign(preferences, ownPreferences());
    showPreferences();
    followPreferences();
  });
  $("save-study").hidden = !data.restudy;
  $("save-study").addEventListener("click", (event) => offer(event.currentTarget, studyWithPreferences(), "application/toml"));
}
/* The study with the preferences as its table [recommend]. */
function studyWithPreferences() {
  const { weights, bounds, excluded } = preferences;
  const changed = Object.fromEntries(Object.entries(weights).filter(([name, weight]) => weight !== objectiveOf.get(name).weight));
  const require = Object.entries(bounds).map(([name, value]) => {
    const { unit } = byName.get(name);
    return `${writtenNode({ is: "name", name })} ${boundSign(objectiveOf.get(name))} ${tomlNumber(value)}${unit && unit !== "1" ? ` ${unit}` : ""}`;
  });
  const exclude = Object.fromEntries(Object.entries(excluded).map(([name, options]) => [name, byName.get(name).number ? options.map(Number) : options]));
  const lines = [
    ...(Object.keys(changed).length ? [`weights = ${tomlValue(changed)}`] : []),
    ...(require.length ? [`require = ${tomlValue(require)}`] : []),
    ...(Object.keys(exclude).length ? [`exclude = ${tomlValue(exclude)}`] : []),
  ];
  return lines.length ? `${data.restudy}\n[recommend]\n${lines.join("\n")}\n` : data.restudy;
}
/* Preferences of an address, without names that this report does not have. */
function openPreferences(given, lost) {
  const read = (given && typeof given === "object") ? given : {}, known = (name) => objectiveOf.has(name) || (lost.add(`the objective ${name}`), false);
  const some = (part, keeps) => Object.fromEntries(Object.entries(read[part] || {}).filter(keeps));
  const weights = some("weights", ([name, weight]) => known(name) && Number.isFinite(weight) && weight >= 0);
  const bounds = some("bounds", ([name, value]) => known(name) && Number.isFinite(value));
  const excluded = some("excluded", ([name, options]) => Array.isArray(options) && (byName.has(name) || (lost.add(`the variable ${name}`), false)));
  Object.assign(preferences, { weights: { ...ownPreferences().weights, ...weights }, bounds, excluded });
  Object.assign(chosen, recommend(preferences));
}
