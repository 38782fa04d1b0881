/* The waves of a launch as rows of a canvas. Times are in the launch's ticks; the view is a box of time and rows. */

const timeline = {
  canvas: document.getElementById("timeline"),
  launch: null, rows: null, /* waves in their order */
  full: 1, /* ticks of the whole launch */
  t0: 0, t1: 1, r0: 0, r1: 1,
  LABELS: 190, AXIS: 22,
};

function timelineHeight() { return timeline.canvas.clientHeight - timeline.AXIS; }
function timelineWidth() { return timeline.canvas.clientWidth - timeline.LABELS; }
function ticksToNs(ticks) { return ticks * timeline.launch.tick_ps / 1000; }

function chooseRows(order) {
  const { first_wave: first, waves_here: count } = timeline.launch;
  const rows = Uint32Array.from({ length: count }, (_, i) => first + i);
  const { wave_begin: begin, wave_end: end } = columns;
  const compare = { begin: (a, b) => begin[a] - begin[b] || a - b, end: (a, b) => end[a] - end[b] || a - b,
    duration: (a, b) => end[b] - begin[b] - (end[a] - begin[a]) || a - b }[order];
  timeline.rows = compare ? rows.sort(compare) : rows;
}

function showAll() {
  Object.assign(timeline, { t0: 0, t1: timeline.full, r0: 0, r1: Math.max(1, timeline.rows.length) });
  drawTimeline();
}

function setLaunchOfTimeline(launch) {
  timeline.launch = launch;
  timeline.full = Math.max(1, (launch.end_ps - launch.begin_ps) / launch.tick_ps);
  chooseRows(document.getElementById("order-choice").value);
  showAll();
}

/* ---- Moving ------------------------------------------------------------------------------------------------------ */

/* Keep a span within [0, full], no shorter than `least`. */
function clamp(from, to, full, least) {
  const length = Math.min(full, Math.max(least, to - from));
  const start = Math.min(Math.max(0, from), full - length);
  return [start, start + length];
}

function view(t0, t1, r0, r1) {
  [timeline.t0, timeline.t1] = clamp(t0, t1, timeline.full, Math.min(timeline.full, 10));
  [timeline.r0, timeline.r1] = clamp(r0, r1, Math.max(1, timeline.rows.length), 1);
  drawTimeline();
}

/* `factor` below 1 zooms in; `at`, from 0 to 1, is what stays in place. */
function zoomTime(factor, at = 0.5) {
  const { t0, t1, r0, r1 } = timeline, fixed = t0 + (t1 - t0) * at;
  view(fixed - (fixed - t0) * factor, fixed + (t1 - fixed) * factor, r0, r1);
}
function zoomRows(factor, at = 0.5) {
  const { t0, t1, r0, r1 } = timeline, fixed = r0 + (r1 - r0) * at;
  view(t0, t1, fixed - (fixed - r0) * factor, fixed + (r1 - fixed) * factor);
}
function move(time, rows) {
  const { t0, t1, r0, r1 } = timeline, dt = (t1 - t0) * time, dr = (r1 - r0) * rows;
  view(t0 + dt, t1 + dt, r0 + dr, r1 + dr);
}

