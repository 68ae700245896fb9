/* The first screen: the answer in a sentence, tiles, lines, and the alternatives next to each other. */

const smallestChange = 5e-5; // as a fraction: a smaller change is rounding
/* A change in percent with its sign, or as a factor; empty if there is none. */
function changeText(before, after) {
  if (!Number.isFinite(before) || !Number.isFinite(after) || before === after) return "";
  if (before === 0) return "";
  const fraction = (after - before) / Math.abs(before);
  if (Math.abs(fraction) < smallestChange) return "";
  if (before > 0 && fraction >= 1) return `×${Number((1 + fraction).toPrecision(3))}`;
  const size = 100 * Math.abs(fraction), words = size >= 100 ? size.toFixed(0) : size >= 10 ? size.toFixed(1).replace(/\.0$/, "") : size.toPrecision(2);
  return `${fraction > 0 ? "+" : "−"}${words}\u2009%`;
}
const optionWords = (column, value) => (column.number ? (isFlag(column) ? (Number(value) ? "yes" : "no") : countedWords(Number(value), column.unit)) : kernelWords(column, value));
const countedWords = (x, unit) => `${quantity(x, unit)}${countedUnits.includes(unit) && x !== 1 ? "s" : ""}`;
/* An interface and an engine, or other settings. */
const engineWords = (lines) => (lines.length === 2 && !lines.some((each) => each.includes(" ")) ? `${lines[1]} behind ${lines[0]}` : lines.join(", "));
/* The option of a kernel as its engines, one per line; another option as it is. */
function kernelWords(column, option) {
  if (!overview.blocks.some(([name, kind]) => name === column.name && kind === "kernel")) return option.replaceAll("_", " ");
  return kernelEngines(column.name, option).map(({ title, lines, count }) => `${title === worded(column.name) ? "" : `${title}: `}${count > 1 ? `${whole(count)} × ` : ""}${engineWords(lines)}`).join("\n") || option;
}
const isFlag = ({ name }) => overview.flags.includes(name);
const valueWords = (column, row) => optionWords(column, column.values[row]);
const listedWords = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

// what is built
function kernelEngines(name, option) {
  if (option === "not built") return [];
  return option.split("; ").map((part) => {
    const [, kernel, words] = /^(?:([^:]*): )?(.*)$/s.exec(part), pieces = words.split(", "), many = pieces.map((each) => /^engines (\d+)$/.exec(each)).find(Boolean);
    return { title: kernel || worded(name), lines: pieces.filter((each) => !/^engines \d+$/.test(each)), count: many ? Number(many[1]) : 1 };
  });
}
/* The engines of a design: title, lines, how many, and the kernel; the kernels that stay on the host. */
function enginesOf(row) {
  const counted = overview.engines.length && row < overview.engines.length ? real(overview.engines[row]) : NaN;
  const inBlocks = new Set([...overview.blocks.map(([name]) => name), overview.link, "streams", ...(row === data.start ? overview.idle : [])]);
  const rest = withRole("variable").filter((column) => !inBlocks.has(column.name) && !(isFlag(column) && !column.values[row]));
  const restLines = rest.map((column) => (isFlag(column) ? worded(column.name) : `${worded(column.name)} ${valueWords(column, row)}`));
  const engines = [], host = [];
  if (!overview.blocks.length) engines.push({ title: "accelerator", lines: [], count: Number.isFinite(counted) ? counted : 1 });
  for (const [name, kind] of overview.blocks) {
    const column = byName.get(name), option = String(column.values[row]);
    if (kind === "kernel") {
      if (option === "not built") host.push(worded(name));
      engines.push(...kernelEngines(name, option));
    } else if (kind === "kernels") {
      if (option !== "none") for (const each of option.split(" + ")) engines.push({ title: worded(each), lines: [], count: Number.isFinite(counted) ? counted : 1 });
    } else engines.push({ title: option, lines: [], count: Number.isFinite(counted) ? counted : 1 });
  }
  return { engines, host, rest: restLines };
}
function sharersOf(row) {
  const [name, all] = overview.sharers, own = byName.get("streams");
  const word = name === "cores" ? "core" : name === "streams" ? "stream" : "thread";
  const each = own && own.number && withRole("variable").includes(own) ? own.values[row] : null;
  return { all: name ? plural(all, word) : "", each: each === null ? "" : plural(each, word) };
}
const linkWords = (column, row) => (column.name === "interface" ? "" : `${worded(column.name)} `) + valueWords(column, row);
/* What is built in a design, as the object of "build". */
function buildWords(row) {
  const { engines, host, rest } = enginesOf(row), [block] = overview.blocks, link = byName.get(overview.link), { each } = sharersOf(row);
  if (!engines.length) return "nothing: all kernels stay on the host";
  const many = engines.some(({ count: built }) => built > 1), behind = link ? ` behind ${linkWords(link, row)}` : "", shared = each ? `, ${many ? "each " : ""}shared by ${each}` : "";
  if (!block) return `an accelerator${behind}: ${rest.join(", ")}`;
  const [{ title, count: number }] = engines, [name, kind] = block, word = name === "accelerator" || kind === "kernels" ? "accelerator" : "engine";
  const one = engines.length === 1 && !many, counted = ({ title: engine, count: built }) => `${engine}${built > 1 ? ` (${whole(built)})` : ""}`;
  if (kind === "engine") return `${one ? "one" : whole(number)} ${title} ${word}${one ? "" : "s"}${behind}${shared}`;
  const kernels = `${one ? `an ${word}` : `${word}s`} for ${listedWords(engines.map(kind === "kernel" ? counted : ({ title: kernel }) => kernel))}`;
  return kind === "kernel" ? `${kernels}${host.length ? `; keep ${listedWords(host)} on the host` : ""}` : `${kernels}${behind}${shared}`;
}
/* The options of a design in the words of their catalogs. */
function describeOptions(row) {
  const words = Object.entries(overview.descriptions).filter(([name]) => !overview.idle.includes(name)).map(([name, known]) => [byName.get(name).values[row], known]);
  return words.filter(([option, known]) => known[option]).map(([option, known]) => `${option}: ${known[option].replace(/\.$/, "")}.`).join(" ");
}
function buildSentence() {
  const { row, role } = chosen;
  if (row === null) return ["No design on the front is left. Allow an option again."];
  if (role === "recommended") return [`Build ${buildWords(row)}.`, small(describeOptions(row))];
  const useful = front.some((each) => !rejected.has(each));
  return [role === "missed" && useful ? "No design on the front meets the bounds." : "Build nothing.", small(`${role === "missed" ? `The nearest is design ${designs[row]}` : `Design ${designs[row]} has the best ${worded(overview.main)}`}: ${buildWords(row)}.`)];
}

