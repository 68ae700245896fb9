/* Parallel coordinates: lines on a canvas, axes and brushes above it. Drag along an axis to brush it,
   click it to drop the brush; options are also switched by a click on their names. Drag the name of an
   axis to move it; its buttons invert and hide it. */

const lines = { top: 64, bottom: 26, left: 56, right: 56, gap: 58, most: 4000, behind: 2500, shades: 24, drawn: [], axes: [], hover: null };
const lineLayout = { order: [], hidden: [], inverted: [] }; // names of columns
const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/* An axis: where rows lie on it from 0 to 1, its ticks, and how a place becomes a value. */
const lineAxis = (() => {
  const known = new Map();
  return (column) => {
    if (!known.has(column.name)) known.set(column.name, column.number ? numberAxis(column) : optionAxis(column));
    return known.get(column.name);
  };
  function shares(places, low, high) {
    const found = new Float32Array(count), width = high - low || 1;
    for (let row = 0; row < count; row += 1) found[row] = (places[row] - low) / width;
    return found;
  }
  function optionAxis(column) {
    const { options } = column, last = Math.max(1, options.length - 1), share = (i) => (options.length > 1 ? i / last : 0.5);
    const order = new Map(options.map((option, i) => [option, share(i)]));
    const at = Float32Array.from({ length: count }, (_, row) => order.get(column.values[row]));
    return { column, at, ticks: options.map((option, i) => [share(i), option]), options: options.map((option, i) => [option, share(i)]) };
  }
  function numberAxis(column) {
    const scale = column.scales[Number(column.log)], [low, high] = scale.span, width = high - low || 1;
    const places = placesOf(column, column.log), share = (place) => (place - low) / width;
    const ticks = scale.ticks ? scale.ticks.map(([place, words]) => [share(place), words]) : evenTicks(column, low, high).map((place) => [share(place), digits(place)]);
    const end = scale.rail === null ? Infinity : share(column.log ? Math.log10(scale.rail) : scale.rail) - 0.02;
    const valueAt = (at) => {
      if (at >= end) return Infinity;
      const place = low + at * width;
      return (column.log ? 10 ** place : place) * column.scale;
    };
    const shareOf = (value) => {
      if (value === Infinity) return 1;
      const shown = value / column.scale;
      return Math.max(0, Math.min(1, share(column.log ? Math.log10(Math.max(shown, 1e-300)) : shown)));
    };
    return { column, at: shares(places, low, high), ticks, valueAt, shareOf };
  }
  /* At round places; of few whole values, at each. */
  function evenTicks(column, low, high) {
    const rough = (high - low) / 5, size = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find((k) => k * size >= rough) * size;
    const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  }
})();

/* The columns with an axis, in the reader's order. */
function lineColumns() {
  const all = [...withRole("variable"), ...withRole("objective")], place = (column) => { const at = lineLayout.order.indexOf(column.name); return at < 0 ? all.indexOf(column) : at; };
  return all.sort((a, b) => place(a) - place(b)).filter(({ name }) => !lineLayout.hidden.includes(name));
}
function changeLayout(change) {
  lineLayout.order = lineColumns().map(({ name }) => name);
  change();
  drawParallel();
  saveState(true);
}
const switchName = (list, name) => { const at = list.indexOf(name); if (at < 0) list.push(name); else list.splice(at, 1); };
function moveAxis(name, step) {
  const { order } = lineLayout, at = order.indexOf(name), to = Math.max(0, Math.min(order.length - 1, at + step));
  order.splice(to, 0, ...order.splice(at, 1));
}
function showHiddenAxes() {
  $("hidden-axes").hidden = state.view !== "parallel" || !lineLayout.hidden.length;
  $("hidden-axes").replaceChildren("Hidden axes ", ...lineLayout.hidden.map((name) => make("button", { class: "chip", onclick: () => changeLayout(() => { switchName(lineLayout.hidden, name); lineLayout.order.push(name); }) }, `+ ${name}`)));
}
function drawParallel() {
  const box = $("parallel"), shown = lineColumns();
  showHiddenAxes();
  if (box.hidden) return; // it has no size yet
  if (!box.firstChild) {
    box.append(make("div", { class: "lines" }, make("canvas", {}), svg("svg", { class: "axes" })));
    box.firstChild.addEventListener("mousemove", (event) => hoverLine(event));
    box.firstChild.addEventListener("mouseleave", () => { lines.hover = null; paintLines(); });
    box.firstChild.addEventListener("click", () => { if (lines.hover !== null) select(lines.hover); });
  }
  const inner = box.firstChild, height = box.clientHeight;
  const wide = Math.max(0, ...(shown[0].options || []).map((option) => option.length)); // the words left of the first axis
  lines.left = Math.max(56, 24 + 6.2 * Math.min(16, wide));
  const beside = lines.left + lines.right, width = Math.max(box.clientWidth, beside + (shown.length - 1) * lines.gap);
  inner.style.width = `${width}px`;
  Object.assign(lines, { width, height, low: height - lines.bottom, long: height - lines.bottom - lines.top });
  const step = shown.length > 1 ? (width - beside) / (shown.length - 1) : 0;
  lines.axes = shown.map((column, i) => ({ ...oriented(lineAxis(column)), x: shown.length > 1 ? lines.left + i * step : width / 2 }));
  lines.step = step || width / 2;
  paintLines();
  drawAxes();
}