/* A wave alone, with a little around it. */
function showWave(wave) {
  const row = timeline.rows.indexOf(wave), begin = columns.wave_begin[wave], end = columns.wave_end[wave];
  const margin = Math.max(5, (end - begin) * 0.05);
  view(begin - margin, end + margin, row - 6, row + 7);
  timeline.canvas.scrollIntoView({ block: "center" });
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

/* Where a range lies in its row, from 0 to 1: nested ones deeper inside, overlapping ones in the lower part. */
function band(form) {
  const level = Math.min(form & SHAPE_DEPTH, 4);
  return form & SHAPE_CHILD ? [0.62 + Math.min(level - 1, 2) * 0.1, 0.95] : [0.05 + level * 0.11, 0.9 - level * 0.04];
}

/* From ticks to pixels, no further than the part of the canvas that has waves. */
function timeScale() {
  const { t0, t1, LABELS } = timeline, width = timelineWidth(), scale = width / (t1 - t0);
  return ticks => Math.min(LABELS + width, Math.max(LABELS, LABELS + (ticks - t0) * scale));
}

function drawSpan(context, wave, y, height, colors, x) {
  const begin = columns.wave_begin[wave], end = columns.wave_end[wave];
  if (end < timeline.t0 || begin > timeline.t1) return;
  const pad = height > 4 ? height * 0.05 : 0;
  context.fillStyle = colors.span;
  context.fillRect(x(begin), y + pad, Math.max(1, x(end) - x(begin)), height - 2 * pad);
}

function drawName(context, text, x, y, width, height) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.fillStyle = "#000";
  context.fillText(text, x + 4, y + Math.min(9, height / 2));
  context.restore();
}

function drawRanges(context, wave, y, height, colors, x) {
  const drawn = new Map(); /* by shape: up to which x something was drawn, so that a thousand ranges on a pixel are one */
  const isLow = height <= 3; /* no room for what overlaps */
  for (let i = rangeStart[wave]; i < rangeStart[wave + 1]; i++) {
    const from = columns.range_begin[i], to = columns.range_end[i], form = columns.range_shape[i];
    const phase = report.phases[columns.range_phase[i]];
    if (from > timeline.t1) break;
    if (to < timeline.t0 || !phase || (isLow && (form & SHAPE_CHILD || phase.kind === "mark"))) continue;
    const left = x(from);
    if (phase.kind === "mark") {
      context.fillStyle = colors.text;
      context.fillRect(left, y, height > 6 ? 2 : 1, height);
      continue;
    }
    const wide = Math.max(1, x(to) - left);
    if (left + wide < (drawn.get(form) ?? -1) + 0.5) continue;
    drawn.set(form, left + wide);
    const [top, bottom] = isLow ? [0, 1] : band(form), tall = Math.max(1, (bottom - top) * height);
    context.fillStyle = colors.phases[columns.range_phase[i]];
    context.fillRect(left, y + top * height, wide, tall);
    if (wide > 40 && tall > 11)
      drawName(context, phase.name + (form & SHAPE_UNCLOSED ? " (unclosed)" : ""), left, y + top * height, wide, tall);
  }
}

/* `count` of a list, evenly. */
function sample(list, count) {
  return list.length <= count ? list : Array.from({ length: count }, (_, i) => list[Math.floor(i * list.length / count)]);
}

/* A line of pixels that many rows fall on: some of them on top of each other, which is what all of them would look like. */
function drawLine(context, from, to, y, colors, x) {
  const waves = sample(timeline.rows.subarray(Math.floor(from), Math.max(Math.floor(from) + 1, Math.floor(to))), 48);
  const withRanges = [];
  for (let row = Math.floor(from); row < Math.min(to, timeline.rows.length); row++)
    if (!(columns.wave_flags[timeline.rows[row]] & WAVE_WITHOUT)) withRanges.push(timeline.rows[row]);
  for (const wave of waves) drawSpan(context, wave, y, 1, colors, x);
  for (const wave of sample(withRanges, 12)) drawRanges(context, wave, y, 1, colors, x);
}

function drawWaves(context, colors) {
  const { rows, r0, r1, AXIS } = timeline, height = timelineHeight(), rowHeight = height / (r1 - r0), x = timeScale();
  if (rowHeight < 1) {
    for (let y = 0; y < height; y++) drawLine(context, r0 + y / rowHeight, r0 + (y + 1) / rowHeight, AXIS + y, colors, x);
    return;
  }
  for (let row = Math.floor(r0); row < Math.min(Math.ceil(r1), rows.length); row++) {
    drawSpan(context, rows[row], AXIS + (row - r0) * rowHeight, rowHeight, colors, x);
    drawRanges(context, rows[row], AXIS + (row - r0) * rowHeight, rowHeight, colors, x);
  }
}

