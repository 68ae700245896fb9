"use strict";
/* The controls of an open study, its state, and the newest report in a frame. */

const $ = (id) => document.getElementById(id);
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}
async function get(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.json();
}

// changes
const changes = { inputs: {}, limits: {} };
const isChanged = (part) => Object.keys(part).length > 0;
let sent = 0; // counts changes: an older answer does not undo a newer control
let timer = 0;
function change({ kind, name, value: own, options }, value) {
  const chosen = options.find(([option]) => String(option) === value); // a number stays one
  if (value === own || value === "") delete changes[kind][name];
  else changes[kind][name] = chosen ? chosen[0] : value;
  mark();
  clearTimeout(timer);
  timer = setTimeout(send, 120);
}
function mark() {
  for (const element of document.querySelectorAll(".control")) element.classList.toggle("changed", element.dataset.name in changes[element.dataset.kind]);
  $("reset").disabled = !isChanged(changes.inputs) && !isChanged(changes.limits);
}
async function send() {
  sent += 1;
  const response = await fetch("change", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(changes) });
  if (response.ok) show(await response.json());
}

// controls
/* A value times a factor, with three digits, in the unit in which it is written. */
function scaled({ value, whole }, factor) {
  const [, number, unit] = /^\s*([-+.\d_eE]+)(.*)$/.exec(value.replaceAll(",", "")) || [null, value, ""];
  const product = Number(number.replaceAll("_", "")) * factor;
  return `${whole ? Math.round(product) : Number(product.toPrecision(3))}${unit}`;
}
function controlOf(control) {
  const { kind, name, about, value, options, low, high } = control, id = `${kind} ${name}`, now = changes[kind][name] ?? value;
  const parts = [make("label", { for: id, title: about }, name.replaceAll("_", " "))];
  if (options.length) {
    const select = make("select", { id, onchange: () => change(control, select.value) }, ...options.map(([option, text]) => make("option", { value: option }, text)));
    select.value = now;
    parts.push(select);
  } else {
    const text = make("input", { type: "text", id, title: about, spellcheck: "false", autocomplete: "off", onchange: () => { change(control, text.value.trim()); if (!text.value) text.value = value; } });
    text.value = now;
    parts.push(text);
    if (low !== null) {
      const slider = make("input", { type: "range", min: Math.log2(low), max: Math.log2(high), step: "any", "aria-label": `${name} from ${scaled(control, low)} to ${scaled(control, high)}`, oninput: () => {
        text.value = Math.abs(slider.value) < 0.03 ? value : scaled(control, 2 ** slider.value);
        change(control, text.value);
      } });
      slider.value = 0;
      text.addEventListener("change", () => { slider.value = 0; });
      parts.push(slider);
    }
  }
  return make("div", { class: "control", "data-kind": kind, "data-name": name }, ...parts);
}
async function showControls() {
  const controls = await get("controls"), groups = [...new Set(controls.map(({ group }) => group))];
  const closed = new Set([...$("controls").children].filter((each) => !each.open).map((each) => each.dataset.group));
  $("controls").replaceChildren(...groups.map((group) => {
    const open = $("controls").children.length ? !closed.has(group) : group !== "Inputs of catalogs";
    return make("details", { open, "data-group": group }, make("summary", {}, group), make("div", {}, ...controls.filter((each) => each.group === group).map(controlOf)));
  }));
  mark();
}
$("reset").addEventListener("click", () => {
  Object.assign(changes, { inputs: {}, limits: {} });
  showControls();
  send();
});

// reports
let reported = 0, previewed = 0, study = 0, frame = null;
/* Load a report behind the shown report, and show it at the same place once it is complete. */
async function showReport(number) {
  reported = number;
  const before = await get("points/before"), old = frame;
  const coming = make("iframe", { class: "coming", title: "Report", src: `report/${number}${old ? old.contentWindow.location.hash : ""}` });
  $("frames").append(coming);
  const ready = () => coming.contentWindow.showBehind && coming.contentDocument.querySelector("#sentence")?.textContent;
  while (!ready()) await new Promise((done) => setTimeout(done, 30));
  if (reported !== number) { coming.remove(); return; } // a newer one comes
  coming.contentWindow.showBehind({ before: Object.keys(before).length ? before : null });
  if (old) coming.contentWindow.scrollTo(0, old.contentWindow.scrollY);
  coming.classList.remove("coming");
  frame = coming;
  for (const other of [...$("frames").children]) if (other !== coming) other.remove();
  $("frames").dataset.report = number;
}
async function showProvisional(number) {
  previewed = number;
  const provisional = await get("points/provisional");
  if (previewed === number && number > reported && frame) frame.contentWindow.showBehind({ provisional });
}

// state
const percent = (fraction) => `${Math.floor(100 * fraction)} %`;
function show(state) {
  const { status, message, fraction, asked, preview, report } = state;
  const words = { searching: preview === asked ? `Provisional front; searching, ${percent(fraction)}` : `Searching, ${percent(fraction)}`, writing: "Writing the report", done: "The report is up to date", failed: "The report before stays" };
  $("status").textContent = words[status];
  $("progress").hidden = status !== "searching" && status !== "writing";
  $("progress").value = fraction;
  $("problem").hidden = !message;
  $("problem").textContent = message;
  if (state.study !== study) {
    study = state.study;
    showControls();
  }
  if (report > reported) showReport(report);
  else if (preview === asked && preview > previewed && status !== "done") showProvisional(preview);
  if (status === "failed" && frame) frame.contentWindow.showBehind({ provisional: null });
}
async function follow() {
  const mine = sent;
  try {
    const state = await get("state");
    if (mine === sent) show(state);
  } catch {
    $("status").textContent = "dse open has ended";
    return;
  }
  setTimeout(follow, document.hidden ? 1000 : 150);
}
follow();
