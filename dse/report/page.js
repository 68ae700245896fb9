"use strict";
/* The page of a report: decodes the embedded data and draws plots, tables and the chosen design.
   Text from the study reaches the page through textContent, and plots through plain(), only. */
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);

  // ---- data -------------------------------------------------------------------------------------
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const floats = (text) => new Float64Array(bytes(text).buffer);
  function unpack(packed) {
    if (packed.numbers !== undefined) return floats(packed.numbers);
    const raw = bytes(packed.codes).buffer;
    const codes = packed.width === 1 ? new Uint8Array(raw) : packed.width === 2 ? new Uint16Array(raw) : new Uint32Array(raw);
    if (Array.isArray(packed.distinct)) return Array.from(codes, (code) => packed.distinct[code]);
    const distinct = floats(packed.distinct.numbers);
    return Float64Array.from(codes, (code) => distinct[code]);
  }
  const columns = data.columns.map((column) => ({ ...column, values: unpack(column.values) }));
  for (const column of columns) column.even = column.number && column.values.some((v) => Number.isFinite(v) && !Number.isInteger(v / column.scale));
  const byName = new Map(columns.map((column) => [column.name, column]));
  const goals = data.objectives.map((goal) => ({ ...goal, column: byName.get(goal.name) }));
  const goalOf = new Map(goals.map((goal) => [goal.name, goal]));
  const designs = unpack(data.designs);
  const rowOf = new Map(Array.from(designs, (design, row) => [design, row]));
  const front = Array.from({ length: data.front }, (_, row) => row);
  const others = Array.from(designs.slice(data.front), (_, i) => data.front + i);
  const roles = [["objective", "Objectives"], ["variable", "Variables"], ["input", "Inputs set by options"], ["constraint", "Constrained"]];
  const ordered = roles.flatMap(([role]) => columns.filter((column) => column.role === role));

  // ---- numbers and elements ---------------------------------------------------------------------
  const real = (value) => (value === null ? NaN : Number(value)); // "Infinity" and null come from JSON
  /* At least four significant digits; `even` keeps trailing zeros, for columns that align. */
  function digits(x, even = false) {
    const size = Math.abs(x);
    if (x === 0 || (Number.isInteger(x) && size < 1e7)) return x.toLocaleString("en-US", { minimumSignificantDigits: even && size < 1000 && x !== 0 ? 4 : 1 });
    if (size >= 1e7 || size < 1e-4) return x.toExponential(3).replace(even ? "" : /\.?0+e/, even ? "" : "e").replace("e+", "e");
    if (size >= 1000) return Math.round(x).toLocaleString("en-US");
    return x.toLocaleString("en-US", { maximumSignificantDigits: 4, minimumSignificantDigits: even ? 4 : 1 });
  }
  const nonfinite = (x, never) => (Number.isNaN(x) ? "–" : x > 0 ? never : "-∞");
  function quantity(x, unit, never = unit === "B" ? "never" : "∞") {
    if (!Number.isFinite(x)) return nonfinite(x, never);
    if (unit === "1" || unit === "") return digits(x);
    const binary = unit === "B";
    if (!(binary || data.prefixed.includes(unit)) || x === 0) return `${digits(x)} ${unit}`;
    const step = binary ? 1024 : 1000;
    const power = Math.max(binary ? 0 : -4, Math.min(binary ? 4 : 3, Math.floor(Math.log(Math.abs(x)) / Math.log(step) + 1e-12)));
    const prefix = binary ? ["", "Ki", "Mi", "Gi", "Ti"][power] : ["p", "n", "µ", "m", "", "k", "M", "G"][power + 4];
    return `${digits(x / step ** power)} ${prefix}${unit}`;
  }
  const text = (column, row) => (column.number ? quantity(column.values[row], column.unit, column.infinite) : column.values[row]);
  const cell = (column, row) => {
    const value = column.values[row];
    return !column.number ? value : Number.isFinite(value) ? digits(value / column.scale, column.even) : nonfinite(value, column.infinite);
  };
  const plain = (words) => String(words).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") Object.assign(element.style, value);
      else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }
  const numberClass = (column) => (column.number ? "number" : "");
  const better = (name) => (goalOf.has(name) ? (goalOf.get(name).direction === "maximize" ? "higher is better" : "lower is better") : "");

  // ---- state ------------------------------------------------------------------------------------
  const numbers = ordered.filter((column) => column.number).map((column) => column.name);
  const [x, y, color] = data.axes;
  const z = [color, ...numbers].find((name) => name !== x && name !== y && numbers.includes(name)) || y;
  const axes = { x: { name: x }, y: { name: y }, z: { name: z }, color: { name: color } };
  const resetLog = (which) => { axes[which].log = byName.get(axes[which].name).log; };
  ["x", "y", "z"].forEach(resetLog);
  const state = { selected: null, view: "plane", brushed: null, sort: "design", descending: false, page: 0, order: front };

  // ---- plots ------------------------------------------------------------------------------------
  const webgl = Boolean(document.createElement("canvas").getContext("webgl"));
  const config = { responsive: true, displaylogo: false, showSendToCloud: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "resetCameraLastSave3d", "sendChartToCloud"] };
  let printing = false;
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const look = (name) => style.getPropertyValue(`--${name}`).trim();
    return printing ? { ink: "#1d2530", soft: "#5b6675", line: "#dfe3e9", card: "#ffffff" } : { ink: look("ink"), soft: look("soft"), line: look("line"), card: look("card") };
  }
  function themed(layout) {
    const { ink, soft, line, card } = theme();
    const themedAxis = (axis) => ({ gridcolor: line, zerolinecolor: line, linecolor: line, tickfont: { color: soft }, ...axis });
    const result = {
      margin: { l: 64, r: 24, t: 34, b: 48 }, showlegend: true, ...(printing ? { width: 660 } : { autosize: true }), ...layout,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink } },
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink }, modebar: { color: soft, activecolor: ink, bgcolor: "rgba(0,0,0,0)" },
    };
    for (const name of ["xaxis", "yaxis", "yaxis2"]) if (result[name]) result[name] = themedAxis(result[name]);
    if (result.scene) for (const name of ["xaxis", "yaxis", "zaxis"]) result.scene[name] = themedAxis(result.scene[name]);
    return result;
  }
  /* Coordinates of rows on an axis; infinite values lie on a rail beyond the others. */
  function coordinates(column, log, rows) {
    if (!column.number) return { values: rows.map((row) => plain(column.values[row])), rail: null };
    const values = rows.map((row) => column.values[row] / column.scale);
    const near = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
    const low = near.reduce((a, b) => Math.min(a, b), Infinity), high = near.reduce((a, b) => Math.max(a, b), -Infinity);
    let rail = null;
    if (values.includes(Infinity)) rail = !near.length ? 1 : log ? high * Math.max(high / low, 10) ** 0.1 : high + 0.1 * (high - low || Math.abs(high) || 1);
    return { values: values.map((v) => (v === Infinity ? rail : Number.isFinite(v) && (!log || v > 0) ? v : null)), rail, low, high };
  }
  const withHint = (column) => plain(column.title) + (better(column.name) ? ` · ${better(column.name)}` : "");
  function axisLayout(which) {
    const { name, log } = axes[which], column = byName.get(name);
    const layout = { title: { text: withHint(column) }, type: column.number ? (log ? "log" : "linear") : "category", automargin: true, separatethousands: true };
    const near = column.number && log ? column.values.filter((v) => v > 0 && v < Infinity) : [];
    if (near.length && near.reduce((a, b) => Math.max(a, b)) > 1000 * near.reduce((a, b) => Math.min(a, b))) layout.dtick = 1;
    if (!column.number) Object.assign(layout, { categoryorder: "array", categoryarray: [...new Set(column.values)].map(plain) });
    return layout;
  }
  const colorBar = (column) => ({ title: { text: plain(column.title), side: "right" }, thickness: 12, outlinewidth: 0, len: 0.9 });
  function uneven(column, rows) { // colours say more in the logarithm already over one decade
    const { low, high } = coordinates(column, false, rows);
    return low > 0 && high > 10 * low;
  }
  function colorScale(column, rows, log = uneven(column, rows)) {
    const { values, rail, low, high } = coordinates(column, log, rows);
    const warp = (v) => (v === null ? null : log ? Math.log10(v) : v);
    const marker = { color: values.map(warp), colorscale: "Viridis", reversescale: true, colorbar: colorBar(column) };
    if ((log || rail !== null) && low < Infinity) {
      const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => (log ? low * (high / low) ** share : low + (high - low) * share));
      const labels = ticks.map((tick) => digits(Number(tick.toPrecision(2))));
      if (rail !== null) { ticks.push(rail); labels.push(column.infinite); }
      Object.assign(marker.colorbar, { tickvals: ticks.map(warp), ticktext: labels });
    }
    return marker;
  }
  function thinned(rows, count) {
    return rows.length <= count ? rows : Array.from({ length: count }, (_, i) => rows[Math.floor((i * (rows.length - 1)) / (count - 1))]);
  }
  /* The traces that 2-D and 3-D share: dominated designs, the front by colour, knee and choice. */
  function traces(dimensions, type, size) {
    const shown = $("dominated").checked ? others : [];
    const rows = [...shown, ...(webgl ? front : thinned(front, 4000))];
    const placed = Object.fromEntries(dimensions.map((d) => [d, coordinates(byName.get(axes[d].name), axes[d].log, rows)]));
    const at = (indices) => Object.fromEntries(dimensions.map((d) => [d, indices.map((i) => placed[d].values[i])]));
    const trace = (indices, name, marker, extra) => ({ type, mode: "markers", hoverinfo: "none", name, marker, customdata: indices.map((i) => rows[i]), ...at(indices), ...extra });
    const every = rows.map((_, i) => i), nFront = rows.length - shown.length;
    const list = [];
    if (shown.length) list.push(trace(every.slice(0, shown.length), "dominated", { color: data.neutral, size: size * 0.6, opacity: 0.35 }));
    const column = byName.get(axes.color.name), mine = every.slice(shown.length);
    const edge = { width: nFront > 3000 ? 0 : 0.5, color: "rgba(128,128,128,.6)" };
    if (column.number) {
      list.push(trace(mine, `front (${nFront.toLocaleString("en-US")})`, { size, line: edge, ...colorScale(column, mine.map((i) => rows[i])) }));
    } else {
      [...new Set(column.values)].sort().forEach((option, i) => {
        const part = mine.filter((k) => column.values[rows[k]] === option);
        if (part.length) list.push(trace(part, plain(option), { size, line: edge, color: data.palette[i % data.palette.length] }));
      });
    }
    const marked = (row, name, marker) => trace(row === null ? [] : [rows.indexOf(row)].filter((i) => i >= 0), name, marker, { meta: name });
    const { ink } = theme();
    if (data.knee !== null) list.push(marked(data.knee, "knee", { size: size * 2, symbol: "diamond-open", color: ink, line: { width: 2, color: ink } }));
    list.push(marked(state.selected, "chosen", { size: size * 2.2, symbol: "circle-open", color: "#d03050", line: { width: 3, color: "#d03050" } }));
    return { list, placed };
  }
  const legend = { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", itemsizing: "constant" };
  function drawPlane() {
    const type = webgl && designs.length > 3000 ? "scattergl" : "scatter";
    const { list, placed } = traces(["x", "y"], type, front.length > 3000 ? 5 : 7);
    const shapes = [], annotations = [], soft = theme().soft;
    for (const d of ["x", "y"]) {
      const { rail } = placed[d];
      if (rail === null) continue;
      const never = byName.get(axes[d].name).infinite, o = d === "x" ? "y" : "x";
      shapes.push({ type: "line", layer: "below", [`${d}0`]: rail, [`${d}1`]: rail, [`${o}ref`]: "paper", [`${o}0`]: 0, [`${o}1`]: 1, line: { color: soft, width: 1, dash: "dot" } });
      annotations.push({ text: never, showarrow: false, font: { color: soft }, [d]: axes[d].log ? Math.log10(rail) : rail, [`${o}ref`]: "paper", [o]: d === "x" ? 0 : 1, xanchor: "right", yanchor: "bottom" });
    }
    const key = JSON.stringify([axes.x, axes.y]);
    Plotly.react("plane", list, themed({ xaxis: axisLayout("x"), yaxis: axisLayout("y"), shapes, annotations, legend, hovermode: "closest", dragmode: "zoom", uirevision: key }), config);
  }
  function drawSpace() {
    if (!webgl) { $("space").textContent = "This browser offers no WebGL, which the 3-D view needs."; return; }
    const { list } = traces(["x", "y", "z"], "scatter3d", 4);
    const scene = { xaxis: axisLayout("x"), yaxis: axisLayout("y"), zaxis: axisLayout("z"), camera: { eye: { x: 1.5, y: 1.5, z: 0.9 } } };
    for (const axis of Object.values(scene)) delete axis.automargin;
    Plotly.react("space", list, themed({ scene, legend, margin: { l: 0, r: 0, t: 34, b: 0 }, uirevision: JSON.stringify([axes.x, axes.y, axes.z]) }), config);
  }
  function dimension(column) {
    const label = plain(column.title.length > 24 ? `${column.title.slice(0, 23)}…` : column.title);
    if (!column.number) {
      const options = [...new Set(column.values)].sort();
      return { label, values: front.map((row) => options.indexOf(column.values[row])), tickvals: options.map((_, i) => i), ticktext: options.map(plain) };
    }
    const { color: values, colorbar } = colorScale(column, front, column.log);
    return { label, values, tickvals: colorbar.tickvals, ticktext: colorbar.ticktext };
  }
  function drawParallel() {
    if (!webgl) { $("parallel").textContent = "This browser offers no WebGL, which parallel coordinates need."; return; }
    const column = byName.get(axes.color.name);
    const line = column.number ? colorScale(column, front) : { color: dimension(column).values, colorscale: data.palette.slice(0, 8).map((c, i, all) => [i / (all.length - 1), c]), cmin: 0, cmax: 7 };
    if (column.number) line.showscale = true;
    const { ink, soft } = theme();
    const shown = columns.filter((c) => c.role === "variable").concat(goals.map((goal) => goal.column));
    const trace = { type: "parcoords", line, dimensions: shown.map(dimension), labelangle: -18, labelfont: { size: 12, color: ink }, tickfont: { size: 11, color: soft }, rangefont: { size: 1, color: "rgba(0,0,0,0)" } };
    Plotly.react("parallel", [trace], themed({ margin: { l: 70, r: 50, t: 96, b: 20 } }), config);
  }
  const drawers = { plane: drawPlane, space: drawSpace, parallel: drawParallel };
  const hints = {
    plane: "Point at a design for its inputs, click it to see what limits it. Drag to zoom, double-click to zoom out.",
    space: "Point at a design for its inputs, click it to see what limits it. Drag to turn.",
    parallel: "Drag along an axis to keep the designs between two values: the table below follows. Click the axis to undo.",
  };
  function draw() {
    for (const name of Object.keys(drawers)) {
      $(name).hidden = name !== state.view;
      const tab = $(`tab-${name}`), active = name === state.view;
      tab.setAttribute("aria-selected", active);
      tab.tabIndex = active ? 0 : -1;
    }
    $("view").setAttribute("aria-labelledby", `tab-${state.view}`);
    const used = { plane: ["x", "y", "color", "dominated"], space: ["x", "y", "z", "color", "dominated"], parallel: ["color"] }[state.view];
    for (const label of $("controls").children) label.hidden = !used.includes(label.dataset.axis) || (label.dataset.axis === "dominated" && !others.length);
    for (const which of ["x", "y", "z"]) {
      const column = byName.get(axes[which].name), box = $(`log-${which}`);
      box.disabled = !column.number || column.values.some((v) => v <= 0);
      box.checked = axes[which].log && !box.disabled;
    }
    $("hint").textContent = hints[state.view];
    drawers[state.view]();
    listen($(state.view));
  }

  // ---- hover and choice -------------------------------------------------------------------------
  const tooltip = $("tooltip");
  let mouse = { clientX: 0, clientY: 0 }, hovered = null;
  function showTooltip(row) {
    hovered = row;
    const lines = ordered.map((column) => make("tr", { class: column.role }, make("td", {}, column.name), make("td", {}, text(column, row))));
    tooltip.replaceChildren(make("strong", {}, `Design ${designs[row].toLocaleString("en-US")}`, row < data.front ? "" : " (dominated)"), make("table", {}, make("tbody", {}, ...lines)));
    tooltip.hidden = false;
    const box = tooltip.getBoundingClientRect(), room = (at, size, all) => Math.max(4, at + 16 + size > all ? Math.min(at - 16 - size, all - size - 4) : at + 16);
    tooltip.style.left = `${room(mouse.clientX, box.width, innerWidth)}px`;
    tooltip.style.top = `${Math.max(4, Math.min(mouse.clientY + 12, innerHeight - box.height - 4))}px`;
  }
  function hideTooltip() { tooltip.hidden = true; hovered = null; }
  function listen(plot) {
    if (plot.dataset.listening || !plot.on) return;
    plot.dataset.listening = "yes";
    const parallel = plot.id === "parallel";
    const rowAt = (event) => (parallel ? event.curveNumber : event.points[0].customdata);
    plot.on("plotly_hover", (event) => { const row = rowAt(event); if (row !== null && row !== undefined && row < designs.length) showTooltip(row); });
    plot.on("plotly_unhover", hideTooltip);
    if (parallel) {
      plot.addEventListener("click", () => { if (hovered !== null) select(hovered); });
      plot.on("plotly_restyle", brush);
    } else plot.on("plotly_click", (event) => select(rowAt(event)));
  }
  function brush() {
    const kept = $("parallel").data[0].dimensions.filter((d) => d.constraintrange && d.constraintrange.length);
    const inside = (d, row) => (Array.isArray(d.constraintrange[0]) ? d.constraintrange : [d.constraintrange]).some(([a, b]) => d.values[row] >= a && d.values[row] <= b);
    state.brushed = kept.length ? new Set(front.filter((row) => kept.every((d) => inside(d, row)))) : null;
    order();
  }
  function select(row) {
    state.selected = row;
    if (state.view !== "parallel") drawers[state.view]();
    showDesign(row);
    showLimits(row);
    for (const line of document.querySelectorAll("tr[data-row]")) line.setAttribute("aria-current", Number(line.dataset.row) === row);
  }
  const choosable = (row) => ({
    "data-row": row, tabindex: 0, "aria-current": String(row === state.selected), onclick: () => select(row),
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); select(row); } },
  });

  // ---- the chosen design ------------------------------------------------------------------------
  const facts = (list, role) => make("dl", { class: role === "objective" ? "facts strong" : "facts" }, ...list.map((line) => make("div", { title: line.about }, make("dt", {}, line.name, line.note ? make("small", {}, line.note) : null), make("dd", {}, line.value))));
  function badges(row) {
    const marks = row === data.knee ? ["knee"] : [];
    for (const goal of goals) if (bestRow(goal) === row) marks.push(`best ${goal.name}`);
    if (row >= data.front) marks.push("dominated");
    return marks.map((mark) => make("span", { class: "badge" }, mark));
  }
  function showDesign(row) {
    $("design-title").replaceChildren(`Design ${designs[row].toLocaleString("en-US")}`, ...badges(row));
    const groups = roles.map(([role, heading]) => {
      const list = columns.filter((column) => column.role === role).map((column) => ({ name: column.name, about: column.about, note: role === "objective" ? goalOf.get(column.name).condition : "", value: text(column, row) }));
      return list.length ? make("div", {}, make("h3", {}, heading), facts(list, role)) : null;
    });
    $("design-values").replaceChildren(...groups.filter(Boolean));
  }
  const unitOf = (name) => (byName.has(name) ? byName.get(name).unit : "1");
  const change = (from, to, unit) => `${quantity(real(from), unit)} → ${quantity(real(to), unit)}`;
  const gainText = (gain) => (real(gain) === Infinity ? "now possible" : `${digits(Number(real(gain).toPrecision(3)))}×`);
  function nextSteps(explanation) {
    if (!explanation.next.length) return make("p", { class: "next" }, explanation.sensitivities.length ? "No single input limits this design: improving any one of them gains too little to count." : "No input of this study declares which way it improves.");
    const items = explanation.next.map((i) => explanation.sensitivities[i]).map(([goal, input, symbol, unit, value, improved, before, after, gain]) =>
      make("li", {}, make("em", {}, goal), ": improve ", make("strong", {}, input), symbol && symbol !== input ? ` (${symbol})` : "", `, ${change(value, improved, unit)}. That takes it ${change(before, after, unitOf(goal))}, ${real(gain) === Infinity ? "" : "better by "}${gainText(gain)}`));
    return make("div", { class: "next" }, make("strong", {}, "What to change next"), make("ul", {}, ...items));
  }
  function breakdown(parts) {
    if (!parts.length) return null;
    const colors = new Map([...new Set(parts.map((part) => part[2]))].map((name, i) => [name, data.palette[i % data.palette.length]]));
    const totals = new Map();
    for (const part of parts) {
      const key = JSON.stringify([part[1], part[0]]);
      totals.set(key, [...(totals.get(key) || []), part]);
    }
    const bars = [...totals].map(([key, list]) => {
      const [total, goal] = JSON.parse(key), sum = list.reduce((all, part) => all + real(part[4]), 0);
      const share = (part) => Math.max(0, real(part[5]) || 0);
      const bar = list.map((part) => make("span", { class: share(part) < 0.12 ? "thin" : "", title: `${part[2]}: ${quantity(real(part[4]), part[3])}`, style: { width: `${100 * share(part)}%`, background: colors.get(part[2]) } }, share(part) < 0.12 ? "" : `${(100 * share(part)).toFixed(0)} %`));
      const names = list.map((part) => make("span", {}, make("span", { class: "swatch", style: { background: colors.get(part[2]) } }), `${part[2]} ${quantity(real(part[4]), part[3])}`));
      return make("div", {}, make("div", {}, make("strong", {}, total), ` ${quantity(sum, list[0][3])}`, goal ? make("span", { class: "hint" }, ` · for ${goal}`) : null), make("div", { class: "bar" }, ...bar), make("div", { class: "legend" }, ...names));
    });
    return make("div", {}, make("h3", {}, "Where it goes"), ...bars);
  }
  function bottlenecks(list) {
    if (!list.length) return null;
    const widest = Math.log(Math.max(2, ...list.map((item) => Math.min(real(item[8]) || 1, 1e3))));
    const line = ([goal, input, symbol, unit, value, improved, before, after, gain, limits]) => {
      const length = Math.max(0, Math.log(Math.min(real(gain) || 1, 1e3)) / widest);
      return make("tr", { class: limits ? "" : "below", hidden: !limits }, make("td", {}, input, symbol && symbol !== input ? ` (${symbol})` : ""), make("td", {}, change(value, improved, unit)), make("td", {}, change(before, after, unitOf(goal))), make("td", {}, make("span", { class: "gain", style: { width: `${Math.round(56 * length)}px` } }), gainText(gain)));
    };
    const body = make("tbody", {});
    for (const goal of goals) {
      const mine = list.filter((item) => item[0] === goal.name);
      if (!mine.length) continue;
      const none = mine.some((item) => item[9]) ? "" : ": no bottleneck";
      body.append(make("tr", {}, make("th", { colspan: 4, scope: "rowgroup" }, goal.name, goal.condition ? ` ${goal.condition}` : "", none)), ...mine.map(line));
    }
    const hidden = list.filter((item) => !item[9]).length;
    const button = make("button", { onclick: () => { body.querySelectorAll("tr.below").forEach((row) => { row.hidden = false; }); button.hidden = true; } }, `Show ${hidden} more that gain too little`);
    const head = make("tr", {}, ...["input", "improved", "objective", "gain"].map((name) => make("th", { scope: "col" }, name)));
    return make("div", { id: "bottlenecks" }, make("h3", {}, "Bottlenecks"), make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), body)), hidden ? make("p", {}, button) : null);
  }
  function regionsPanel(regions, i) {
    const end = (value, last) => make("td", { class: "number" }, quantity(real(value), regions.unit), last ? make("small", {}, "end of the axis") : null);
    const rows = regions.rows.map(([label, inputs, low, high, swatch], k, all) => make("tr", {}, make("td", {}, make("span", { class: "swatch", style: { background: swatch || "transparent" } }), label || "–"), make("td", { style: { whiteSpace: "normal" } }, inputs.join(", ") || "nothing limits"), end(low, k === 0), end(high, k === all.length - 1)));
    const head = make("tr", {}, make("th", { scope: "col" }, "region"), make("th", { scope: "col" }, "bottlenecks"), make("th", { class: "number", scope: "col" }, "from"), make("th", { class: "number", scope: "col" }, "to"));
    const note = `In each region, the named inputs improve ${regions.objective} by at least ${digits(100 * regions.threshold)} % when they get ${digits(regions.factor)}× better.`;
    const table = make("div", {}, make("p", { class: "hint" }, note), make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))));
    return make("div", {}, make("h3", {}, `Optimization regions of ${regions.objective} along ${regions.axis}`), make("div", { class: "panels wide" }, make("div", { class: "plot regions", id: `regions-${i}` }), table));
  }
  function drawRegions(explanation) {
    explanation.regions.forEach(({ plot }, i) => {
      const [base, ...improved] = plot.data, ink = theme().ink;
      const curves = [{ ...base, line: { ...base.line, color: ink } }, ...improved.map((curve) => ({ ...curve, x: base.x }))];
      Plotly.react(`regions-${i}`, curves, themed(plot.layout), config);
    });
  }
  function showLimits(row) {
    const design = designs[row], explanation = data.explanations[design];
    $("limits-title").textContent = `What limits design ${design.toLocaleString("en-US")}`;
    if (!explanation) {
      $("limits-body").replaceChildren(make("p", {}, "This report does not hold it. In a terminal: ", make("code", {}, data.explain + design)));
      return;
    }
    const panels = [breakdown(explanation.parts), bottlenecks(explanation.sensitivities)].filter(Boolean);
    $("limits-body").replaceChildren(nextSteps(explanation), make("div", { class: "panels" }, ...panels), ...explanation.regions.map(regionsPanel));
    drawRegions(explanation);
  }

  // ---- best designs -----------------------------------------------------------------------------
  function bestRow(goal) {
    const sign = goal.direction === "minimize" ? 1 : -1, { values } = goal.column;
    return front.reduce((best, row) => (best === null || sign * values[row] < sign * values[best] ? row : best), null);
  }
  const breakable = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
  const header = (column) => make("th", { class: numberClass(column), scope: "col", title: column.about }, ...breakable(column.title), goalOf.has(column.name) && goalOf.get(column.name).condition ? make("small", {}, goalOf.get(column.name).condition) : null);
  function showBest() {
    const lines = goals.map((goal) => [`${goal.direction === "maximize" ? "highest" : "lowest"} ${goal.name}`, bestRow(goal), goal.name]);
    if (data.knee !== null) lines.push(["knee: the best compromise", data.knee, ""]);
    const shown = [...goals.map((goal) => goal.column), ...columns.filter((column) => column.role === "variable")];
    const rows = lines.map(([name, row, which]) => make("tr", choosable(row), make("td", {}, name), make("td", { class: "number" }, designs[row].toLocaleString("en-US")), ...shown.map((column) => make("td", { class: `${numberClass(column)} ${column.name === which ? "best" : ""}` }, cell(column, row)))));
    $("best").replaceChildren(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ""), make("th", { class: "number", scope: "col" }, "design"), ...shown.map(header))), make("tbody", {}, ...rows));
  }

  // ---- the table --------------------------------------------------------------------------------
  const tabled = [{ name: "design", title: "design", number: true, scale: 1, unit: "1", infinite: "∞", values: designs, about: "number of the design" }, ...goals.map((goal) => goal.column), ...columns.filter((column) => column.role === "variable"), ...columns.filter((column) => column.role === "input" || column.role === "constraint")];
  const inTable = new Map(tabled.map((column) => [column.name, column]));
  const tests = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "=": (a, b) => a === b };
  /* A word must occur in an option or be the number; a limit such as area<=2 is in the shown unit. */
  function filters() {
    return $("filter").value.trim().split(/\s+/).filter(Boolean).map((word) => {
      const limit = word.match(/^([^<>=]+)(<=|>=|<|>|=)(.+)$/), column = limit && inTable.get(limit[1]);
      if (limit && !column) return { problem: `no column “${limit[1]}”` };
      if (limit && column.number) {
        const bound = limit[3] === column.infinite ? Infinity : Number(limit[3].replaceAll(",", ""));
        return Number.isNaN(bound) ? { problem: `“${limit[3]}” is no number` } : { keeps: (row) => tests[limit[2]](column.values[row] / column.scale, bound) };
      }
      const sought = (limit ? limit[3] : word).toLowerCase(), where = limit ? [column] : tabled.filter((each) => !each.number);
      return { keeps: (row) => (!limit && String(designs[row]) === sought) || where.some((each) => each.values[row].toLowerCase().includes(sought)) };
    });
  }
  function order() {
    const tested = filters(), problem = tested.find((each) => each.problem);
    const kept = problem ? [] : front.filter((row) => (!state.brushed || state.brushed.has(row)) && tested.every((each) => each.keeps(row)));
    const { values, number } = inTable.get(state.sort), sign = state.descending ? -1 : 1;
    const compare = number
      ? (a, b) => (Number.isNaN(values[a]) - Number.isNaN(values[b])) || sign * (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0)
      : (a, b) => sign * values[a].localeCompare(values[b], "en", { numeric: true });
    state.order = kept.sort((a, b) => compare(a, b) || a - b);
    state.page = 0;
    const count = `${kept.length.toLocaleString("en-US")} of ${front.length.toLocaleString("en-US")} designs`;
    $("matches").textContent = problem ? problem.problem : count + (state.brushed ? ", as chosen in parallel coordinates" : "");
    $("unbrush").hidden = !state.brushed;
    showTable();
  }
  function showTable() {
    const size = Number($("page-size").value), pages = Math.max(1, Math.ceil(state.order.length / size));
    const rows = state.order.slice(state.page * size, (state.page + 1) * size);
    const heads = tabled.map((column) => {
      const head = header(column), button = make("button", { title: column.about, onclick: () => { state.descending = state.sort === column.name && !state.descending; state.sort = column.name; order(); $("front-table").querySelector(`th[aria-sort] button`).focus(); } }, ...breakable(column.title));
      head.replaceChildren(button, ...(head.querySelector("small") ? [head.querySelector("small")] : []));
      if (state.sort === column.name) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      return head;
    });
    const lines = rows.map((row) => make("tr", choosable(row), ...tabled.map((column) => make("td", { class: numberClass(column) }, cell(column, row)))));
    $("front-table").replaceChildren(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines));
    $("page").textContent = `page ${state.page + 1} of ${pages.toLocaleString("en-US")}`;
    $("previous").disabled = state.page === 0;
    $("next").disabled = state.page >= pages - 1;
  }
  function csv() {
    const quoted = (words) => (/[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
    const exact = (v) => (Number.isNaN(v) ? "" : Number.isFinite(v) ? String(v) : v > 0 ? "inf" : "-inf");
    const shown = [inTable.get("design"), ...columns];
    const lines = front.map((row) => shown.map((column) => (column.number ? exact(column.values[row]) : quoted(column.values[row]))).join(","));
    return [shown.map((column) => quoted(column.name)).join(","), ...lines, ""].join("\n");
  }

  // ---- start ------------------------------------------------------------------------------------
  function fillSelect(which, allowed) {
    const select = $(`axis-${which}`);
    for (const [role, heading] of roles) {
      const mine = ordered.filter((column) => column.role === role && allowed(column));
      if (mine.length) select.append(make("optgroup", { label: heading }, ...mine.map((column) => make("option", { value: column.name }, column.name))));
    }
    select.value = axes[which].name;
    select.addEventListener("change", () => { axes[which].name = select.value; if (which !== "color") resetLog(which); draw(); });
  }
  function connect() {
    for (const which of ["x", "y", "z", "color"]) fillSelect(which, (column) => which !== "z" || column.number);
    for (const which of ["x", "y", "z"]) $(`log-${which}`).addEventListener("change", (event) => { axes[which].log = event.target.checked; draw(); });
    $("dominated").addEventListener("change", draw);
    const views = Object.keys(drawers);
    for (const name of views) {
      const tab = $(`tab-${name}`), show = (view) => { state.view = view; hideTooltip(); draw(); };
      tab.addEventListener("click", () => show(name));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = views[(views.indexOf(name) + step + views.length) % views.length];
        show(next);
        $(`tab-${next}`).focus();
      });
    }
    $("view").addEventListener("mousemove", (event) => { mouse = event; }, true);
    $("view").addEventListener("mouseleave", hideTooltip);
    $("filter").addEventListener("input", order);
    $("filter").placeholder = `words and limits, such as ${goals[0].name}>${digits(1)}`;
    $("unbrush").addEventListener("click", () => { state.brushed = null; Plotly.purge("parallel"); delete $("parallel").dataset.listening; if (state.view === "parallel") draw(); order(); });
    $("previous").addEventListener("click", () => { state.page -= 1; showTable(); });
    $("next").addEventListener("click", () => { state.page += 1; showTable(); });
    $("page-size").addEventListener("change", () => { state.page = 0; showTable(); });
    $("download").addEventListener("click", (event) => {
      const link = event.currentTarget;
      URL.revokeObjectURL(link.href);
      link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    addEventListener("beforeprint", () => { printing = true; redraw(); });
    addEventListener("afterprint", () => { printing = false; redraw(); });
  }
  function drawConvergence() {
    $("convergence").hidden = !data.convergence;
    if (data.convergence) Plotly.react("convergence", data.convergence.data, themed({ ...data.convergence.layout, margin: { l: 60, r: 60, t: 30, b: 45 } }), config);
  }
  function redraw() {
    draw();
    drawConvergence();
    if (state.selected !== null && data.explanations[designs[state.selected]]) drawRegions(data.explanations[designs[state.selected]]);
  }
  function start() {
    drawConvergence();
    if (!front.length) {
      for (const id of ["explore", "limits"]) $(id).hidden = true;
      $("best").replaceChildren(make("caption", {}, "No feasible design was found."));
      return;
    }
    connect();
    showBest();
    order();
    draw();
    select(data.knee === null ? bestRow(goals[0]) : data.knee);
  }
  start();
})();
