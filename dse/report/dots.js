/* Thousands of designs in 2-D: plotly draws axes, legend, Nash design and choice; the dots are painted on a
   canvas under them, so that a selection costs no more than painting them again. */

const dots = { on: false, stale: false, layers: [], rows: [], xs: null, ys: null, under: null, down: null };
/* A layer of dots; plotly gets its entry in the legend, and its colours. */
function dotted(rows, name, marker) {
  dots.layers.push({ rows, size: marker.size, opacity: marker.opacity || 1, colors: Array.isArray(marker.color) ? lineColors() : { shades: [marker.color], of: () => 0 } });
  const color = Array.isArray(marker.color) ? [marker.cmin ?? 0, marker.cmax ?? 1] : marker.color;
  return { type: "scatter", mode: "markers", hoverinfo: "none", name, marker: { ...marker, color }, customdata: rows, x: [null, null], y: [null, null] };
}
/* Two points that are not seen, for plotly to find the range of an axis that is not given. */
function dotCorners() {
  const ends = ["x", "y"].map((d) => {
    const column = byName.get(axes[d].name), log = axes[d].log && column.number, places = allPlaces(column, log);
    let [low, high] = [Infinity, -Infinity];
    const see = (row) => { const v = places[row]; if (v < low) low = v; if (v > high) high = v; };
    for (let row = 0; row < count; row += 1) if (alive[row]) see(row);
    if ($("dominated").checked) others.forEach(see);
    const value = (v) => (!column.number ? plain(column.categories[v]) : log ? 10 ** v : v);
    return low <= high ? [d, [value(low), value(high)]] : [d, [null, null]];
  });
  return { type: "scatter", mode: "markers", hoverinfo: "skip", showlegend: false, name: "", customdata: [], marker: { size: 6, opacity: 0 }, ...Object.fromEntries(ends) };
}
function dotCanvas() {
  const plot = $("plane"), found = plot.querySelector("canvas.dots");
  if (found) return found;
  const canvas = make("canvas", { class: "dots" });
  plot.prepend(canvas);
  plot.on("plotly_afterplot", paintDots);
  plot.on("plotly_relayouting", paintDots); // while it is dragged
  plot.addEventListener("mousemove", hoverDot);
  plot.addEventListener("pointerdown", (event) => { dots.down = event; }, true);
  addEventListener("pointerup", clickDot, true);
  return canvas;
}
/* Where rows lie along an axis, in pixels of the plot's area. */
function pixels(d) {
  const column = byName.get(axes[d].name), places = allPlaces(column, axes[d].log && column.number);
  const { range, _length: long } = $("plane")._fullLayout[`${d}axis`], [first, last] = range;
  const scale = long / (last - first);
  return d === "x" ? (row) => (places[row] - first) * scale : (row) => long - (places[row] - first) * scale;
}
const dotPictures = new Map(); // of each colour and size
function dotPicture(color, size, ratio) {
  const key = `${color} ${size} ${ratio}`;
  if (!dotPictures.has(key)) {
    const picture = make("canvas", { width: Math.ceil(size * ratio), height: Math.ceil(size * ratio) }), context = picture.getContext("2d");
    context.scale(ratio, ratio);
    context.fillStyle = color;
    context.beginPath();
    context.arc(size / 2, size / 2, size / 2, 0, 2 * Math.PI);
    context.fill();
    dotPictures.set(key, picture);
  }
  return dotPictures.get(key);
}
function paintDots() {
  dots.stale = false;
  const canvas = dotCanvas(), { xaxis, yaxis } = $("plane")._fullLayout, ratio = devicePixelRatio || 1;
  canvas.hidden = !dots.on;
  if (!dots.on) return;
  const [wide, high] = [xaxis._length, yaxis._length], context = canvas.getContext("2d");
  [canvas.width, canvas.height] = [Math.round(wide * ratio), Math.round(high * ratio)];
  Object.assign(canvas.style, { left: `${xaxis._offset}px`, top: `${yaxis._offset}px`, width: `${wide}px`, height: `${high}px` });
  context.scale(ratio, ratio);
  const [px, py] = [pixels("x"), pixels("y")];
  dots.rows = dots.layers.flatMap(({ rows }) => rows);
  [dots.xs, dots.ys] = [Float32Array.from(dots.rows, px), Float32Array.from(dots.rows, py)];
  let at = 0;
  for (const { rows, size, opacity, colors: { shades, of } } of dots.layers) {
    const pictures = shades.map((color) => dotPicture(color, size, ratio));
    context.globalAlpha = opacity;
    for (const row of rows) {
      const x = dots.xs[at], y = dots.ys[at];
      at += 1;
      if (x >= -size && x <= wide + size && y >= -size && y <= high + size) context.drawImage(pictures[of(row)], x - size / 2, y - size / 2, size, size);
    }
  }
}
/* The dot nearest to the pointer, if it is near; of equals the one that is painted last. */
function hoverDot(event) {
  if (!dots.on || !dots.xs) return;
  const box = dotCanvas().getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let [near, least] = [null, 64];
  for (let at = 0; at < dots.rows.length; at += 1) {
    const far = (dots.xs[at] - x) ** 2 + (dots.ys[at] - y) ** 2;
    if (far <= least) [near, least] = [dots.rows[at], far];
  }
  if (near !== null) showTooltip(near); else if (dots.under !== null) hideTooltip();
  dots.under = near;
}
function clickDot(event) {
  const { down } = dots;
  dots.down = null;
  if (dots.on && down && dots.under !== null && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < 4) select(dots.under);
}
/* As plotly's own picture of the plot, with the dots. */
function savePlane() {
  const plot = $("plane"), { layout, data: series, clientWidth: width, clientHeight: height } = plot;
  const place = { xref: "paper", yref: "paper", x: 0, y: 1, sizex: 1, sizey: 1, sizing: "stretch", layer: "below" };
  const images = dots.on ? [{ ...place, source: dotCanvas().toDataURL() }] : [];
  Plotly.downloadImage({ data: series, layout: { ...layout, images, paper_bgcolor: theme().card } }, { format: "png", width, height, filename: "front" });
}
