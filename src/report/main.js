/* What stands at the top, and everything drawn for the first time. */

function warnings() {
  const { info } = report, said = [];
  const say = (count, one, many, meaning) => { if (count) said.push(`${count === 1 ? `1 ${one}` : `${grouped(count)} ${many}`}: ${meaning}`); };
  if (report.cause) said.push(report.cause);
  say(info.waves_dropped, "wave was dropped", "waves were dropped", "the buffer was full, so nothing of that is here. Record with a larger buffer_bytes (KTRACE_BUFFER_BYTES).");
  say(info.waves_unfinished, "wave is unfinished", "waves are unfinished", "not at the end when the trace was read: still running, hung, or stopped by an error.");
  say(info.slots_lost, "slot was overwritten", "slots were overwritten", "a wave recorded more than its ring holds, so its oldest events are gone. Record with more events_per_wave (KTRACE_EVENTS_PER_WAVE).");
  say(info.ranges_unclosed, "range is unclosed", "ranges are unclosed", "nothing ended it before its wave's last event. It is drawn up to there, and is in no statistics.");
  say(info.ends_unmatched, "end is unmatched", "ends are unmatched", "a pop or stop found no range to close, and is not shown.");
  say(info.slots_corrupt, "slot is corrupt", "slots are corrupt", "no annotation of the module explains them.");
  say(info.clocks_ambiguous, "wave has ambiguous clocks", "waves have ambiguous clocks", "between two events the clock may have wrapped unseen, so times may be off by whole wraps.");
  const launched = report.launches.reduce((sum, launch) => sum + launch.waves_launched, 0);
  const unexplained = launched - info.waves - info.waves_dropped - info.waves_filtered;
  if (report.extent.launches === report.extent.launches_of && unexplained > 0)
    say(unexplained, "wave that was launched did not record", "waves that were launched did not record",
      "no filter and no full buffer explains it. Waves that return before KTRACE_KERNEL do not record.");
  if (report.clock_warning) said.push(`About the clocks: ${report.clock_warning}.`);
  return said;
}

function drawTop() {
  const { info, words } = report;
  document.title = `${info.name} - ktrace report`;
  document.getElementById("title").textContent = info.name;
  document.getElementById("subtitle").textContent = `${info.device}, ${grouped(info.places)} ${words.places}${info.simulated ? ", simulated time" : ""}`;
  facts("facts", [["duration", duration(info.duration_ps / 1000)], ["launches", grouped(info.launches)], [words.waves, grouped(info.waves)],
    ["events", grouped(info.events)], ["clock", info.clock_hz ? `${(info.clock_hz / 1e6).toFixed(0)} MHz` : "-"]]);
  const items = warnings().map(text => element("li", { className: "warning", textContent: text }));
  if (info.simulated)
    items.unshift(element("li", { className: "warning", textContent: "This is simulated time: the kernels ran on ktrace's simulator, whose costs are a simple model. It shows what the kernel does and in which order, not how fast a device would be." }));
  if (!items.length) items.push(element("li", { textContent: "Nothing is missing: every wave that was to be recorded is here, whole." }));
  if (info.waves_filtered)
    items.push(element("li", { textContent: `${counted(info.waves_filtered, "wave")} did not pass the capture's filter, as was asked.` }));
  document.getElementById("warnings").replaceChildren(...items);
  for (const word of document.querySelectorAll("[data-word]")) word.textContent = words[word.dataset.word];
  document.getElementById("footer").textContent = `Made by ktrace ${report.version}. The page loads nothing and sends nothing.`;
}

drawTop();
drawPhases();
drawLaunches();
if (report.launches.length) {
  listenToTimeline();
  listenToHeat();
  chooseLaunch(report.launches.reduce((best, launch, i, all) =>
    launch.end_ps - launch.begin_ps > all[best].end_ps - all[best].begin_ps ? i : best, 0));
} else {
  for (const id of ["launches-title", "timeline-title", "imbalance-title", "heat-title"]) document.getElementById(id).parentElement.hidden = true;
}
