/* SMs or CUs of the chosen launch: how busy, how many waves. */

const heat = { launch: null };

/* Rows of cells: all SMs by number; CUs by their XCD, as only those are known that recorded. */
function heatRows() {
  const { first_busy: first, busy_places: count } = heat.launch, used = new Map();
  for (let i = first; i < first + count; i++) used.set(columns.busy_place[i], i);
  const cells = report.places.map((place, i) => ({ ...place, busy: used.get(i) })).filter(cell => cell.device === heat.launch.device);
  if (cells.some(cell => cell.name.includes("/"))) {
    const groups = new Map();
    for (const cell of cells) {
      const group = cell.name.split("/")[0];
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(cell);
    }
    return [...groups];
  }
  const places = report.info.devices > 1 ? report.devices[heat.launch.device].places : report.info.places;
  const known = new Map(cells.map(cell => [cell.id, cell]));
  const most = Math.max(0, ...cells.map(cell => cell.id + 1)), all = [];
  const numbers = Math.max(most, places) <= 4096 ? Array.from({ length: Math.max(most, places) }, (_, id) => id) : [...known.keys()];
  for (let i = 0; i < numbers.length; i += 24)
    all.push([String(numbers[i]), numbers.slice(i, i + 24).map(id => known.get(id) ?? { name: `SM ${id}`, id })]);
  return all;
}

function heatValue(cell, metric) {
  if (cell.busy === undefined) return null;
  return metric === "busy" ? columns.busy_time[cell.busy] * heat.launch.tick_ps / 1000 : columns.busy_waves[cell.busy];
}

function mixColor(part) {
  const read = name => [1, 3, 5].map(i => parseInt(styleOf(name).slice(i, i + 2), 16));
  const low = read("--heat-low"), high = read("--heat-high");
  return `rgb(${low.map((from, i) => Math.round(from + (high[i] - from) * part)).join(" ")})`;
}

function describeCell(cell, launchNs) {
  if (cell.busy === undefined) return `${cell.name}: nothing recorded`;
  const busyNs = heatValue(cell, "busy");
  return `${cell.name}: ${counted(heatValue(cell, "waves"), "wave")}, busy ${duration(busyNs)}, ${percent(busyNs / launchNs)} of the launch`;
}

function drawHeat() {
  const CELL = 34, LABEL = 48, metric = document.getElementById("heat-choice").value, rows = heatRows();
  const values = rows.flatMap(([, cells]) => cells.map(cell => heatValue(cell, metric))).filter(value => value !== null);
  const most = Math.max(...values, 0), least = Math.min(...values, most), launchNs = (heat.launch.end_ps - heat.launch.begin_ps) / 1000;
  const width = LABEL + CELL * Math.max(1, ...rows.map(([, cells]) => cells.length));
  const text = metric === "busy" ? duration : grouped;
  const svg = shape("svg", { width, viewBox: `0 0 ${width} ${rows.length * CELL}`, role: "img",
    "aria-label": `${report.words.places}: from ${text(least)} to ${text(most)}` });
  rows.forEach(([label, cells], y) => {
    svg.append(shape("text", { x: LABEL - 6, y: y * CELL + CELL / 2 + 4, "text-anchor": "end" }, label));
    cells.forEach((cell, x) => {
      const value = heatValue(cell, metric);
      const box = shape("rect", { x: LABEL + x * CELL + 1, y: y * CELL + 1, width: CELL - 2, height: CELL - 2, rx: 3 });
      if (value === null) box.setAttribute("class", "unused");
      else box.setAttribute("fill", mixColor(most > 0 ? value / most : 0));
      box.dataset.value = value ?? "";
      const words = describeCell(cell, launchNs);
      box.append(shape("title", {}, words));
      box.addEventListener("pointerenter", () => { document.getElementById("heat-pointed").textContent = words; });
      svg.append(box);
    });
  });
  document.getElementById("heat").replaceChildren(svg);
  document.getElementById("heat-scale").replaceChildren(metric === "busy" ? "0 ns" : "0", element("span", { className: "gradient" }), text(most),
    ` (least ${text(least)}); ${counted(values.length, "place")} with waves`);
}

function listenToHeat() {
  document.getElementById("heat-choice").addEventListener("change", drawHeat);
}
