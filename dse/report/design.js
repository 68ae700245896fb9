/* The selected design: its values, its reasons, and changes; the confidence in the answer. */

const labelOf = ({ name }) => (objectiveOf.has(name) ? objectiveOf.get(name).label : name);
function fact(column, row) {
  return make("div", {}, make("dt", {}, labelOf(column), column.about && column.about !== "option" ? small(column.about) : null), make("dd", {}, text(column, row)));
}
function badges(row) {
  const marks = row === chosen.row && chosen.role === "recommended" ? ["recommended"] : [];
  for (const objective of objectives) if (objective.best === row) marks.push(`best ${worded(objective.name)}`);
  if (standing(row)) marks.push(standing(row));
  return marks.flatMap((mark) => [" ", make("span", { class: "badge" }, mark)]);
}
function showDesign(row) {
  $("design-title").replaceChildren(`Design ${designs[row]}`, ...badges(row));
  $("chosen-title").textContent = `Values of design ${designs[row]}`;
  const groups = roles.map(([role, heading]) => {
    const list = withRole(role).map((column) => fact(column, row));
    if (!list.length) return null;
    return make("div", {}, make("h4", {}, heading), make("dl", { class: role === "objective" ? "facts strong" : "facts" }, ...list));
  });
  $("design-values").replaceChildren(...groups.filter(Boolean));
}
function fieldList(fields) {
  if (!fields.length) return null;
  const line = ([label, words], i) => make("div", {}, make("dt", {}, i && fields[i - 1][0] === label ? "" : label), make("dd", {}, words));
  return make("dl", { class: "fields", id: "fields" }, ...fields.map(line));
}

// meters
const nearLimit = 0.9; // of a limit: a larger use has the colour of a warning
/* The use of each shared part and budget, with the limit that a constraint sets. */
function meters(row) {
  const isUse = ({ name, unit }) => unit === "1" && /(^|_)utilization$/.test(name);
  const metered = columns.filter((column) => column.number && (isUse(column) || real(overview.limits[column.name] ?? NaN) > 0) && Number.isFinite(column.values[row]));
  if (!metered.length) return null;
  const rows = metered.map((column) => {
    const value = column.values[row], limit = real(overview.limits[column.name] ?? NaN), use = isUse(column), whole = use ? Math.max(1, value) : limit;
    const words = use ? `${brief(100 * value, "1")}\u2009%` : brief(value, column.unit), bound = Number.isFinite(limit) ? (use ? `${brief(100 * limit, "1")}\u2009%` : brief(limit, column.unit)) : "";
    const place = (v) => `${v > 0 ? Math.min(100, (100 * v) / whole) : 0}%`;
    const bar = make("div", { class: "meter", role: "img", "aria-label": `${words}${bound ? ` of at most ${bound}` : ""}` },
      make("span", { class: value > nearLimit * limit ? "near" : "", style: { width: place(value) } }), Number.isFinite(limit) && limit < whole ? make("i", { style: { left: place(limit) } }) : null);
    return make("tr", {}, make("th", { scope: "row", title: column.about }, worded(column.name).replace(/ utilization$/, "")), make("td", { class: "number" }, words), make("td", { class: "wide" }, bar), td(bound ? `limit ${bound}` : ""));
  });
  return make("div", {}, make("h3", {}, "Utilization and limits"), scrolled([th("part"), th("use", "number"), th(""), th("limit")], rows));
}

// breakdowns
const smallPart = 0.02; // of a total: smaller parts are one
const timeUnits = ["s", "cycle"];
function mergedParts(parts) {
  const large = parts.filter(([, , share]) => Math.abs(real(share)) >= smallPart), rest = parts.filter(([, , share]) => Math.abs(real(share)) < smallPart);
  const others = rest.filter(([, , share]) => real(share) > 0);
  if (others.length < 2) return parts.filter(([, , share]) => real(share) !== 0);
  const share = others.reduce((sum, [, , part]) => sum + real(part), 0);
  return [...large, [`${others.length} others`, `${(100 * share).toPrecision(2)}\u2009%`, share]];
}
function stackedBar({ total, sum, condition, parts }) {
  const shown = mergedParts(parts), colorOf = categoryColor;
  const segments = shown.map(([name, value, share], i) => {
    const part = Math.max(0, real(share) || 0), color = colorOf(i), words = part < 0.09 ? "" : `${(100 * part).toFixed(0)}\u2009%`;
    return make("span", { class: words ? "" : "thin", title: `${worded(name)} ${value}`, style: { width: `${100 * part}%`, background: color, color: inkOn(color) } }, words);
  });
  const legend = shown.map(([name, value], i) => make("span", {}, swatch(colorOf(i)), `${worded(name)} ${value}`));
  const heading = make("div", {}, make("strong", {}, worded(total)), ` ${sum}`, condition ? make("span", { class: "hint" }, ` · for ${condition}`) : null);
  const said = shown.map(([name, value]) => `${worded(name)} ${value}`).join(", ");
  return make("div", { class: "breakdown" }, heading, make("div", { class: "bar", role: "img", "aria-label": `${worded(total)}: ${said}` }, ...segments), make("div", { class: "legend" }, ...legend));
}
/* One bar of time and one of area; the others are folded. */
function breakdown(totals) {
  if (!totals.length) return null;
  const isTime = ({ unit }) => timeUnits.includes(unit), first = [totals.find(isTime), totals.find((each) => !isTime(each))].filter(Boolean);
  const others = totals.filter((each) => !first.includes(each));
  const more = others.length ? make("details", {}, make("summary", {}, plural(others.length, "further breakdown")), ...others.map(stackedBar)) : null;
  return make("div", {}, make("h3", {}, "Breakdown"), ...first.map(stackedBar), more);
}