function drawAxis(context, colors) {
  const { t0, t1, LABELS, AXIS } = timeline, width = timelineWidth();
  const spanNs = ticksToNs(t1 - t0), rough = spanNs / (width / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(k => k * power).find(size => size >= rough);
  context.fillStyle = colors.faint;
  context.strokeStyle = colors.line;
  context.textAlign = "left";
  for (let i = Math.ceil(ticksToNs(t0) / step); i * step <= ticksToNs(t1); i++) {
    const x = LABELS + (i * step - ticksToNs(t0)) / spanNs * width;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, timeline.canvas.clientHeight);
    context.stroke();
    context.fillText(i === 0 ? "0" : duration(i * step), x + 3, AXIS / 2);
  }
}

function drawLabels(context, colors) {
  const { r0, r1, LABELS, AXIS, rows } = timeline, height = timelineHeight(), rowHeight = height / (r1 - r0);
  const byPlace = document.getElementById("order-choice").value === "place";
  let free = AXIS + 6, place = -1;
  context.fillStyle = colors.text;
  context.textAlign = "left";
  for (let row = Math.floor(r0); row < Math.min(Math.ceil(r1), rows.length); row += Math.max(1, Math.floor(1 / rowHeight))) {
    const y = AXIS + (row - r0) * rowHeight + Math.max(7, Math.min(rowHeight, 14) / 2), wave = rows[row];
    if (y < free || y > height + AXIS - 4) continue;
    const isNew = columns.wave_place[wave] !== place;
    if (rowHeight < 11 && (!byPlace || !isNew)) continue;
    place = columns.wave_place[wave];
    context.fillText(rowHeight < 11 ? placeName(wave) : `${placeName(wave)}  ${waveName(timeline.launch, wave)}`, 6, y, LABELS - 12);
    free = y + 12;
  }
}

function drawTimeline() {
  const { canvas, launch, rows, t0, t1, r0, r1, AXIS } = timeline, ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  const colors = { span: styleOf("--span"), text: styleOf("--text"), faint: styleOf("--faint"), line: styleOf("--line"),
    phases: report.phases.map((_, i) => phaseColor(i)) };
  drawAxis(context, colors);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, canvas.clientWidth, timelineHeight());
  context.clip();
  drawWaves(context, colors);
  drawLabels(context, colors);
  context.restore();
  const shown = Math.min(rows.length, Math.ceil(r1)) - Math.floor(r0);
  document.getElementById("window").textContent =
    `${duration(ticksToNs(t0))} to ${duration(ticksToNs(t1))}, ${grouped(shown)} of ${counted(rows.length, "row")}`;
  canvas.setAttribute("aria-label", `Timeline of ${launchName(launch)}: ${counted(rows.length, "row")}, one for each wave; ` +
    `shown are ${grouped(shown)}, from ${duration(ticksToNs(t0))} to ${duration(ticksToNs(t1))}`);
  Object.assign(canvas.dataset, { launch: launch.launch_id, beginNs: ticksToNs(t0), endNs: ticksToNs(t1), firstRow: r0, lastRow: r1 });
}

/* ---- Pointing ---------------------------------------------------------------------------------------------------- */

