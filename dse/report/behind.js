/* Other fronts in the plot: the front before a change behind it, and a provisional front before it. */

const behind = { before: null, provisional: null };
/* Fronts by column, as the server has them; null for none. */
function showBehind(fronts) {
  Object.assign(behind, fronts);
  if (front.length) draw();
}
function pointsOf(points, name, marker) {
  const given = axes.x.name in points && axes.y.name in points ? points[axes.x.name].map((_, i) => i) : [];
  const places = ["x", "y"].map((d) => {
    const column = byName.get(axes[d].name), values = given.length ? points[column.name].map((value) => (column.number ? real(value) : value)) : [];
    return [d, coordinates({ ...column, values }, axes[d].log, given).values];
  });
  return { type: "scatter", mode: "markers", hoverinfo: "skip", name: `${name} (${whole(given.length)})`, marker, customdata: [], ...Object.fromEntries(places) };
}
const grey = { color: data.neutral, symbol: "circle-open", size: 8, opacity: 0.9 };
const tracesAlone = traces;
traces = (size) => {
  const drawn = tracesAlone(size);
  const { before, provisional } = behind;
  if (provisional) {
    const own = Object.fromEntries(["x", "y"].map((d) => [axes[d].name, front.map((row) => byName.get(axes[d].name).values[row])]));
    drawn.list = [pointsOf(own, "front before", grey), pointsOf(provisional, "provisional front", { color: categoryColor(0), size })];
  } else if (before) drawn.list.unshift(pointsOf(before, "front before", grey));
  return drawn;
};
/* An axis that shows the front only shows the other fronts too. */
const axisAlone = axisLayout;
axisLayout = (which) => {
  const layout = axisAlone(which);
  if (behind.before || behind.provisional) { delete layout.range; delete layout.autorange; }
  return layout;
};
data.explain = "dse explain RUN --design ";
