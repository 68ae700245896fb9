/* Panels: a title, a picture, a table, a note; those of the run, of a design, of the study's models. */

function panelTable({ columns, numbers, rows, swatches }) {
  const kind = (i) => (numbers[i] ? "number" : "words");
  const head = columns.map((name, i) => make("th", { scope: "col", class: kind(i) }, ...breakable(name)));
  const cell = (content, i, k) => {
    const [words, remark] = Array.isArray(content) ? content : [content, null];
    const mark = i === 0 && swatches.length ? swatch(swatches[k]) : null;
    return make("td", { class: kind(i) }, mark, words, remark ? small(remark) : null);
  };
  return scrolled(head, rows.map((row, k) => make("tr", {}, ...row.map((content, i) => cell(content, i, k)))));
}
function panelOf({ name, kind, title, note, plot, height, table, wide }) {
  const hint = note ? make("p", { class: "hint" }, note) : null;
  const picture = plot ? make("div", { class: "plot", id: name, style: { height: `${height}px` } }) : null;
  const body = picture && table
    ? [make("div", { class: "panels wide" }, picture, make("div", {}, hint, panelTable(table)))]
    : [picture || panelTable(table), hint];
  return make("div", { class: `${kind} ${wide ? "wide" : "picture"}` }, make("h3", {}, title), ...body);
}
/* A series without x has that of the first, one without a colour the page's. */
function inked(series, first) {
  const { ink } = theme();
  return { x: first.x, ...series, ...(series.line && !series.line.color ? { line: { ...series.line, color: ink } } : {}) };
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
function drawPanels(panels) {
  for (const { name, plot } of panels) {
    if (!plot) continue;
    const series = plot.data.map((each) => inked(each, plot.data[0]));
    Plotly.react(name, series, themed(plot.layout), config).then((drawn) => {
      explainLegend(drawn);
      drawn.removeAllListeners("plotly_afterplot");
      drawn.on("plotly_afterplot", () => explainLegend(drawn));
    });
  }
}
function showSections() {
  const cards = data.sections.map(({ title, paragraphs, panels }) => {
    const words = paragraphs.map((words) => make("p", { class: "prose" }, words));
    return make("section", { class: "card", "aria-label": title }, make("h2", {}, title), ...words, make("div", { class: "parts" }, ...panels.map(panelOf)));
  });
  $("sections").replaceChildren(...cards);
  $("run-panels").replaceChildren(...data.panels.map(panelOf));
  drawRun();
}
function drawRun() {
  drawPanels([...data.sections.flatMap(({ panels }) => panels), ...data.panels]);
}