/* What is at a point of the canvas: the innermost of its ranges, or the wave. */
function describePoint(x, y) {
  const { t0, t1, r0, r1, LABELS, AXIS, launch, rows } = timeline;
  const row = Math.floor(r0 + (y - AXIS) / timelineHeight() * (r1 - r0));
  const at = t0 + (x - LABELS) / timelineWidth() * (t1 - t0);
  if (row < 0 || row >= rows.length || y < AXIS) return "";
  const wave = rows[row], slack = (t1 - t0) / timelineWidth();
  const name = `${placeName(wave)}, ${waveName(launch, wave)}`;
  const lower = (r0 + (y - AXIS) / timelineHeight() * (r1 - r0)) % 1 > 0.62;
  let best = -1;
  for (let i = rangeStart[wave]; i < rangeStart[wave + 1] && columns.range_begin[i] <= at + slack; i++) {
    if (columns.range_end[i] < at - slack) continue;
    const isChild = (columns.range_shape[i] & SHAPE_CHILD) !== 0;
    if (best < 0 || isChild === lower || (columns.range_shape[best] & SHAPE_CHILD) !== 0) best = i;
  }
  const flags = columns.wave_flags[wave];
  const state = (flags & WAVE_UNFINISHED ? ", unfinished" : "") + (flags & WAVE_WITHOUT ? ", its ranges are not in this page" : "") +
    (flags & WAVE_CUT ? ", its later ranges are not in this page" : "");
  const whole = `${duration(ticksToNs(columns.wave_end[wave] - columns.wave_begin[wave]))} in all${state}`;
  if (best < 0) return `${name}: ${whole}`;
  const phase = report.phases[columns.range_phase[best]], begin = ticksToNs(columns.range_begin[best]);
  const length = ticksToNs(columns.range_end[best] - columns.range_begin[best]);
  return phase.kind === "mark" ? `${name}: mark ${phase.name} at ${duration(begin)}; ${whole}`
    : `${name}: ${phase.name}${columns.range_shape[best] & SHAPE_UNCLOSED ? " (unclosed)" : ""} ${duration(length)}, from ${duration(begin)}; ${whole}`;
}

function listenToTimeline() {
  const { canvas } = timeline;
  let dragged = null, waiting = false;
  const part = event => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - timeline.LABELS) / timelineWidth(), (event.clientY - box.top - timeline.AXIS) / timelineHeight()];
  };
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const [time, rows] = part(event), amount = event.deltaY || event.deltaX;
    const factor = Math.exp(Math.max(-240, Math.min(240, amount)) * 0.002);
    if (event.shiftKey) zoomRows(factor, Math.min(1, Math.max(0, rows)));
    else zoomTime(factor, Math.min(1, Math.max(0, time)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => {
    dragged = { x: event.clientX, y: event.clientY, ...timeline };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { dragged = null; });
  canvas.addEventListener("pointermove", event => {
    if (dragged && !waiting) {
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (!dragged) return;
        const dt = (event.clientX - dragged.x) / timelineWidth() * (dragged.t1 - dragged.t0);
        const dr = (event.clientY - dragged.y) / timelineHeight() * (dragged.r1 - dragged.r0);
        view(dragged.t0 - dt, dragged.t1 - dt, dragged.r0 - dr, dragged.r1 - dr);
      });
    } else if (!dragged) {
      const box = canvas.getBoundingClientRect();
      document.getElementById("pointed").textContent = describePoint(event.clientX - box.left, event.clientY - box.top);
    }
  });
  const keys = { ArrowLeft: () => move(-0.2, 0), ArrowRight: () => move(0.2, 0), ArrowUp: () => move(0, -0.2), ArrowDown: () => move(0, 0.2),
    "+": () => zoomTime(0.7), "=": () => zoomTime(0.7), "-": () => zoomTime(1 / 0.7), "[": () => zoomRows(0.7), "]": () => zoomRows(1 / 0.7), 0: showAll };
  canvas.addEventListener("keydown", event => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  const buttons = { "zoom-in": () => zoomTime(0.5), "zoom-out": () => zoomTime(2), "rows-in": () => zoomRows(0.5), "rows-out": () => zoomRows(2), fit: showAll };
  for (const [id, act] of Object.entries(buttons)) document.getElementById(id).addEventListener("click", act);
  document.getElementById("order-choice").addEventListener("change", event => {
    chooseRows(event.target.value);
    drawTimeline();
  });
  window.addEventListener("resize", drawTimeline);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawTimeline(); drawHeat(); });
}
