/* Filter chips: the options of variables, each of which a click takes into the selection or out of it. */

const mostChips = 8; // of a variable: those with more are selected on their axes
function showChips() {
  const mine = withRole("variable").filter((column) => !column.number && column.options.length > 1 && column.options.length <= mostChips);
  $("chips").hidden = !mine.length;
  $("chips").replaceChildren(...mine.map((column) => {
    const { name, options } = column, chosen = ask.brushes[name] || [];
    const chips = options.map((option) => make("button", { class: "chip", "aria-pressed": String(chosen.includes(option)), onclick: () => switchOption(name, option) }, option));
    return make("div", { role: "group", "aria-label": worded(name) }, make("span", {}, worded(name)), ...chips);
  }));
}
function switchOption(name, option) {
  const kept = [...(ask.brushes[name] || [])];
  switchName(kept, option);
  if (kept.length) ask.brushes[name] = kept; else delete ask.brushes[name];
  linked();
  [...$("chips").querySelectorAll("button")].find((chip) => chip.textContent === option && chip.parentNode.getAttribute("aria-label") === worded(name))?.focus();
}
