/* Small multiples: the front over the other pairs of objectives. A click shows a pair in the large plot. */

const multiples = { width: 210, height: 150, pad: 8, most: 1500 };
function otherPairs() {
  const names = objectives.map(({ name }) => name), shown = [axes.x.name, axes.y.name];
  const pairs = names.flatMap((one, i) => names.slice(i + 1).map((other) => [one, other]));
  return pairs.filter((pair) => !pair.every((name) => shown.includes(name)));
}
function showMultiples() {
  const pairs = state.view === "plane" ? otherPairs() : [], layers = pairs.length ? pairLayers() : [];
  $("multiples").hidden = !pairs.length;
  $("multiples").replaceChildren(...pairs.map(([x, y]) => {
    const canvas = make("canvas", {});
    const show = () => { axes.x.name = x; axes.y.name = y; for (const which of ["x", "y"]) { resetLog(which); $(`axis-${which}`).value = axes[which].name; } draw(); saveState(true); };
    const button = make("button", { class: "multiple", title: "Show this pair in the large plot", onclick: show }, make("span", {}, `${worded(y)} over ${worded(x)}`), canvas);
    paintPair(canvas, byName.get(x), byName.get(y), layers);
    return button;
  }));
}
/* The points to paint, those that are not selected first, each with its colour. */
function pairLayers() {
  const { shades, of } = lineColors(), { soft } = theme(), rows = distinctRows(rowsOf(alive));
  return [false, true].map((chosenOnes) => {
    const points = thinned(rows.filter((row) => Boolean(selected[row]) === chosenOnes), multiples.most);
    return { alpha: chosenOnes ? 1 : 0.25, points: points.map((row) => [row, chosenOnes ? shades[of(row)] : soft]) };
  });
}
function paintPair(canvas, x, y, layers) {
  const { width, height, pad } = multiples, ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  context.scale(ratio, ratio);
  const along = (column, length) => {
    const places = placesOf(column, column.log), [low, high] = spanOfPlaces(column, column.log);
    return (row) => pad + ((places[row] - low) / (high - low || 1)) * (length - 2 * pad);
  };
  const px = along(x, width), up = along(y, height), py = (row) => height - up(row);
  for (const { alpha, points } of layers) {
    context.globalAlpha = alpha;
    for (const [row, color] of points) {
      context.fillStyle = color;
      context.fillRect(px(row) - 1.5, py(row) - 1.5, 3, 3);
    }
  }
  if (state.selected === null || state.selected >= count) return;
  Object.assign(context, { globalAlpha: 1, strokeStyle: theme().ink, lineWidth: 2 });
  context.beginPath();
  context.arc(px(state.selected), py(state.selected), 5, 0, 2 * Math.PI);
  context.stroke();
}
