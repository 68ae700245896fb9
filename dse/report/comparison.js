/* The page of two runs: their fronts in one plot, and the designs of each that meet one target. The rows of the
   first run are before designs of the second run. */

const sides = data.runs.map((name, i) => ({ name, rows: front.filter((row) => (designs[row] >= data.first) === Boolean(i)) }));
designs.forEach((at, row) => { designs[row] = data.numbers[at]; }); // the number in its run, for the tooltip
const marks = [{ symbol: "circle-open", color: categoryColor(1) }, { symbol: "circle", color: categoryColor(0) }];
const meets = (mask, side) => side.rows.filter((row) => mask[row]);
function drawFronts() {
  const series = (rows, name, marker) => {
    const shown = thinned(rows, data.drawn), places = ["x", "y"].map((d) => [d, coordinates(byName.get(axes[d].name), axes[d].log, shown).values]);
    return { type: "scatter", mode: "markers", hoverinfo: "none", name: plain(name), marker, customdata: shown, ...Object.fromEntries(places) };
  };
  const list = sides.flatMap((side, i) => {
    const rest = side.rows.filter((row) => !selected[row]);
    const faint = rest.length ? [{ ...series(rest, side.name, { ...marks[i], size: 8, opacity: 0.2 }), showlegend: false }] : [];
    return [...faint, series(meets(selected, side), `${side.name} (${whole(meets(selected, side).length)})`, { ...marks[i], size: i ? 7 : 9 })];
  });
  const layout = { xaxis: axisLayout("x"), yaxis: axisLayout("y"), legend, hovermode: "closest", uirevision: JSON.stringify([axes.x, axes.y]) };
  Plotly.react("plane", list, themed(layout), { ...config, modeBarButtonsToRemove: [...config.modeBarButtonsToRemove, "select2d", "lasso2d"] });
  const shown = ["x", "y"].map((which) => axes[which].name).join(" and ");
  $("plane").setAttribute("role", "group");
  $("plane").setAttribute("aria-label", `The fronts of ${data.runs.join(" and ")} by ${shown}. The tables have their best values.`);
}
/* How many designs of each front meet the target, and the best value of each objective among them. */
function showAnswers() {
  const { mask, problems } = maskOf({ filter: $("filter").value, brushes: {}, outline: null }, new Uint8Array(count).fill(1));
  selected = mask;
  $("wrong").hidden = !problems.length;
  $("wrong").textContent = problems.map(({ at, message, remedy }) => `character ${at + 1}: ${message}${remedy ? ` (${remedy})` : ""}`).join("; ");
  const best = ({ column, direction }, rows) => {
    const values = rows.map((row) => column.values[row]).filter((value) => !Number.isNaN(value)), pick = direction === "minimize" ? Math.min : Math.max;
    return values.length ? quantity(values.reduce((a, b) => pick(a, b)), column.unit) : "–";
  };
  const line = (label, values) => make("tr", {}, make("th", { scope: "row" }, label), ...values.map((value) => make("td", { class: "number" }, value)));
  const rows = sides.map((side) => meets(mask, side));
  $("answers").replaceChildren(...table([th(""), ...data.runs.map((name) => th(name, "number"))], [
    line("designs that meet it", rows.map((mine) => whole(mine.length))),
    ...objectives.map((objective) => line(`best ${worded(objective.label)}`, rows.map((mine) => best(objective, mine)))),
  ]));
  drawFronts();
}
for (const which of ["x", "y"]) {
  const select = $(`axis-${which}`), log = $(`log-${which}`);
  for (const [role, heading] of roles) {
    const mine = withRole(role);
    if (mine.length) select.append(make("optgroup", { label: heading }, ...mine.map(({ name }) => make("option", { value: name }, name))));
  }
  const follow = () => {
    const column = byName.get(axes[which].name);
    log.disabled = !column.number || !scaleOf(column, true);
    log.checked = Boolean(axes[which].log) && !log.disabled;
    drawFronts();
  };
  select.value = axes[which].name;
  select.addEventListener("change", () => { axes[which].name = select.value; resetLog(which); follow(); });
  log.addEventListener("change", () => { axes[which].log = log.checked; follow(); });
  log.checked = Boolean(axes[which].log);
}
$("filter").value = data.target;
$("filter").placeholder = objectives.map((each) => `${writtenNode({ is: "name", name: each.name })} ${each.direction === "minimize" ? "<=" : ">="} …`).join(" and ");
$("filter").addEventListener("input", showAnswers);
$("view").addEventListener("mousemove", (event) => { mouse = event; }, true);
$("view").addEventListener("mouseleave", hideTooltip);
showAnswers();
$("plane").on("plotly_hover", (event) => showTooltip(event.points[0].customdata));
$("plane").on("plotly_unhover", hideTooltip);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawFronts);
