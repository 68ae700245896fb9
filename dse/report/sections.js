/* What the study's models add: words, tables and pictures, each text set as text. */

function sectionTable({ columns, numbers, rows }) {
  const kind = (i) => (numbers[i] ? "number" : "words");
  const head = columns.map((name, i) => make("th", { scope: "col", class: kind(i) }, ...breakable(name)));
  return scrolled(head, rows.map((row) => make("tr", {}, ...row.map((words, i) => make("td", { class: kind(i) }, words)))));
}
function sectionPart(part, id) {
  const note = part.note ? make("p", { class: "hint" }, part.note) : null;
  const body = part.table ? sectionTable(part.table) : make("div", { class: "plot", id, style: { height: `${part.height}px` } });
  return make("div", { class: part.table || part.wide ? "wide" : "picture" }, make("h3", {}, part.title), body, note);
}
function showSections() {
  const cards = data.sections.map(({ title, paragraphs, parts }, i) => {
    const words = paragraphs.map((words) => make("p", { class: "prose" }, words));
    const shown = parts.map((part, j) => sectionPart(part, `section-${i}-${j}`));
    return make("section", { class: "card", "aria-label": title }, make("h2", {}, title), ...words, make("div", { class: "parts" }, ...shown));
  });
  $("sections").replaceChildren(...cards);
  drawSections();
}
function drawSections() {
  data.sections.forEach(({ parts }, i) => parts.forEach(({ plot }, j) => {
    if (plot) Plotly.react(`section-${i}-${j}`, plot.data, themed(plot.layout), config);
  }));
}
