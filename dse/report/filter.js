/* Filters in the grammar of comparisons, as dse.model.grammar, dimension and filter read it:
   tests/model/filter_cases.json holds both to it. readFilter(text, fields, clock) gives problems, each with its
   character, or keeps(row). A field has a unit, values, and options if they are texts. Units come from dse.model.units. */

const filterKeys = ["and", "or", "not", "in", "between"], filterSigns = ["<", "<=", ">", ">=", "==", "!="];
const noKey = `(?!(?:${filterKeys.join("|")})(?![\\p{L}\\p{N}_]))`;
const filterUnit = `(?:%(?!\\s*${noKey}[\\p{L}\\p{N}_(\`])|\\p{L}[\\p{L}\\p{N}_]*)(?:(?:\\*\\*|\\^)-?\\d)?`;
const filterWord = new RegExp(
  "(?<number>(?:\\d[\\d_]*(?:\\.[\\d_]*)?|\\.\\d[\\d_]*)(?:[eE][+-]?\\d+)?)"
  + `(?:\\s*(?<unit>${noKey}${filterUnit}(?:[*/]${filterUnit})*))?`
  + "|(?<name>[\\p{L}_][\\p{L}\\p{N}_]*)|`(?<quoted>[^`]+)`|\"(?<double>[^\"]*)\"|'(?<single>[^']*)'"
  + "|(?<sign>\\*\\*|//|<=|>=|==|!=|[<>(),+\\-*/%])|(?<other>\\S)", "gu");
