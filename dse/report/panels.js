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
function panelOf({ name, kind, title, note, plot, height, table, wide }) {
  const hint = note ? make("p", { class: "hint" }, note) : null;
  const picture = plot ? make("div", { class: "plot", id: name, role: "img", "aria-label": alternativeOf(title, plot), style: { height: `${height}px` } }) : null;
  const body = picture && table
    ? [make("div", { class: "panels wide" }, picture, make("div", {}, hint, panelTable(table)))]
    : [picture || panelTable(table), hint];
  return make("div", { class: `${kind} ${wide ? "wide" : "picture"}` }, make("h3", {}, title), ...body);
}
/* A colour of a thin line, lighter on a dark ground. */
function onGround(color) {
  if (!/^#[0-9a-f]{6}$/i.test(color) || !darkGround()) return color;
  return `rgb(${[1, 3, 5].map((at) => Math.round(0.75 * parseInt(color.slice(at, at + 2), 16) + 0.25 * 255)).join(",")})`;
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
/* A number that is wider than its cell lies over the next one: the pointer tells it. */
function fitNumbers(drawn) {
  if (drawn.data[0]?.type !== "heatmap") return;
  const { _length: width, range } = drawn._fullLayout.xaxis, cell = width / Math.abs(range[1] - range[0]);
  for (const label of drawn.querySelectorAll(".heatmap-label text")) {
    label.style.visibility = label.getBBox().width > cell - 2 ? "hidden" : "visible";
  }
}
function drawPanels(panels) {
  for (const { name, plot } of panels) {
    if (!plot) continue;
    const series = plot.data.map((each) => inked(each, plot.data[0]));
    Plotly.react(name, series, themed(plot.layout), panelConfig).then((drawn) => {
      const finish = () => { explainLegend(drawn); fitNumbers(drawn); };
      finish();
      drawn.removeAllListeners("plotly_afterplot");
      drawn.on("plotly_afterplot", finish);
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
