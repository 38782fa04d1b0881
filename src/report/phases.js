/* The table of phases with their histograms. */

function histogram(phase, color) {
  const WIDTH = 220, HEIGHT = 40, BASE = 38;
  const most = Math.max(...phase.bins), bar = WIDTH / phase.bins.length;
  const svg = shape("svg", { class: "histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": `${phase.name}: from ${duration(phase.min_ns)} to ${duration(phase.max_ns)}, half below ${duration(phase.p50_ns)}` });
  svg.append(shape("title", {}, `${duration(phase.low_ns)} to ${duration(phase.high_ns)}${phase.logarithmic ? ", logarithmic" : ""}`));
  phase.bins.forEach((count, i) => {
    if (!count) return;
    const height = Math.max(1, count / most * (BASE - 2));
    svg.append(shape("rect", { x: i * bar, y: BASE - height, width: Math.max(bar - 0.5, 0.5), height, fill: color }));
  });
  for (const value of [phase.p50_ns, phase.p90_ns, phase.p99_ns]) {
    const part = phase.logarithmic ? Math.log(value / phase.low_ns) / Math.log(phase.high_ns / phase.low_ns)
      : (value - phase.low_ns) / (phase.high_ns - phase.low_ns);
    const x = Math.min(WIDTH - 0.5, Math.max(0.5, part * WIDTH));
    svg.append(shape("line", { class: "percentile", x1: x, x2: x, y1: 0, y2: BASE }));
  }
  svg.append(shape("line", { class: "axis", x1: 0, x2: WIDTH, y1: BASE, y2: BASE }));
  return svg;
}

function swatch(phase) {
  const made = element("span", { className: "swatch" });
  made.style.background = phaseColor(phase);
  return made;
}

function drawPhases() {
  const heads = [["phase", true], ["kernel", true], ["kind", true], ["count"], ["total"], ["mean"], ["min"], ["p50"], ["p90"], ["p99"],
    ["max"], ["unclosed"], ["distribution", true]];
  const rows = report.phases.map((phase, i) => [
    element("span", { title: phase.name }, swatch(i), " " + phase.name), phase.kernel, phase.kind, grouped(phase.count),
    ...["total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"].map(key => duration(phase[key])),
    phase.unclosed ? grouped(phase.unclosed) : "",
    phase.kind !== "mark" && phase.count ? histogram(phase, phaseColor(i)) : ""]);
  document.getElementById("phases").replaceChildren(rows.length ? table("Phases", heads, rows)
    : element("p", { textContent: "The trace has no events." }));
}
