/* The recommended system as a block diagram: who calls, the link, and the engines. */

const shortened = (words, most) => (words.length > most ? `${words.slice(0, most - 1)}…` : words);
const lineHeight = 16, blockGap = 10;
const utilizationOf = (part, row) => {
  const column = byName.get(`${part}_utilization`);
  return column && column.number && Number.isFinite(column.values[row]) ? `${brief(100 * column.values[row], "1")}\u2009% busy` : "";
};
function block({ x, y, width, height }, title, lines, kind) {
  const most = Math.floor((width - 16) / 6.6), text = (words, i) => svg("text", { x: x + 10, y: y + 20 + lineHeight * i, class: i ? "line" : "head" }, shortened(words, i ? most : Math.floor(most * 0.93)));
  return svg("g", {}, svg("title", {}, [title, ...lines].join("\n")), svg("rect", { x, y, width, height, rx: 6, class: kind }), text(title, 0), ...lines.map((words, i) => text(words, i + 1)));
}
const heightOf = (lines) => 30 + lineHeight * lines.length;
/* A figure with its caption; nothing if the study names no engine. */
function diagram(row) {
  const { engines, host, rest } = enginesOf(row), linkColumn = byName.get(overview.link), { all, each } = sharersOf(row);
  const linkBusy = utilizationOf("link", row), hasLink = Boolean(linkColumn) || Boolean(linkBusy);
  const hostLines = [all, overview.clock, ...host.map((kernel) => `runs ${kernel}`), utilizationOf("host", row)].filter(Boolean);
  const linkLines = [linkColumn && linkColumn.name !== "interface" ? worded(linkColumn.name) : "", linkBusy].filter(Boolean), busy = utilizationOf("engine", row);
  const single = !overview.blocks.length || overview.blocks[0][1] === "engine";
  const engineLines = engines.map((engine) => [...engine.lines, ...(single || engines.length === 1 ? [...rest, each ? `${engine.count > 1 ? "each " : ""}shared by ${each}` : "", busy] : [])].filter(Boolean).slice(0, 8));
  const shown = engines.map((engine, i) => ({ title: `${engine.count > 1 ? `${whole(engine.count)} × ` : ""}${engine.title}`, lines: engineLines[i], height: heightOf(engineLines[i]) }));
  const high = Math.max(shown.reduce((sum, { height }) => sum + height + blockGap, -blockGap), heightOf(hostLines), 62);
  const widths = [176, hasLink ? 140 : 0, 250], gap = 32, xs = [1, widths[0] + gap + 1, widths[0] + gap + 1 + (hasLink ? widths[1] + gap : 0)], middle = high / 2 + 1;
  const parts = [], width = xs[2] + widths[2] + 1;
  const arrow = (x1, y1, x2, y2) => svg("path", { d: `M${x1},${y1}C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2},${y2}`, class: "arrow" });
  let y = 1 + (high - shown.reduce((sum, { height }) => sum + height + blockGap, -blockGap)) / 2;
  const from = hasLink ? xs[1] + widths[1] : xs[0] + widths[0];
  for (const { title, lines, height } of shown) {
    parts.push(arrow(from, middle, xs[2], y + height / 2), block({ x: xs[2], y, width: widths[2], height }, title, lines, "engine"));
    y += height + blockGap;
  }
  if (!shown.length) parts.push(block({ x: xs[2], y: middle - 20, width: widths[2], height: 40 }, "no engine", [], "none"));
  if (hasLink) {
    const title = linkColumn ? valueWords(linkColumn, row) : "link", height = heightOf(linkLines);
    parts.push(arrow(xs[0] + widths[0], middle, xs[1], middle), block({ x: xs[1], y: middle - height / 2, width: widths[1], height }, title, linkLines, "link"));
  }
  const height = heightOf(hostLines);
  parts.push(block({ x: xs[0], y: middle - height / 2, width: widths[0], height }, "host", hostLines, "host"));
  const words = [`${all || "The host"} ${hasLink ? `→ ${linkColumn ? linkWords(linkColumn, row) : "link"} ` : ""}→ ${listedWords(shown.map(({ title }) => title)) || "no engine"}`];
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${high + 2}`, role: "img", "aria-label": words[0], style: `max-width:${width}px` }, ...parts);
  return [drawing, make("figcaption", { class: "hint" }, single || engines.length === 1 || !rest.length ? "" : rest.join(", "))];
}