// tiles
/* Where a value is among the values on the front, from the worst to the best. */
function positionStrip(objective, row) {
  const { column } = objective, log = Boolean(column.log && scaleOf(column, true)), places = placesOf(column, log), [low, high] = spanOfPlaces(column, log);
  const better = signOf(objective) < 0, at = (v) => (high > low ? 2 + 96 * (better ? (v - low) / (high - low) : (high - v) / (high - low)) : 50);
  const ticks = thinned(front, 300).filter((each) => Number.isFinite(places[each])).map((each) => svg("line", { x1: at(places[each]), x2: at(places[each]), y1: 5, y2: 13 }));
  const picture = svg("svg", { viewBox: "0 0 100 18", preserveAspectRatio: "none" }, ...ticks);
  return make("div", { class: "strip", "aria-hidden": "true", title: "The designs on the front, better to the right" }, picture, make("i", { style: { left: `${at(places[row])}%` } }));
}
function rankWords(objective, row) {
  const { values } = objective.column, sign = signOf(objective);
  const better = new Set(front.filter((each) => sign * values[each] < sign * values[row]).map((each) => values[each])).size;
  const distinct = new Set(front.map((each) => values[each])).size;
  return distinct < 2 ? "the same on the whole front" : better ? `${ordinal(better + 1)} best of ${whole(distinct)} on the front` : "best on the front";
}
const ordinal = (n) => `${whole(n)}${n % 100 > 10 && n % 100 < 14 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] || "th"}`;
const isMain = ({ column }) => column.name === overview.main;
function tile(objective, row) {
  const { column, condition, direction } = objective, [value, unit] = splitUnit(brief(column.values[row], column.unit));
  return make("div", { class: "tile" },
    make("h3", { title: column.about }, worded(objective.name)),
    chosen.role === "recommended" ? null : make("p", { class: "hint" }, `of design ${designs[row]}, which is not recommended`),
    make("p", { class: "value" }, value, unit ? make("span", { class: "unit" }, ` ${unit}`) : null),
    make("p", { class: "hint" }, [column.about, isMain(objective) && !condition && overview.size ? `at ${overview.size}` : ""].filter(Boolean).join(", ")),
    make("p", { class: "hint" }, [worded(condition || ""), direction === "maximize" ? "higher is better →" : "lower is better →"].filter(Boolean).join(" · ")),
    positionStrip(objective, row), make("p", { class: "hint" }, rankWords(objective, row)));
}
function splitUnit(words) {
  const at = words.indexOf(" ");
  return at < 0 ? [words, ""] : [words.slice(0, at), words.slice(at + 1)];
}

