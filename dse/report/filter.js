/* The filter language, as dse.model.filter reads it: tests/filter_cases.json holds both to it.
   readFilter(text, fields, clock) gives problems, each with its character, or keeps(row). A field has
   a unit, values, and options if they are texts. Units come as a table from dse.model.units. */

const filterKeys = ["and", "or", "not", "in"], filterSigns = ["<", "<=", ">", ">=", "==", "!="];
const filterUnit = "(?:%|\\p{L}[\\p{L}\\p{N}_]*)(?:(?:\\*\\*|\\^)-?\\d)?";
const filterWord = new RegExp(
  "(?<number>[+-]?(?:\\d[\\d_]*(?:\\.[\\d_]*)?|\\.\\d[\\d_]*)(?:[eE][+-]?\\d+)?)"
  + `(?:\\s*(?<unit>(?!(?:${filterKeys.join("|")})(?![\\p{L}\\p{N}_]))${filterUnit}(?:[*/]${filterUnit})*))?`
  + "|(?<name>[\\p{L}_][\\p{L}\\p{N}_]*(?:-[\\p{L}\\p{N}_]+)*\\+?)|`(?<quoted>[^`]+)`|\"(?<double>[^\"]*)\"|'(?<single>[^']*)'"
  + "|(?<sign><=|>=|==|!=|[<>(),])|(?<other>\\S)", "gu");
const compared = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  "==": (a, b) => a === b, "!=": (a, b) => a === a && b === b && a !== b, // a missing value differs from nothing
};

function filterWords(text) {
  const found = Array.from(text.matchAll(filterWord), (match) => {
    const { number, unit, name, quoted, double, single, sign } = match.groups, at = match.index, word = { at, text: match[0] };
    if (number !== undefined) return { ...word, kind: "term", term: { is: "number", at, written: number.replaceAll("_", ""), unit: unit || "", shown: match[0].replace(/\s+/, " ") } };
    if (name !== undefined && filterKeys.includes(name)) return { ...word, kind: "key" };
    if (name !== undefined || quoted !== undefined) return { ...word, kind: "term", term: { is: "name", at, name: name ?? quoted } };
    if (double !== undefined || single !== undefined) return { ...word, kind: "term", term: { is: "text", at, text: double ?? single } };
    return { ...word, kind: sign === undefined ? "other" : "sign" };
  });
  return [...found, { kind: "end", at: text.trimEnd().length, text: "" }];
}

// units
/* How many basic units a unit is, and the powers of its dimensions; null if it is unknown. */
function unitOf(text) {
  let scale = 1;
  const powers = {};
  if (text === "1" || text === "") return { scale, powers };
  for (const [, by, name, power] of text.matchAll(/([*/]?)([^*/^]+?)(?:(?:\*\*|\^)(-?\d))?(?=[*/]|$)/gu)) {
    const one = oneUnit(name) || (name.endsWith("s") ? oneUnit(name.slice(0, -1)) : null);
    if (!one && name !== "1") return null;
    const times = (by === "/" ? -1 : 1) * Number(power ?? 1);
    if (!one) continue;
    scale *= one[0] ** times;
    for (const [key, each] of Object.entries(one[1])) powers[key] = (powers[key] || 0) + times * each;
  }
  return { scale, powers };
}
function oneUnit(name) {
  const { prefixes, units } = data.units, text = name.replace("\u03bc", "µ");
  if (Object.hasOwn(units, text)) return units[text];
  for (const [prefix, scale] of Object.entries(prefixes)) {
    const rest = text.slice(prefix.length);
    if (text.startsWith(prefix) && rest !== "%" && Object.hasOwn(units, rest)) return [scale * units[rest][0], units[rest][1]];
  }
  return null;
}
const knownUnits = () => Object.keys(data.units.units).flatMap((unit) => (unit === "%" ? [unit] : ["", ...Object.keys(data.units.prefixes)].map((prefix) => prefix + unit)));
/* The factor from one unit to another, and the power of the clock; null if no factor relates them. */
function unitFactor(given, wanted) {
  const key = (powers) => JSON.stringify(Object.entries(powers).filter(([, power]) => power).sort());
  const moved = { ...given.powers }, power = (wanted.powers["[cycle]"] || 0) - (given.powers["[cycle]"] || 0);
  for (const [name, change] of [["[cycle]", power], ["[time]", -power]]) moved[name] = (moved[name] || 0) + change;
  return key(moved) === key(wanted.powers) ? [Number((given.scale / wanted.scale).toPrecision(15)), power] : null;
}
function dimensionOf({ powers }) {
  const parts = Object.entries(powers).filter(([, power]) => power).sort(([a], [b]) => (a < b ? -1 : 1));
  return parts.length ? `of ${parts.map(([name, power]) => (power === 1 ? name : `${name}**${power}`)).join("*")}` : "a plain number";
}
/* A number times a factor: in decimals if that is a power of ten, so that 0.3 us is 3e-7. */
function scaledNumber(written, scale) {
  if (written === "inf") return Infinity;
  const power = Math.round(Math.log10(scale)), [digits, exponent = "0"] = written.toLowerCase().split("e");
  return Number(`1e${power}`) === scale ? Number(`${digits}e${Number(exponent) + power}`) : Number(written) * scale;
}