const compared = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  "==": (a, b) => a === b, "!=": (a, b) => a === a && b === b && a !== b, // a missing value differs from nothing
};
const remainder = (a, b) => { const rest = a % b; return rest && (rest < 0) !== (b < 0) ? rest + b : rest; };
const operations = {
  negative: (a) => -a, "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
  "//": (a, b) => Math.floor((a - remainder(a, b)) / b + 0.5), "%": remainder, "**": (a, b) => a ** b,
};
const filterFunctions = { abs: 1, ceil: 1, exp: 1, floor: 1, log: 1, log2: 1, log10: 1, sqrt: 1, max: 2, min: 2 };
const levels = { "+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, negative: 3, "**": 4 };

function filterWords(text) {
  const found = Array.from(text.matchAll(filterWord), (match) => {
    const { number, unit, name, quoted, double, single, sign } = match.groups, at = match.index, word = { at, text: match[0] };
    if (number !== undefined) return { ...word, kind: "term", term: { is: "number", at, written: number.replaceAll("_", ""), unit: unit || "" } };
    if (name !== undefined && filterKeys.includes(name)) return { ...word, kind: "key" };
    if (name !== undefined || quoted !== undefined) return { ...word, kind: "term", term: { is: "name", at, name: name ?? quoted } };
    if (double !== undefined || single !== undefined) return { ...word, kind: "term", term: { is: "text", at, text: double ?? single } };
    return { ...word, kind: sign === undefined ? "other" : "sign" };
  });
  return [...found, { kind: "end", at: text.trimEnd().length, text: "" }];
}
/* The text of an expression, evenly spaced. */
function writtenNode(node, level = 0) {
  if (node.is === "name") return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(node.name) ? node.name : `\`${node.name}\``;
  if (node.is === "number") return `${node.written} ${node.unit}`.trim();
  if (node.is === "text") return `"${node.text}"`;
  const own = levels[node.name], [left, right] = node.parts;
  if (own === undefined) return `${node.name}(${node.parts.map((part) => writtenNode(part)).join(", ")})`;
  const text = right ? `${writtenNode(left, own)} ${node.name} ${writtenNode(right, node.name === "**" ? own : own + 1)}` : `-${writtenNode(left, own)}`;
  return own < level ? `(${text})` : text;
}
const namesOf = (node) => (node.is === "name" ? [node] : (node.parts || []).flatMap(namesOf));

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
  const { prefixes, units } = data.units, text = name;
  if (Object.hasOwn(units, text)) return units[text];
  for (const [prefix, scale] of Object.entries(prefixes)) {
    const rest = text.slice(prefix.length);
    if (text.startsWith(prefix) && rest !== "%" && Object.hasOwn(units, rest)) return [scale * units[rest][0], units[rest][1]];
  }
  return null;
}
const knownUnits = () => Object.keys(data.units.units).flatMap((unit) => (unit === "%" ? [unit] : ["", ...Object.keys(data.units.prefixes)].map((prefix) => prefix + unit)));
const addPowers = (one, other, times) => {
  const sum = { ...one };
  for (const [name, power] of Object.entries(other)) sum[name] = (sum[name] || 0) + times * power;
  return sum;
};
const isZero = (powers) => Object.values(powers).every((power) => Math.abs(power) <= 1e-9);
const ratioOf = (given, wanted) => Number((given / wanted).toPrecision(15));
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
  constructor(at, message, remedy = "") { super(message); this.problem = { at, message, remedy }; }
}
/* The tree of a text: {is: "compared", sign, left, right} and {is: "joined", how, parts}; and its problems. */
function parseFilter(text) {
  const words = filterWords(text.slice(0, 2000)), problems = [];
  let at = 0, depth = 0, count = 0;
  const takes = (...texts) => {
    const word = words[at];
    if (!["sign", "key"].includes(word.kind) || !texts.includes(word.text)) return null;
    at += 1;
    return word;
  };
  function unexpected(wanted) {
    const word = words[at];
    if (word.kind === "end") return new WrongFilter(word.at, `the text ends, and ${wanted} was expected`);
    if (["'", '"', "`"].includes(word.text)) return new WrongFilter(word.at, `${word.text} is not closed`);
    const instead = word.kind === "other" && { "=": "==", "&": "and", "|": "or", "!": "not" }[word.text];
    return new WrongFilter(word.at, `expected ${wanted} instead of '${word.text}'`, instead ? `write ${instead}` : "");
  }
  const needs = (sign) => { if (!takes(sign)) throw unexpected(`'${sign}'`); };
  const deeper = () => { depth += 1; if (depth > 50) throw new WrongFilter(words[at].at, "is nested more than 50 levels deep"); };
  const join = (how, parts) => (parts.length === 1 ? parts[0] : { is: "joined", how, parts });
  const compare = (left, sign, right) => ({ is: "compared", left, sign, right });
  const either = () => { const parts = [both()]; while (takes("or")) parts.push(both()); return join("any", parts); };
  const both = () => { const parts = [negated()]; while (takes("and")) parts.push(negated()); return join("all", parts); };
  function skip() {
    for (let open = 0; words[at].kind !== "end"; at += 1) {
      const word = words[at], reads = ["sign", "key"].includes(word.kind);
      if (open === 0 && reads && ["and", "or", ")"].includes(word.text)) return;
      if (word.kind === "sign") open += (word.text === "(") - (word.text === ")");
    }
  }
  /* Whether a parenthesis begins here that holds a comparison, not a sum. */
  function beginsCondition() {
    if (words[at].kind !== "sign" || words[at].text !== "(") return false;
    for (let i = at, open = 0; i < words.length; i += 1) {
      const word = words[i];
      if (word.kind === "key" || (word.kind === "sign" && filterSigns.includes(word.text))) return true;
      if (word.kind === "sign") open += (word.text === "(") - (word.text === ")");
      if (open === 0) return false;
    }
    return true;
  }
  function negated() {
    const before = depth;
    try {
      deeper();
      if (takes("not")) return { is: "joined", how: "none", parts: [negated()] };
      if (!beginsCondition()) return comparison();
      needs("(");
      const node = either();
      needs(")");
      return node;
    } catch (wrong) {
      if (!(wrong instanceof WrongFilter)) throw wrong;
      problems.push(wrong.problem);
      skip();
      return { is: "joined", how: "all", parts: [] };
    } finally { depth = before; }
  }
  function comparison() {
    const left = sum(), no = takes("not");
    let inside = null;
    if (takes("in")) inside = { is: "joined", how: "any", parts: listed().map((term) => compare(left, "==", term)) };
    else if (takes("between")) {
      let low = sum();
      needs("and");
      const high = sum();
      if (low.is === "number" && high.is === "number" && !low.unit) low = { ...low, unit: high.unit }; // between 10 and 20 kLUT
      inside = join("all", [compare(left, ">=", low), compare(left, "<=", high)]);
    }
    if (inside) return no ? join("all", [compare(left, "==", left), { is: "joined", how: "none", parts: [inside] }]) : inside;
    if (no) throw unexpected("'in' or 'between'");
    const terms = [left], signs = [];
    for (let sign = takes(...filterSigns); sign; sign = takes(...filterSigns)) { signs.push(sign.text); terms.push(sum()); }
    if (!signs.length) throw unexpected("<, <=, >, >=, ==, !=, 'in' or 'between'");
    return join("all", signs.map((sign, i) => compare(terms[i], sign, terms[i + 1])));
  }
  function listed() {
    needs("(");
    const terms = [sum()];
    while (takes(",")) terms.push(sum());
    if (!takes(")")) throw unexpected("',' or ')'");
    return terms;
  }
  function operation(place, name, ...parts) {
    count += 1;
    if (count > 200) throw new WrongFilter(place, "has more than 200 operations");
    return { is: "call", at: place, name, parts };
  }
  function sum() {
    let left = product();
    for (let sign = takes("+", "-"); sign; sign = takes("+", "-")) left = operation(left.at, sign.text, left, product());
    return left;
  }
  function product() {
    let left = signed();
    for (let sign = takes("*", "/", "//", "%"); sign; sign = takes("*", "/", "//", "%")) left = operation(left.at, sign.text, left, signed());
    return left;
  }
  function signed() {
    const signs = [], before = depth;
    for (let sign = takes("+", "-"); sign; sign = takes("+", "-")) signs.push(sign);
    let base = atom();
    if (takes("**")) { deeper(); base = operation(base.at, "**", base, signed()); depth = before; }
    for (const sign of signs.reverse()) {
      if (sign.text === "+") continue;
      if (base.is === "number" && !base.written.startsWith("-")) base = { ...base, at: sign.at, written: `-${base.written}` };
      else base = operation(sign.at, "negative", base);
    }
    return base;
  }
  function atom() {
    const word = words[at], before = depth;
    if (takes("(")) {
      deeper();
      const inner = sum();
      needs(")");
      depth = before;
      return inner;
    }
    if (!word.term) throw unexpected("a name, a number or a text in quotes");
    at += 1;
    if (word.term.is === "name" && words[at].kind === "sign" && words[at].text === "(") return call(word.term);
    if (word.term.is === "number" && Number(word.term.written) === Infinity) throw new WrongFilter(word.at, "the number is too large");
    return word.term;
  }
  function call({ at: place, name }) {
    if (!Object.hasOwn(filterFunctions, name)) throw new WrongFilter(place, `unknown function '${name}'`, nearestName(name, Object.keys(filterFunctions)));
    const before = depth, wanted = filterFunctions[name];
    deeper();
    const parts = listed();
    depth = before;
    if (parts.length !== wanted) throw new WrongFilter(place, `${name}() takes ${wanted} argument${wanted > 1 ? "s" : ""}`);
    return operation(place, name, ...parts);
  }
  if (text.length > 2000) problems.push({ at: 2000, message: "is longer than 2,000 characters", remedy: "" });
  const node = either();
  while (words[at].kind !== "end") {
    problems.push(unexpected("'and', 'or' or the end").problem);
    at += 1;
    skip();
    if (takes("and", "or")) either();
  }
  return { node, problems };
}

