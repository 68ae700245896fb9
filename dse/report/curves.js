/* The curves of the chosen design: quantities along an input, the least of each marked. */

function curvePanel(curve, i) {
  const figure = (words, note) => make("td", { class: "number" }, words, note ? small(note) : null);
  const rows = curve.rows.map(([name, about, unit, value, at, here, edge, infinite]) => {
    const own = here === null ? "–" : quantity(real(here), unit, infinite);
    const least = value === null ? [figure("–"), figure("–")] : [figure(quantity(real(value), unit)), figure(quantity(real(at), curve.unit), edge && "end of the axis")];
    return make("tr", {}, make("td", { style: { whiteSpace: "normal" } }, name, small(about)), ...least, figure(own));
  });
  const head = [th("quantity"), th("least", "number"), make("th", { scope: "col", class: "number" }, "at ", ...breakable(curve.axis)), th("this design", "number")];
  const plot = make("div", { class: "plot regions", id: `curve-${i}`, style: { height: `${130 + 250 * curve.panels}px` } });
  const shaded = curve.infinite ? " No line is drawn where a quantity is infinite (shaded)." : "";
  const note = `Diamonds mark the least of each quantity among the points drawn.${shaded}`;
  const table = make("div", {}, make("p", { class: "hint" }, note), scrolled(head, rows));
  return make("div", { class: "curve" }, make("h3", {}, curve.name), make("div", { class: "panels wide" }, plot, table));
}
/* What a quantity is, where the reader asks its name in the legend. */
function explainLegend(plot) {
  const shown = plot.data.filter((series) => series.showlegend !== false);
  for (const [i, item] of plot.querySelectorAll(".legend .traces").entries()) {
    const title = item.querySelector("title") || item.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "title"));
    title.textContent = `${shown[i].name}: ${shown[i].meta}`;
  }
}
function drawCurves(explanation) {
  for (const [i, { plot }] of explanation.curves.entries()) {
    Plotly.react(`curve-${i}`, plot.data, themed(plot.layout), config).then((drawn) => {
      explainLegend(drawn);
      drawn.removeAllListeners("plotly_afterplot");
      drawn.on("plotly_afterplot", () => explainLegend(drawn));
    });
  }
}