/* An axis as the reader has it: inverted ones have their first place at the top. */
function oriented(axis) {
  const { column, at, ticks, options, valueAt, shareOf } = axis;
  if (!lineLayout.inverted.includes(column.name)) return axis;
  const turn = (share) => 1 - share, turned = (list) => list.map(([share, words]) => [turn(share), words]);
  return { column, at: at.map(turn), ticks: turned(ticks), options: options && options.map(([option, share]) => [option, turn(share)]), valueAt: valueAt && ((share) => valueAt(turn(share))), shareOf: shareOf && ((value) => turn(shareOf(value))), inverted: true };
}

// lines
function lineColors() {
  const column = byName.get(axes.color.name);
  if (!column.number) return { shades: column.options.map((_, i) => categoryColor(i)), of: (row) => column.options.indexOf(column.values[row]) };
  const places = placesOf(column, column.color_log), [low, high] = spanOfPlaces(column, column.color_log), last = lines.shades - 1;
  const of = (row) => Math.max(0, Math.min(last, Math.round((last * (places[row] - low)) / (high - low || 1)) || 0));
  return { shades: Array.from({ length: lines.shades }, (_, i) => onGround(mixed(i / last))), of };
}
const lineY = (axis, row) => lines.low - axis.at[row] * lines.long;
function trace(context, row) {
  let pen = false;
  for (const axis of lines.axes) {
    const y = lineY(axis, row);
    if (Number.isNaN(y)) { pen = false; continue; }
    if (pen) context.lineTo(axis.x, y); else context.moveTo(axis.x, y);
    pen = true;
  }
}
function paintLines() {
  const canvas = $("parallel").querySelector("canvas"), ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
  [canvas.width, canvas.height] = [lines.width * ratio, lines.height * ratio];
  Object.assign(canvas.style, { width: `${lines.width}px`, height: `${lines.height}px` });
  context.scale(ratio, ratio);
  /* One pixel wide and one by one: browsers draw such lines twenty times as fast as wider ones. */
  const stroke = (rows, style, width = 1 / ratio) => {
    Object.assign(context, { strokeStyle: style, lineWidth: width });
    for (const row of rows) {
      context.beginPath();
      trace(context, row);
      context.stroke();
    }
  };
  const rows = rowsOf(selected);
  if (nSelected < nAlive) {
    context.globalAlpha = 0.18;
    stroke(thinned(rowsOf(alive).filter((row) => !selected[row]), lines.behind), data.neutral);
  }
  lines.drawn = thinned(rows, lines.most);
  const { shades, of } = lineColors(), groups = shades.map(() => []);
  for (const row of lines.drawn) groups[of(row)].push(row);
  context.globalAlpha = Math.max(0.35, Math.min(0.9, 60 / Math.sqrt(lines.drawn.length + 1)));
  groups.forEach((group, i) => { if (group.length) stroke(group, shades[i]); });
  context.globalAlpha = 1;
  if (lines.hover !== null) stroke([lines.hover], theme().ink, 2.5);
  if (state.selected !== null && state.selected < count && alive[state.selected]) stroke([state.selected], "#d03050", 2.5);
}
/* The selected line nearest to the pointer, if it is near. */
function hoverLine(event) {
  const box = event.currentTarget.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const at = Math.max(0, Math.min(lines.axes.length - 2, Math.floor((x - lines.left) / lines.step)));
  const left = lines.axes[at], right = lines.axes[Math.min(at + 1, lines.axes.length - 1)], part = (x - left.x) / lines.step;
  let near = null, far = 6;
  for (const row of lines.drawn) {
    const off = Math.abs(lineY(left, row) * (1 - part) + lineY(right, row) * part - y);
    if (off < far) [near, far] = [row, off];
  }
  if (near !== lines.hover) { lines.hover = near; paintLines(); }
  if (near === null) hideTooltip(); else showTooltip(near);
}