// lines
function answerLines(row, isRecommended) {
  const explained = data.explanations[designs[row]], lines = [];
  const add = (label, ...words) => { if (words.some(Boolean)) lines.push(make("div", {}, make("dt", {}, label), make("dd", {}, ...words))); };
  if (explained) {
    const [top] = explained.sensitivities.filter((item) => item.bottleneck && item.objective === overview.main);
    const better = top ? `strongest input: ${worded(top.input)} ${top.change}, ${worded(top.objective)} ${top.effect}` : "";
    const bottleneck = [explained.limits, better].filter(Boolean).join("; ");
    add(bottleneck ? "Bottleneck" : "Limit", bottleneck || nearestLimit(row));
  } else {
    add("Limit", nearestLimit(row));
    add("More", make("code", {}, data.explain + designs[row]));
  }
  if (row === data.start) {
    if (isRecommended) add("Choice", overview.reason, overview.reason.includes("Nash product") ? small("Nash product: maximized values above break-even, divided by minimized values") : null), add("Next step", overview.next_step);
    if (overview.baseline) add("No engine", `all on the host: ${overview.baseline}`);
  }
  const addSwitchPoints = () => { if (row === data.start && isOwn()) add(overview.switch_label, overview.nearest); };
  if (!isRecommended) addSwitchPoints(); // the advice: where a design is beneficial
  const [check] = overview.assumptions, shift = check ? `${check.label} ${check.range}: the front shifts by ${check.shown}` : "";
  const [complete, assumed] = [...document.querySelectorAll("#bar .mark")].map((mark) => mark.textContent.split(":"));
  add("Confidence", [`search ${complete[0].toLowerCase()}`, assumed ? assumed[1].trim().replace("assumed", "of the inputs assumed") : "", row === data.start && overview.spread ? `if one input is half, double or at a bound of its range: ${overview.spread}` : shift].filter(Boolean).join("; "));
  if (isRecommended) addSwitchPoints();
  return lines;
}
/* The constraint of which the design leaves least. */
function nearestLimit(row) {
  const used = Object.entries(overview.limits).map(([name, limit]) => [name, byName.get(name).values[row] / real(limit)]).filter(([, part]) => Number.isFinite(part));
  if (!used.length) return "";
  const [name, part] = used.reduce((a, b) => (b[1] > a[1] ? b : a));
  return `${worded(name)} is at ${brief(100 * part)}\u2009% of its limit`;
}
function showAnswer() {
  const { row, role } = chosen;
  $("answer").classList.toggle("nothing", role !== "recommended");
  $("sentence").replaceChildren(...buildSentence());
  $("tiles").hidden = $("built").hidden = row === null;
  if (row === null) return;
  $("tiles").replaceChildren(...objectives.map((objective) => tile(objective, row)));
  $("lines").replaceChildren(...answerLines(row, role === "recommended"));
  $("diagram").replaceChildren(...diagram(row));
}

// alternatives
const changedValue = (value, unit, change, better) => [make("b", {}, brief(value, unit)), change ? make("span", { class: better }, ` ${change}`) : null];
/* Columns: the recommended design, the best of each objective, the selected and the pinned designs. */
function alternativeColumns() {
  const shown = new Map();
  const add = (row, word) => { if (row !== null && row >= 0) shown.set(row, [...(shown.get(row) || []), word]); };
  add(chosen.row, chosen.role === "recommended" ? "recommended" : "nearest");
  for (const objective of objectives) add(objective.best, `${objective.direction === "maximize" ? "highest" : "lowest"} ${worded(objective.name)}`);
  add(data.nash !== chosen.row && isOwn() === false ? data.nash : null, "without preferences");
  for (const row of pins) add(row, "pinned");
  add(state.selected, "selected");
  return [...shown].map(([row, words]) => ({ row, words: words.length > 1 ? words.filter((word) => word !== "selected") : words }));
}
function showAlternatives() {
  const shown = alternativeColumns(), all = $("all-rows").checked, base = shown.length ? shown[0].row : null;
  if (base === null) return;
  const heads = shown.map(({ row, words }) => make("th", { scope: "col", class: "number", "aria-current": String(row === state.selected) },
    ...listedHead(words), make("button", { class: "plain", title: "Show why", onclick: () => select(row) }, `design ${designs[row]}`),
    pins.includes(row) ? make("button", { title: "Unpin", "aria-label": `Unpin design ${designs[row]}`, onclick: () => pin(row) }, "×") : null));
  const line = (column) => {
    const differs = shown.some(({ row }) => !sameValue(column, row, base));
    if (!differs && !all) return [];
    const objective = objectiveOf.get(column.name);
    const cells = shown.map(({ row }) => {
      const same = sameValue(column, row, base), change = same || !objective ? "" : changeText(column.values[base], column.values[row]);
      const better = change && signOf(objective) * column.values[row] < signOf(objective) * column.values[base] ? "better" : "worse";
      return make("td", { class: `number ${same && row !== base ? "same" : ""}` }, ...(objective ? changedValue(column.values[row], column.unit, change, better) : [valueWords(column, row)]));
    });
    return [make("tr", { class: objective ? "objective" : "", "data-name": column.name }, make("th", { scope: "row", title: column.about }, worded(labelOf(column))), ...cells)];
  };
  const rows = [...objectives.map(({ column }) => column), ...withRole("variable")].flatMap(line);
  $("alternatives-table").hidden = shown.length < 2;
  $("alternatives-table").replaceChildren(...table([th("Changes are against the design at the left"), ...heads], rows));
  const full = pins.length >= mostPins;
  $("alternatives-hint").textContent = shown.length < 2 ? "No other design on the front is better in any objective. Select a design to compare it." : full ? `${mostPins} designs are pinned.` : "Select a design on the front and pin it to add a column.";
}
const listedHead = (words) => words.flatMap((word) => [word, make("br")]);
