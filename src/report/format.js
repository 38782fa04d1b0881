/* Numbers as `ktrace summary` shows them, and elements: text is only ever set as text. */

function duration(ns) {
  if (ns === null || ns === undefined) return "";
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
  const unit = units.find(([size]) => Math.abs(ns) >= size * 0.99995) ?? units[3];
  const value = ns / unit[0];
  return `${value.toFixed(Math.abs(value) < 99.995 ? 2 : 1)} ${unit[1]}`;
}

function grouped(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function percent(part) {
  return `${(part * 100).toFixed(1)} %`;
}

function counted(number, one, many = one + "s") {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/* `heads`: [title, is text]; `rows` of cells: text, or an element. */
function table(caption, heads, rows) {
  const made = element("table");
  made.setAttribute("aria-label", caption);
  const head = element("tr");
  for (const [title, isText] of heads) {
    const cell = element("th", { textContent: title, className: isText ? "text" : "" });
    cell.scope = "col";
    head.append(cell);
  }
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    row.forEach((cell, i) => {
      const made = element("td", { className: heads[i][1] ? "text name" : "" }, cell);
      if (typeof cell === "string") made.title = heads[i][1] ? cell : "";
      line.append(made);
    });
    body.append(line);
  }
  made.append(element("thead", {}, head), body);
  return made;
}

function facts(id, pairs) {
  document.getElementById(id).replaceChildren(...pairs.map(([name, value]) =>
    element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }))));
}

function styleOf(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

/* Told apart without red beside green; text is never set on them. Behind the twelfth they repeat in other lightness. */
const PALETTE = ["#3b82d6", "#e08a1e", "#2aa198", "#c2559d", "#8c7ae6", "#b5a100", "#d9534f", "#5f9ea0", "#7a8b3a", "#a0683c", "#6c7a99",
  "#c98bd0"];
function phaseColor(phase) {
  const round = Math.floor(phase / PALETTE.length);
  return round === 0 ? PALETTE[phase] : `hsl(${(phase * 137) % 360} 55% ${48 + (round % 3) * 7}%)`;
}