// axes
function drawAxes() {
  const short = (words, most) => (words.length > most ? `${words.slice(0, most - 1)}…` : words);
  const { ink, soft, line, card } = theme(), root = $("parallel").querySelector("svg.axes");
  root.setAttribute("width", lines.width);
  root.setAttribute("height", lines.height);
  root.replaceChildren(...lines.axes.map((axis) => {
    const { column, x } = axis, group = svg("g", { class: "axis", "data-name": column.name, transform: `translate(${x},0)` });
    group.append(svg("line", { y1: lines.top, y2: lines.low, stroke: soft }));
    const label = svg("text", { y: lines.top - 14, transform: `rotate(-18 0 ${lines.top - 14})`, fill: ink, "font-size": 12, "text-anchor": "start", x: -14 }, short(column.title, 24));
    label.append(svg("title", {}, `${column.about}. Drag to move the axis; arrow keys move it too.`));
    Object.entries({ class: "name", tabindex: 0, role: "button", "aria-label": `Axis ${column.name}: move it with the arrow keys` }).forEach(([key, value]) => label.setAttribute(key, value));
    label.addEventListener("pointerdown", (event) => dragAxis(event, axis, group));
    label.addEventListener("keydown", (event) => { const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]; if (step) focusAgain(column.name, () => changeLayout(() => moveAxis(column.name, step))); });
    const tool = (x, sign, words, change) => {
      const button = svg("text", { x, y: lines.low + 16, fill: soft, "font-size": 13, class: "tool", tabindex: 0, role: "button", "aria-label": `${words} the axis ${column.name}` }, sign, svg("title", {}, words));
      button.addEventListener("click", (event) => { event.stopPropagation(); changeLayout(change); });
      button.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); focusAgain(column.name, () => changeLayout(change)); } });
      return button;
    };
    group.append(tool(-14, axis.inverted ? "↓" : "↑", "Invert", () => switchName(lineLayout.inverted, column.name)));
    if (lines.axes.length > 2) group.append(tool(6, "×", "Hide", () => { switchName(lineLayout.hidden, column.name); switchName(lineLayout.order, column.name); }));
    const ticks = axis.ticks.filter(([share]) => share >= -0.001 && share <= 1.001).map(([share, words]) => {
      const y = lines.low - share * lines.long;
      return svg("text", { x: -6, y: y + 4, fill: soft, "font-size": 11, "text-anchor": "end", stroke: card, "stroke-width": 3, "paint-order": "stroke", class: "tick" }, short(words, 16));
    });
    group.append(label, ...ticks, ...brushMarks(axis, ink));
    const handle = svg("rect", { x: -16, y: lines.top - 6, width: 32, height: lines.long + 12, fill: "transparent", class: "handle" });
    handle.append(svg("title", {}, `Drag to select along ${column.name}; click to undo.`));
    handle.addEventListener("pointerdown", (event) => drag(event, axis));
    group.append(handle);
    return group;
  }));
}
/* The drawing replaces the element that had the focus. */
function focusAgain(name, change) {
  change();
  $("parallel").querySelector(`.axis[data-name="${CSS.escape(name)}"] .name`)?.focus();
}
function dragAxis(event, axis, group) {
  event.preventDefault();
  const from = event.clientX, { name } = axis.column;
  const move = (each) => group.setAttribute("transform", `translate(${axis.x + each.clientX - from},0)`);
  const up = (each) => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    const step = Math.round((each.clientX - from) / lines.step);
    changeLayout(() => moveAxis(name, step));
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
}
function brushMarks(axis, ink) {
  const brush = ask.brushes[axis.column.name];
  if (!brush) return [];
  const mark = (low, high) => svg("rect", { class: "brush", x: -7, width: 14, y: lines.low - high * lines.long - 2, height: Math.max(2, (high - low) * lines.long) + 4, fill: ink, "fill-opacity": 0.22, stroke: ink });
  if (axis.options) return axis.options.filter(([option]) => brush.includes(option)).map(([, at]) => mark(Math.max(0, at - 0.015), Math.min(1, at + 0.015)));
  return [mark(...brush.map(axis.shareOf).sort((a, b) => a - b))];
}
function drag(event, axis) {
  event.preventDefault();
  const top = $("parallel").querySelector("svg.axes").getBoundingClientRect().top, { name } = axis.column;
  const shareAt = (each) => Math.max(0, Math.min(1, (lines.low - (each.clientY - top)) / lines.long));
  const start = shareAt(event), from = event.clientY, options = [...(axis.options ? ask.brushes[name] || [] : [])];
  const move = (each) => {
    const [low, high] = [start, shareAt(each)].sort((a, b) => a - b);
    if (axis.options) ask.brushes[name] = axis.options.filter(([, at]) => at >= low - 0.01 && at <= high + 0.01).map(([option]) => option);
    else {
      const [first, last] = axis.inverted ? [high, low] : [low, high], ends = axis.inverted ? [1, 0] : [0, 1];
      ask.brushes[name] = [first === ends[0] ? -Infinity : axis.valueAt(first), last === ends[1] ? Infinity : axis.valueAt(last)];
    }
    if (axis.options && !ask.brushes[name].length) delete ask.brushes[name];
    linkedSoon();
  };
  const up = (each) => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    if (Math.abs(each.clientY - from) < 4) clicked(axis, start, options);
    else if (axis.options || ask.brushes[name]) linked();
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
}
/* A click switches an option, and drops the brush of a number. */
function clicked(axis, at, options) {
  const { name } = axis.column;
  delete ask.brushes[name];
  if (axis.options) {
    const [near] = axis.options.reduce((best, each) => (Math.abs(each[1] - at) < Math.abs(best[1] - at) ? each : best));
    const kept = options.includes(near) ? options.filter((each) => each !== near) : [...options, near];
    if (kept.length) ask.brushes[name] = kept;
  }
  linked();
}
