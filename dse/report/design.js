/* The chosen design: its values, what limits it, and the designs that are best in something. */

const labelOf = ({ name }) => (objectiveOf.has(name) ? objectiveOf.get(name).label : name);
function fact(column, row) {
  return make("div", {}, make("dt", {}, labelOf(column), column.about && column.about !== "option" ? small(column.about) : null), make("dd", {}, text(column, row)));
}
function badges(row) {
  const marks = row === data.nash ? ["Nash design"] : [];
  for (const objective of objectives) if (objective.best === row) marks.push(`best ${objective.name}`);
  if (standing(row)) marks.push(standing(row));
  return marks.flatMap((mark) => [" ", make("span", { class: "badge" }, mark)]);
}
function showDesign(row) {
  $("design-title").replaceChildren(`Design ${designs[row]}`, ...badges(row));
  const groups = roles.map(([role, heading]) => {
    const list = withRole(role).map((column) => fact(column, row));
    if (!list.length) return null;
    const facts = make("dl", { class: role === "objective" ? "facts strong" : "facts" }, ...list);
    if (role === "objective" || role === "variable") return make("div", {}, make("h3", {}, heading), facts);
    const open = opened.has(role), summary = make("summary", {}, make("h3", {}, `${heading} (${list.length})`));
    const remember = (event) => { if (event.target.open) opened.add(role); else opened.delete(role); };
    return make("details", { open, ontoggle: remember }, summary, facts);
  });
  $("design-values").replaceChildren(...groups.filter(Boolean));
}
const opened = new Set(); // headings that the reader has unfolded
function fieldList(fields) {
  const line = ([label, words], i) => make("div", {}, make("dt", {}, i && fields[i - 1][0] === label ? "" : label), make("dd", {}, words));
  return make("dl", { class: "fields", id: "verdict" }, ...fields.map(line));
}
function breakdown(totals) {
  if (!totals.length) return null;
  const names = [...new Set(totals.flatMap(({ parts }) => parts.map(([name]) => name)))];
  const colors = new Map(names.map((name, i) => [name, data.palette[i % data.palette.length]]));
  const bars = totals.map(({ total, sum, condition, parts }) => {
    const segment = ([name, value, share]) => {
      const part = Math.max(0, real(share) || 0), style = { width: `${100 * part}%`, background: colors.get(name) };
      return make("span", { class: part < 0.12 ? "thin" : "", title: `${name} ${value}`, style }, part < 0.12 ? "" : `${(100 * part).toFixed(0)} %`);
    };
    const legend = parts.map(([name, value]) => make("span", {}, swatch(colors.get(name)), `${name} ${value}`));
    const note = condition ? make("span", { class: "hint" }, ` · for ${condition}`) : null;
    const heading = make("div", {}, make("strong", {}, total), ` ${sum}`, note);
    return make("div", {}, heading, make("div", { class: "bar" }, ...parts.map(segment)), make("div", { class: "legend" }, ...legend));
  });
  return make("div", {}, make("h3", {}, "Where it goes"), ...bars);
}
function bottlenecks(list) {
  if (!list.length) return null;
  const size = ({ gain }) => Math.log(Math.min(real(gain) || 1, 1e3)), widest = Math.max(Math.log(2), ...list.map(size));
  const line = (item) => {
    const bar = make("span", { class: "gain", style: { width: `${Math.round((56 * Math.max(0, size(item))) / widest)}px` } });
    const cells = [td(item.input, small(`set by: ${item.who}`)), td(item.change), td(item.effect), td(bar, item.gained)];
    return make("tr", { class: item.bottleneck ? "" : "below", hidden: !item.bottleneck }, ...cells);
  };
  const rows = [];
  for (const objective of objectives) {
    const mine = list.filter((item) => item.objective === objective.name);
    if (!mine.length) continue;
    const none = mine.some((item) => item.bottleneck) ? "" : ": no bottleneck";
    const title = objective.name + (objective.condition ? ` ${objective.condition}` : "") + none;
    rows.push(make("tr", {}, make("th", { colspan: 4, scope: "rowgroup" }, title)), ...mine.map(line));
  }
  const hidden = list.filter((item) => !item.bottleneck).length;
  const button = make("button", { onclick: showAll }, `Show ${hidden} more that gain too little`);
  function showAll() {
    for (const row of rows) row.hidden = false;
    button.hidden = true;
  }
  const head = ["input", "improved", "objective", "gain"].map((name) => th(name));
  return make("div", { id: "bottlenecks" }, make("h3", {}, "Sensitivity to one input"), scrolled(head, rows), hidden ? make("p", {}, button) : null);
}
function showLimits(row) {
  const design = designs[row], explanation = data.explanations[design];
  $("limits-title").textContent = `What limits design ${design}`;
  if (!explanation) {
    $("limits-body").replaceChildren(make("p", {}, "This report does not hold it. In a terminal: ", make("code", {}, data.explain + design)));
    return;
  }
  const sides = [breakdown(explanation.parts), bottlenecks(explanation.sensitivities)].filter(Boolean);
  $("limits-body").replaceChildren(fieldList(explanation.fields), make("div", { class: "panels" }, ...sides), ...explanation.panels.map(panelOf));
  drawPanels(explanation.panels);
}

// best designs
const breakable = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
function header(column, ...title) {
  const { condition } = objectiveOf.get(column.name) || {};
  const attributes = { class: numberClass(column), scope: "col", title: column.about };
  return make("th", attributes, ...(title.length ? title : breakable(column.title)), condition ? small(condition) : null);
}
const wordy = (words) => (words.length > 24 ? "words" : "");
function showBest() {
  const lines = objectives.map((objective) => [`${objective.direction === "maximize" ? "highest" : "lowest"} ${objective.name}`, objective.best, objective.name]);
  if (data.nash !== null) lines.push(["Nash design", data.nash, ""]);
  const shown = [...objectives.map((objective) => objective.column), ...withRole("variable")];
  const rows = lines.map(([name, row, which]) => {
    const cells = shown.map((column) => make("td", { class: `${numberClass(column) || wordy(cell(column, row))} ${column.name === which ? "best" : ""}`, "data-label": column.title }, cell(column, row)));
    return make("tr", choosable(row), td(name), make("td", { class: "number", "data-label": "design" }, String(designs[row])), ...cells);
  });
  $("best").replaceChildren(...table([th(""), th("design", "number"), ...shown.map((column) => header(column))], rows));
}