function readFilter(text, fields, clock) {
  const { node: parsed, problems } = parseFilter(text), bare = new Set();
  const addProblem = (at, message, remedy = "") => { problems.push({ at, message, remedy }); return () => true; };
  const number = (at, value) => ({ is: "number", at, written: String(value), unit: "", value });
  const plain = { scale: 1, powers: {}, shown: "1", plain: true };
  const shown = (node, unit) => (node.is === "number" ? writtenNode(node) : `${writtenNode(node)} [${unit.shown}]`);
  function declared(at, unit) {
    const read = unitOf(unit);
    if (!read) throw new WrongFilter(at, `unknown unit '${unit}'`, nearestName(unit, knownUnits()));
    return { ...read, shown: unit, plain: false, clocked: unit.includes("Hz") };
  }
  const product = (one, other, times) => ({
    scale: one.scale * other.scale ** times, powers: addPowers(one.powers, other.powers, times), plain: one.plain && other.plain, clocked: one.clocked || other.clocked,
    shown: [one.shown, times === 1 || other.shown === "1" ? other.shown : `(${other.shown})**-1`].filter((unit) => unit !== "1").join(" ") || "1",
  });
  const power = (unit, exponent) => ({
    ...unit, scale: unit.scale ** exponent, shown: unit.shown === "1" ? "1" : `(${unit.shown})**${exponent}`,
    powers: Object.fromEntries(Object.entries(unit.powers).map(([name, each]) => [name, each * exponent])),
  });
  function checkPlain(words, node, unit) {
    if (!unit.plain && (!isZero(unit.powers) || Math.abs(unit.scale - 1) > 1e-9)) throw new WrongFilter(node.at, words(shown(node, unit)));
  }
  /* An expression times a factor and a power of the clock. */
  function scaled(node, scale, times) {
    if (times) {
      const factor = { is: "clock", scale, power: times };
      return { is: "call", at: node.at, name: "*", parts: [node, factor] };
    }
    if (Math.abs(scale - 1) <= 1e-9) return node;
    return node.is === "number" ? number(node.at, scaledNumber(node.written, scale)) : { is: "call", at: node.at, name: "*", parts: [node, number(node.at, scale)] };
  }
  /* Two expressions in one unit, and that unit. */
  function alike(words, left, right) {
    const [one, first] = converted(left), [other, second] = converted(right);
    if (first.plain || second.plain) return [one, other, first.plain ? second : first];
    const differ = addPowers(first.powers, second.powers, -1);
    if (first.clocked || second.clocked) delete differ["[cycle]"];
    let times = 0;
    if (!isZero(differ)) {
      times = (first.powers["[cycle]"] || 0) - (second.powers["[cycle]"] || 0);
      if (!isZero(addPowers(addPowers(first.powers, second.powers, -1), { "[cycle]": -times, "[time]": times }, 1))) {
        const message = words(shown(left, first), shown(right, second));
        const [figure, name, unit] = left.is === "number" ? [left, right, second] : [right, left, first];
        if (figure.is !== "number" || name.is !== "name") throw new WrongFilter(right.at, message);
        throw new WrongFilter(figure.at, message, unit.shown === "1" ? "give a plain number" : `give it in ${unit.shown}`);
      }
      if (!clock) {
        const at = left.is === "number" ? left.at : right.at;
        throw new WrongFilter(at, `${writtenNode(left)} and ${writtenNode(right)} are in seconds and cycles, which no clock of the study relates`);
      }
    }
    if (one.is === "number" && other.is !== "number") return [scaled(one, ratioOf(first.scale, second.scale), -times), other, second];
    return [one, scaled(other, ratioOf(second.scale, first.scale), times), first];
  }
  const compares = {
    "+": (a, b) => `adds ${a} and ${b}`, "-": (a, b) => `adds ${a} and ${b}`, "%": (a, b) => `divides ${a} by ${b} for a remainder`,
    max: (a, b) => `max() compares ${a} with ${b}`, min: (a, b) => `min() compares ${a} with ${b}`,
  };
  /* An expression without units in it, and its unit. */
  function converted(node) {
    if (node.is === "name") return [node, declared(node.at, fields.get(node.name).unit)];
    if (node.is === "number") return [{ ...node, unit: "" }, node.unit ? declared(node.at, node.unit) : plain];
    if (node.is === "text") throw new WrongFilter(node.at, `${writtenNode(node)} is a text, not a number`);
    if (compares[node.name]) {
      const [left, right, unit] = alike(compares[node.name], ...node.parts);
      return [{ ...node, parts: [left, right] }, unit];
    }
    const read = node.parts.map(converted), parts = read.map(([part]) => part);
    return [{ ...node, parts }, combined(node, ...read.map(([, unit]) => unit))];
  }
  function combined({ name, parts }, one, other) {
    if (["log", "log2", "log10"].includes(name)) return { ...plain, plain: false };
    if (name === "exp") { checkPlain((a) => `exp takes a plain number, not ${a}`, parts[0], one); return { ...plain, plain: false }; }
    if (name === "sqrt") return power(one, 0.5);
    if (name === "*") return product(one, other, 1);
    if (name === "/" || name === "//") return product(one, other, -1);
    if (name !== "**") return one;
    checkPlain((a) => `the exponent ${a} is not a plain number`, parts[1], other);
    if (one.plain || isZero(one.powers)) return one;
    if (parts[1].is !== "number") checkPlain((a) => `${a} has a power that is not written as a number`, parts[0], one);
    return power(one, Number(parts[1].written));
  }
  /* What an expression gives for a row. */
  function valueOf(node) {
    if (node.is === "text") return () => node.text;
    if (node.is === "name") { const { values } = fields.get(node.name); return (row) => values[row]; }
    if (node.is === "number") { const value = node.value ?? (node.written === "inf" ? Infinity : node.written === "-inf" ? -Infinity : Number(node.written)); return () => value; }
    if (node.is === "clock") return (row) => node.scale * clock(row) ** node.power;
    const parts = node.parts.map(valueOf), apply = operations[node.name] || Math[node.name];
    return parts.length === 1 ? (row) => apply(parts[0](row)) : (row) => apply(parts[0](row), parts[1](row));
  }
  function infinities(node) {
    if (node.is === "name" && ["inf", ...Object.values(data.words)].includes(node.name) && !fields.has(node.name)) return { is: "number", at: node.at, written: "inf", unit: "" };
    return node.parts ? { ...node, parts: node.parts.map(infinities) } : node;
  }
  const optionsOf = (node) => (node.is === "name" && fields.has(node.name) ? fields.get(node.name).options : null);
  function unknownNames(unknown, sides) {
    if (sides.some(optionsOf)) {
      const [word] = text.slice(unknown[0].at).match(/^[\p{L}\p{N}_]+(?:-[\p{L}\p{N}_]+)*\+?/u) || [""];
      return addProblem(unknown[0].at, `no column '${word}'`, `put a text in quotes: "${word}"`);
    }
    for (const { at, name } of unknown) addProblem(at, `no column '${name}'`, nearestName(name, fields.keys()));
    return () => true;
  }
  function matchTexts(column, options, sign, other) {
    if (other.is === "name") { if (!optionsOf(other)) return addProblem(other.at, `${column} holds texts, and ${other.name} numbers`); }
    else if (other.is !== "text") return addProblem(other.at, `${column} holds texts, and ${writtenNode(other)} is a number`);
    else if (!options.includes(other.text)) addProblem(other.at, `${column} is never '${other.text}'`, nearestName(other.text, options));
    return sign === "==" || sign === "!=" ? null : addProblem(other.at, `'${sign}' does not compare texts`, "compare them by ==, != or in");
  }
  function comparison(node) {
    const left = infinities(node.left), right = infinities(node.right), sides = [left, right], names = sides.flatMap(namesOf), test = compared[node.sign];
    const unknown = names.filter(({ name }) => !fields.has(name));
    if (unknown.length) return unknownNames(unknown, sides);
    if (!names.length) return addProblem(left.at, "compares no column", nearestName("", fields.keys()));
    for (const [side, other] of [[left, right], [right, left]]) {
      const options = optionsOf(side);
      if (options) {
        const [a, b] = sides.map((each) => (each.is === "call" || each.is === "number" ? () => NaN : valueOf(each)));
        return matchTexts(side.name, options, node.sign, other) || ((row) => test(a(row), b(row)));
      }
    }
    for (const [side, other] of [[left, right], [right, left]]) {
      if (side.is !== "text") continue;
      const [word, end] = filterWords(side.text), isNumber = end && end.kind === "end" && word.term && word.term.is === "number";
      return addProblem(side.at, `${writtenNode(other)} is a number, not a text`, isNumber ? `write ${side.text} without quotes` : "");
    }
    const textual = names.filter(optionsOf);
    if (textual.length) return addProblem(textual[0].at, `${textual[0].name} holds texts: it has no arithmetic`);
    for (const [side, other] of [[left, right], [right, left]]) {
      if (side.is === "number" && !side.unit && !side.written.endsWith("inf") && other.is === "name" && fields.get(other.name).unit !== "1") bare.add(`${other.name} in ${fields.get(other.name).unit}`);
    }
    try {
      const [a, b] = alike((one, other) => `compares ${one} with ${other}`, left, right).slice(0, 2).map(valueOf);
      return (row) => test(a(row), b(row));
    } catch (wrong) {
      if (!(wrong instanceof WrongFilter)) throw wrong;
      return addProblem(wrong.problem.at, wrong.problem.message, wrong.problem.remedy);
    }
  }
  function keeps(node) {
    if (node.is === "compared") return comparison(node);
    const parts = node.parts.map(keeps);
    if (node.how === "none") return (row) => !parts[0](row);
    return node.how === "all" ? (row) => parts.every((part) => part(row)) : (row) => parts.some((part) => part(row));
  }
  const kept = keeps(parsed), seen = new Set();
  problems.sort((a, b) => a.at - b.at);
  const once = problems.filter((problem) => { const key = JSON.stringify(problem), is = !seen.has(key); seen.add(key); return is; });
  return { problems: once, keeps: kept, bare: [...bare] };
}