// the nearest name
/* From 0 to 1: how much of two names is a common run of characters, in their order. */
function likeness(a, b) {
  let row = new Array(b.length + 1).fill(0);
  for (const c of a) {
    const next = [0];
    for (let j = 1; j <= b.length; j += 1) next[j] = c === b[j - 1] ? row[j - 1] + 1 : Math.max(row[j], next[j - 1]);
    row = next;
  }
  return (2 * row[b.length]) / (a.length + b.length || 1);
}
function nearestName(name, known) {
  const names = [...new Set(known)].sort();
  const same = names.find((each) => each.toLowerCase() === name.toLowerCase()); // but for capitals
  if (same) return `did you mean '${same}'?`;
  const [near, like] = names.reduce((best, each) => { const l = likeness(name, each); return l > best[1] ? [each, l] : best; }, ["", 0]);
  if (like >= 0.6) return `did you mean '${near}'?`;
  return names.length ? `known: ${names.slice(0, 12).join(", ")}${names.length > 12 ? ` and ${names.length - 12} more` : ""}` : "";
}

// reading
class WrongFilter extends Error {
  constructor(at, message, remedy = "") { super(message); this.told = { at, message, remedy }; }
}
function expectedWord(word, what) {
  if (word.kind === "end") return new WrongFilter(word.at, `the filter ends, and ${what} was expected`);
  if (["'", '"', "`"].includes(word.text)) return new WrongFilter(word.at, `${word.text} is not closed`);
  const instead = { "=": "==", "&": "and", "|": "or", "!": "not" }[word.text];
  return new WrongFilter(word.at, `'${word.text}' stands where ${what} was expected`, instead ? `write ${instead}` : "");
}
const allOf = (parts) => (parts.length === 1 ? parts[0] : (row) => parts.every((part) => part(row)));
const anyOf = (parts) => (parts.length === 1 ? parts[0] : (row) => parts.some((part) => part(row)));