// tornado
const mostParameters = 8;
const gainSize = (gain) => Math.log(Math.min(Math.max(real(gain) || 1, 1), 1e3));
function gainBar(gain, widest) {
  return make("span", { class: "gain", style: { width: `${Math.round((64 * gainSize(gain)) / widest)}px` } });
}
/* The gain of each objective if one parameter improves, at most eight parameters. */
function tornado(list) {
  const useful = list.filter(({ gain }) => real(gain) > 1), best = new Map();
  for (const item of useful) best.set(item.input, Math.max(best.get(item.input) || 0, gainSize(item.gain)));
  const inputs = [...best].sort((a, b) => b[1] - a[1]).slice(0, mostParameters).map(([input]) => input);
  if (!inputs.length) return null;
  const shown = objectives.filter(({ name }) => useful.some((item) => item.objective === name && inputs.includes(item.input)));
  const widest = Math.max(Math.log(2), ...best.values());
  const line = (input) => {
    const mine = list.filter((item) => item.input === input), [first] = mine;
    const cells = shown.map(({ name }) => {
      const item = mine.find(({ objective }) => objective === name), gains = item && real(item.gain) > 1;
      return make("td", { class: item && item.bottleneck ? "" : "below", title: item ? item.effect : "" }, gains ? gainBar(item.gain, widest) : null, gains ? item.gained : "–");
    });
    return make("tr", {}, make("th", { scope: "row" }, worded(input), small(first.who === "study" ? "set by the study" : `set by: ${first.who}`)), td(first.change), ...cells);
  };
  const rows = inputs.map(line), more = best.size - inputs.length;
  return make("div", { id: "tornado" }, make("h3", {}, "Gain if one parameter improves"), scrolled([th("parameter"), th("improved"), ...shown.map(({ name }) => th(worded(name)))], rows),
    make("p", { class: "hint" }, `A larger factor is a larger gain; grey factors are below the threshold of a bottleneck.${more > 0 ? ` ${plural(more, "parameter")} with a smaller gain ${more > 1 ? "are" : "is"} not shown.` : ""}`));
}

// what-if
const mostChanges = 10;
/* One change per row, one column per objective. */
function whatIf(changes) {
  if (!changes.length) return null;
  const line = ({ change, design, entry, beneficial, effects }) => {
    const row = design === null ? -1 : designs.indexOf(design), words = design === null ? "" : `design ${design}`;
    const link = row >= 0 ? make("button", { class: "plain", onclick: () => select(row) }, words) : words;
    const cells = effects.map(([before, after, gain], i) => {
      const words = changeText(real(before), real(after)), better = real(gain) > 1 ? "better" : real(gain) < 1 ? "worse" : "";
      return make("td", { class: "number" }, ...changedValue(real(after), objectives[i].column.unit, words, better));
    });
    return make("tr", {}, make("th", { scope: "row", class: "words" }, change, small(entry ? "catalog entry that the study leaves out" : "", beneficial ? "" : "not beneficial")), td(link), ...cells);
  };
  const rows = changes.slice(0, mostChanges).map(line);
  return make("div", { id: "what-if" }, make("h3", {}, "What if"), scrolled([th("change"), th("design"), ...objectives.map((objective) => th(worded(objective.name), "number"))], rows));
}
function showWhy(row) {
  const design = designs[row], explanation = data.explanations[design], uses = meters(row), body = $("limits-body");
  if (!explanation) {
    body.replaceChildren(...[uses].filter(Boolean), make("p", {}, "This report does not explain this design in full. In a terminal: ", make("code", {}, data.explain + design)));
    showAlong([]);
    return;
  }
  const pair = [uses, breakdown(explanation.parts)].filter(Boolean);
  const all = [fieldList(explanation.fields), pair.length ? make("div", { class: "panels" }, ...pair) : null, whatIf(explanation.changes), tornado(explanation.sensitivities)];
  body.replaceChildren(...all.filter(Boolean));
  showAlong(explanation.panels);
}
/* Curves and regions of the selected design along inputs such as the size of a call. */
function showAlong(panels) {
  $("callsize").hidden = !panels.length;
  $("callsize-title").textContent = panels.some(({ title }) => / along granularity$/.test(title)) ? "Along call size" : panels.some(({ plot }) => plot) ? "Along inputs" : "Scenarios";
  $("callsize-panels").replaceChildren(...panels.map(panelOf));
  drawPanels(panels);
  showContents();
}

// confidence
/* The assumptions whose values shift the front most, with the values at which the recommendation changes. */
function showAssumptions() {
  const { assumptions, searched } = overview;
  if (!assumptions.length) return;
  const widest = Math.max(...assumptions.map(({ shift }) => shift)), switches = assumptions.some(({ switch: points }) => points.length);
  const line = (item) => make("tr", {},
    make("th", { scope: "row", class: "words" }, item.label, small(item.provenance)), td(item.value), td(item.range),
    td(make("span", { class: "gain", style: { width: `${Math.round((120 * item.shift) / widest)}px` } }), item.shown), td(item.objective),
    switches ? make("td", { class: "words" }, item.switch.join("; ") || "none found") : null);
  const heads = [th("input value"), th("now"), th("range"), th("front shift"), th("changes most"), ...(switches ? [th("switch points")] : [])];
  $("assumptions").replaceChildren(make("h3", {}, "Input values to check first"), scrolled(heads, assumptions.map(line)),
    make("p", { class: "hint" }, `The front shift is the mean fraction by which the front gets worse or better, at the worse end of the range. ${searched.length ? `Switch points: ${searched[0]}.` : ""}`));
}
