/* The table of launches, what of a launch is out of balance, and which one is chosen. */

function wavesTable(launch, caption, waves) {
  const heads = [["wave", true], ["place", true], ["duration"], ["begin"], ["end"], ["of mean"]];
  return table(caption, heads, waves.map(number => {
    const wave = launch.first_wave + number, toNs = ticks => ticks * launch.tick_ps / 1000;
    const begin = toNs(columns.wave_begin[wave]), end = toNs(columns.wave_end[wave]);
    const button = element("button", { type: "button", className: "link", textContent: waveName(launch, wave), title: "Show it on the timeline" });
    button.addEventListener("click", () => showWave(wave));
    return [button, placeName(wave), duration(end - begin), duration(begin), duration(end),
      launch.wave_mean_ps > 0 ? percent((end - begin) * 1000 / launch.wave_mean_ps) : ""];
  }));
}

function drawImbalance(launch) {
  const over = (most, mean) => mean > 0 ? `+${percent(most / mean - 1)}` : "-";
  facts("imbalance", [
    ["mean wave", duration(launch.wave_mean_ps / 1000)],
    ["median wave", duration(launch.wave_p50_ps / 1000)],
    ["longest wave", `${duration(launch.wave_max_ps / 1000)} (${over(launch.wave_max_ps, launch.wave_mean_ps)} over the mean)`],
    [`busiest of ${counted(launch.busy_places, "place")}`, `${duration(launch.busy_max_ps / 1000)} (${over(launch.busy_max_ps, launch.busy_mean_ps)} over their mean)`],
    ["tail: while the last tenth of waves ended", `${duration(launch.tail_ps / 1000)} (${percent(launch.tail_ps / Math.max(1, launch.end_ps - launch.begin_ps))} of the launch)`]]);
  document.getElementById("longest").replaceChildren(wavesTable(launch, "Longest waves", launch.longest));
  document.getElementById("last").replaceChildren(wavesTable(launch, "Waves that ended last", launch.last));
}

function drawLegend(launch) {
  const seen = new Set();
  for (let i = launch.first_range; i < launch.first_range + launch.ranges_here; i++) seen.add(columns.range_phase[i]);
  const items = [...seen].sort((a, b) => a - b).filter(phase => report.phases[phase] && report.phases[phase].kind !== "mark")
    .map(phase => element("span", { title: report.phases[phase].name }, swatch(phase), report.phases[phase].name));
  const span = element("span", { className: "swatch" });
  span.style.background = "var(--span)";
  const legend = [...items, element("span", {}, span, "the wave, in no phase")];
  if ([...seen].some(phase => report.phases[phase] && report.phases[phase].kind === "mark")) {
    const mark = element("span", { className: "swatch" });
    mark.style.background = "var(--text)";
    mark.style.width = "2px";
    legend.push(element("span", {}, mark, "a mark"));
  }
  document.getElementById("legend").replaceChildren(...legend);
}

function drawLeftOut(launch) {
  let without = 0, cut = 0;
  for (let i = launch.first_wave; i < launch.first_wave + launch.waves_here; i++) {
    without += (columns.wave_flags[i] & WAVE_WITHOUT) !== 0;
    cut += (columns.wave_flags[i] & WAVE_CUT) !== 0;
  }
  const said = [];
  if (launch.waves_here < launch.waves)
    said.push(`To keep this page small it has ${grouped(launch.waves_here)} of ${counted(launch.waves, "wave")} of this launch, chosen evenly, with the longest and the last`);
  if (without) said.push(`${grouped(without)} of ${counted(launch.waves_here, "wave")} are without their ranges (one grey bar)`);
  if (cut) said.push(`${counted(cut, "wave")} with their first ranges only`);
  document.getElementById("left-out").textContent = said.length ? `${said.join("; ")}. All statistics are of everything.` : "";
}

function chooseLaunch(index) {
  const launch = report.launches[index];
  for (const name of document.querySelectorAll(".chosen")) name.textContent = `launch ${launchName(launch)}`;
  document.getElementById("launch-choice").value = String(index);
  document.querySelectorAll("#launches tbody tr").forEach((row, i) => row.setAttribute("aria-current", String(i === index)));
  heat.launch = launch;
  setLaunchOfTimeline(launch);
  drawLegend(launch);
  drawLeftOut(launch);
  drawImbalance(launch);
  drawHeat();
}

function drawLaunches() {
  const several = report.info.devices > 1;
  const heads = [["launch"], ["kernel", true], ...(several ? [["device"]] : []), ["grid"], ["block"], ["begin"], ["duration"], ["waves"], ["launched"],
    ["events"], ["slots lost"]];
  const rows = report.launches.map(launch => [`#${launch.launch_id}`, launch.kernel,
    ...(several ? [deviceNumber(launch.device)] : []), launch.grid.join(" x "), launch.block.join(" x "),
    duration(launch.begin_ps / 1000), duration((launch.end_ps - launch.begin_ps) / 1000), grouped(launch.waves), grouped(launch.waves_launched),
    grouped(launch.events), launch.slots_lost ? grouped(launch.slots_lost) : ""]);
  const made = table("Launches", heads, rows);
  made.querySelectorAll("tbody tr").forEach((row, i) => {
    row.className = "choosable";
    row.tabIndex = 0;
    row.addEventListener("click", () => chooseLaunch(i));
    row.addEventListener("keydown", event => { if (event.key === "Enter") chooseLaunch(i); });
  });
  document.getElementById("launches").replaceChildren(made);
  const choice = document.getElementById("launch-choice");
  choice.replaceChildren(...report.launches.map((launch, i) => element("option", { value: String(i), textContent: launchName(launch) })));
  choice.addEventListener("change", () => chooseLaunch(Number(choice.value)));
  if (report.extent.launches < report.extent.launches_of)
    document.getElementById("launches").before(element("p", { className: "hint",
      textContent: `The ${grouped(report.extent.launches)} longest of ${grouped(report.extent.launches_of)} launches.` }));
}