function readFilter(text, fields, clock) {
  const words = filterWords(text.slice(0, 2000)), problems = [], bare = new Set();
  let at = 0, depth = 0;
  const tell = (where, message, remedy = "") => { problems.push({ at: where, message, remedy }); return () => true; };
  const fail = (word, what) => { throw expectedWord(word, what); };
  const takes = (...texts) => {
    const word = words[at];
    if (!["sign", "key"].includes(word.kind) || !texts.includes(word.text)) return null;
    at += 1;
    return word;
  };
  const either = () => { const parts = [both()]; while (takes("or")) parts.push(both()); return anyOf(parts); };
  const both = () => { const parts = [negated()]; while (takes("and")) parts.push(negated()); return allOf(parts); };
  function skip() {
    for (let open = 0; words[at].kind !== "end"; at += 1) {
      const word = words[at], reads = ["sign", "key"].includes(word.kind);
      if (open === 0 && reads && ["and", "or", ")"].includes(word.text)) return;
      if (reads) open += (word.text === "(") - (word.text === ")");
    }
  }
  function negated() {
    const word = words[at];
    depth += 1;
    try {
      if (depth > 50) throw new WrongFilter(word.at, "the filter is nested more than 50 levels deep");
      if (takes("not")) { const part = negated(); return (row) => !part(row); }
      if (!takes("(")) return comparison();
      const node = either();
      if (!takes(")")) fail(words[at], "')'");
      return node;
    } catch (wrong) {
      if (!(wrong instanceof WrongFilter)) throw wrong;
      problems.push(wrong.told);
      skip();
      return () => true;
    } finally { depth -= 1; }
  }
  function comparison() {
    const terms = [term()], signs = [], no = takes("not");
    if (takes("in")) {
      const found = anyOf(listed().map((each) => pair(terms[0], "==", each)));
      if (!no || terms[0].is !== "name") return found;
      const there = pair(terms[0], "==", terms[0]); // a missing value is not in it
      return (row) => there(row) && !found(row);
    }
    if (no) fail(words[at], "'in'");
    for (let sign = takes(...filterSigns); sign; sign = takes(...filterSigns)) { signs.push(sign.text); terms.push(term()); }
    if (!signs.length) fail(words[at], "<, <=, >, >=, ==, != or 'in'");
    return allOf(signs.map((sign, i) => pair(terms[i], sign, terms[i + 1])));
  }
  function listed() {
    if (!takes("(")) fail(words[at], "'('");
    const terms = [term()];
    while (takes(",")) terms.push(term());
    if (!takes(")")) fail(words[at], "',' or ')'");
    return terms;
  }
  function term() {
    const word = words[at];
    if (!word.term) fail(word, "a column, a number or a text in quotes");
    at += 1;
    const endless = ["inf", ...Object.values(data.words)].includes(word.term.name) && !fields.has(word.term.name);
    return endless ? { is: "number", at: word.at, written: "inf", unit: "", shown: word.text } : word.term;
  }
  const isName = (each) => each.is === "name";
  function pair(left, sign, right) {
    const unknown = [left, right].filter((each) => isName(each) && !fields.has(each.name));
    for (const each of unknown) {
      const other = each === left ? right : left, field = isName(other) && fields.get(other.name);
      tell(each.at, `no column '${each.name}'`, field && field.options ? `put a text in quotes: "${each.name}"` : nearestName(each.name, fields.keys()));
    }
    if (unknown.length) return () => true;
    if (!isName(left) && !isName(right)) return tell(left.at, "compares no column", nearestName("", fields.keys()));
    const [name, other] = isName(left) ? [left, right] : [right, left], field = fields.get(name.name);
    const test = compared[sign], ends = (side) => (isName(left) ? [valueOf(left), side] : [side, valueOf(right)]);
    if (field.options) {
      matchText(name.name, field.options, sign, other);
      const [a, b] = ends(valueOf(other));
      return (row) => test(a(row), b(row));
    }
    if (other.is === "text") {
      const [word, end] = filterWords(other.text);
      return tell(other.at, `${name.name} is a number, not a text`, end && end.kind === "end" && word.term && word.term.is === "number" ? `write ${other.text} without quotes` : "");
    }
    if (isName(other) && fields.get(other.name).options) return tell(other.at, `${other.name} holds texts, and ${name.name} numbers`);
    const side = converted(name.name, field.unit, other);
    if (!side) return () => true;
    const [a, b] = ends(side);
    return (row) => test(a(row), b(row));
  }
  function matchText(name, options, sign, other) {
    if (other.is === "number") tell(other.at, `${name} holds texts, and ${other.shown} is a number`);
    else if (isName(other)) { if (!fields.get(other.name).options) tell(other.at, `${name} holds texts, and ${other.name} numbers`); }
    else if (!options.includes(other.text)) tell(other.at, `${name} is never '${other.text}'`, nearestName(other.text, options));
    if (sign !== "==" && sign !== "!=") tell(other.at, `'${sign}' does not compare texts`, "compare them by ==, != or in");
  }
  function valueOf(each, scale = 1, power = 0) {
    if (each.is === "text") return () => each.text;
    const at = isName(each) ? fields.get(each.name).values : null, number = at ? 0 : scaledNumber(each.written, power ? 1 : scale);
    const plain = at ? (row) => at[row] : () => number;
    if (power) return (row) => plain(row) * (scale * clock(row) ** power); // the factors first: they often make a whole one
    return at && scale !== 1 ? (row) => at[row] * scale : plain;
  }
  /* A number, or another column, in the unit of a column. */
  function converted(name, wanted, other) {
    const given = isName(other) ? fields.get(other.name).unit : other.unit || wanted, what = isName(other) ? other.name : `'${other.shown}'`;
    const mine = unitOf(given), theirs = unitOf(wanted);
    if (other.is === "number" && !other.unit && wanted !== "1" && other.written !== "inf") bare.add(`${name} in ${wanted}`);
    if (given === wanted) return valueOf(other);
    if (!mine) { tell(other.at, `unknown unit '${given}'`, nearestName(given, knownUnits())); return null; }
    const found = theirs && unitFactor(mine, theirs), remedy = wanted === "1" ? "give a plain number" : `give it in ${wanted}`;
    if (!found) { tell(other.at, `${what} is ${dimensionOf(mine)}, and ${name} is ${theirs ? dimensionOf(theirs) : wanted}`, isName(other) ? "" : remedy); return null; }
    if (found[1] && !clock) { tell(other.at, `${what} and ${name} are in seconds and cycles, which no clock of the study relates`); return null; }
    return valueOf(other, ...found);
  }
  if (text.length > 2000) tell(2000, "the filter is longer than 2,000 characters");
  const node = either();
  while (words[at].kind !== "end") {
    problems.push(expectedWord(words[at], "'and', 'or' or the end of the filter").told);
    at += 1;
    skip();
    if (takes("and", "or")) either();
  }
  return { problems: problems.sort((a, b) => a.at - b.at), keeps: node, bare: [...bare] };
}
