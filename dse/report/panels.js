/* Panels: a title, a picture, a table, a note; those of the run, of a design, of the study's models. */

function panelTable({ columns, numbers, rows, swatches }) {
  const length = (content) => (Array.isArray(content) ? content[0] : content).length;
  const long = columns.map((_, i) => rows.some((row) => length(row[i]) > 48));
  const kind = (i) => (numbers[i] ? "number" : long[i] ? "words long" : "words");
  const head = columns.map((name, i) => make("th", { scope: "col", class: kind(i) }, ...breakable(name)));
  const cell = (content, i, k) => {
    const [words, remark] = Array.isArray(content) ? content : [content, null];
    const mark = i === 0 && swatches.length ? swatch(swatches[k]) : null;
    return make("td", { class: kind(i) }, mark, words, remark ? small(remark) : null);
  };
  const lines = rows.map((row, k) => make("tr", {}, ...row.map((content, i) => cell(content, i, k))));
  return rows.length > longTable ? folded(head, lines) : scrolled(head, lines);
}
const longTable = 24; // rows above which only the first are shown
function folded(head, lines) {
  const rest = lines.slice(longTable / 2), table = scrolled(head, lines);
  const show = (all) => { for (const line of rest) line.classList.toggle("folded", !all); };
  const button = make("button", { onclick: () => { show(true); button.remove(); } }, `Show all ${whole(lines.length)} rows`);
  show(false);
  table.append(button);
  return table;
}
/* The text alternative of a plot: its title, its axes, and its series. */
function alternativeOf(title, { data: series, layout }) {
  const axis = (name) => (layout[name] && layout[name].title && layout[name].title.text ? `${name[0]}: ${layout[name].title.text}` : "");
  const named = [...new Set(series.map((each) => each.name).filter(Boolean))];
  return [title, axis("xaxis"), axis("yaxis"), named.length ? `series: ${named.join(", ")}` : ""].filter(Boolean).join("; ").replaceAll("<br>", " ");
}
/* A matrix as a table; its colours are the colours of numbers. */
function heatmapTable(title, { unit, ends, columns, rows }) {
  const cell = (content) => {
    if (!content) return td("");
    const [words, place, hover] = content, color = mixed(place);
    return make("td", { title: hover, style: { background: color, color: inkOn(color) } }, words);
  };
  const head = columns.map((name) => make("th", { scope: "col" }, make("span", {}, ...breakable(name))));
  const lines = rows.map(([name, cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map(cell)));
  const key = make("p", { class: "hint key" }, ends[0], make("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${data.colorscale.map(([, color]) => color)})` } }), `${ends[1]}${unit ? ` ${unit}` : ""}`);
  return make("div", { class: "heat" }, make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, make("table", {}, ...table([td(""), ...head], lines))), key);
}
/* A tree as blocks: children lie under their parent, as wide as their part of its value. */
function treeBlocks(nodes) {
  const names = [...new Set(nodes.map(([name]) => name))], children = nodes.map(() => []);
  nodes.forEach(([, parent], node) => { if (parent >= 0) children[parent].push(node); });
  const block = (node) => {
    const [name, , value, label, words] = nodes[node], color = categoryColor(names.indexOf(name)), rest = value - children[node].reduce((sum, child) => sum + nodes[child][2], 0);
    const said = `${name}: ${[words, label].filter(Boolean).join(", ")}`;
    return make("li", { style: { flex: `${value} 1 0` } }, make("div", { class: "block", title: said, style: { background: color, color: inkOn(color) } }, name, small(label)),
      children[node].length ? make("ul", {}, ...children[node].map(block), rest > 0 ? make("li", { "aria-hidden": "true", style: { flex: `${rest} 1 0` } }) : null) : null);
  };
  return make("ul", { class: "tree" }, ...nodes.flatMap(([, parent], node) => (parent < 0 ? [block(node)] : [])));
}
function panelOf({ name, kind, title, note, plot, height, heatmap, tree, table, wide }) {
  const hint = note ? make("p", { class: "hint" }, note) : null;
  const picture = plot ? make("div", { class: "plot", id: name, role: "img", "aria-label": alternativeOf(title, plot), style: { height: `${height}px` } }) : null;
  const body = picture && table
    ? [make("div", { class: "panels wide" }, picture, make("div", {}, hint, panelTable(table)))]
    : [picture || (heatmap && heatmapTable(title, heatmap)) || (tree && treeBlocks(tree)) || panelTable(table), hint];
  return make("div", { class: `${kind} ${wide ? "wide" : "picture"}` }, make("h3", {}, title), ...body);
}
/* A series without x has that of the first, one without a colour the page's. */
function inked(series, first) {
  const { ink } = theme();
  const { line } = series, lit = line && (line.color ? onGround(line.color) : ink);
  return { x: first.x, ...series, ...(line ? { line: { ...line, color: lit } } : {}) };
}
/* What a quantity is, where the reader asks its name in the legend. */
function explainLegend(plot) {
  const named = plot.data.filter((series) => series.showlegend !== false);
  for (const [i, item] of plot.querySelectorAll(".legend .traces").entries()) {
    if (!named[i] || !named[i].meta) continue;
    const title = item.querySelector("title") || item.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "title"));
    title.textContent = `${named[i].name}: ${named[i].meta}`;
  }
}
/* Tools show under the pointer; a screen that is touched would have them over the legend. */
const panelConfig = { ...config, displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false };
function drawPanels(panels) {
  for (const { name, plot } of panels) {
    if (!plot) continue;
    const series = plot.data.map((each) => inked(each, plot.data[0]));
    Plotly.react(name, series, themed(plot.layout), panelConfig).then((drawn) => {
      explainLegend(drawn);
      drawn.removeAllListeners("plotly_afterplot");
      drawn.on("plotly_afterplot", () => explainLegend(drawn));
    });
  }
}
function showSections() {
  const cards = data.sections.map(({ title, paragraphs, panels }, i) => {
    const words = paragraphs.map((words) => make("p", { class: "prose" }, words));
    return make("section", { class: "card", id: `model-${i}`, "aria-label": title }, make("h2", {}, title), ...words, make("div", { class: "parts" }, ...panels.map(panelOf)));
  });
  $("models").replaceChildren(...cards);
  const folds = data.evidence.map(({ title, paragraphs, panels }) => make("details", { ontoggle: () => drawPanels(panels) }, make("summary", {}, make("h3", {}, title)), ...paragraphs.map((words) => make("p", { class: "prose" }, words)), make("div", { class: "parts" }, ...panels.map(panelOf))));
  $("evidence").replaceChildren(...folds);
  $("run-panels").replaceChildren(...data.panels.map(panelOf));
  drawRun();
}
function drawRun() {
  drawPanels([...data.sections.flatMap(({ panels }) => panels), ...($("details").open ? data.panels : [])]);
}
