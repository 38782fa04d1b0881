"use strict";
/* What the page is about: `report` (the JSON) and `columns` (typed arrays, little-endian as the file is). */

const report = JSON.parse(document.getElementById("data").textContent);

function unpack(column) {
  const binary = atob(column.base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return { 1: () => bytes, 2: () => new Uint16Array(bytes.buffer), 4: () => new Uint32Array(bytes.buffer) }[column.bytes]();
}

const columns = {};
for (const [name, column] of Object.entries(report.columns)) columns[name] = unpack(column);
report.columns = null;

/* Index of the first range of each wave of the page, and one more. */
const rangeStart = new Uint32Array(columns.wave_ranges.length + 1);
for (let i = 0; i < columns.wave_ranges.length; i++) rangeStart[i + 1] = rangeStart[i] + columns.wave_ranges[i];

const WAVE_UNFINISHED = 1, WAVE_WITHOUT = 2, WAVE_CUT = 4;
const SHAPE_DEPTH = 0x3f, SHAPE_UNCLOSED = 0x40, SHAPE_CHILD = 0x80;

/* `wave` is an index into the columns. */
function waveName(launch, wave) {
  const [x, y] = launch.grid;
  const index = columns.wave_workgroup[wave];
  const at = [index % x, Math.floor(index / x) % y, Math.floor(index / x / y)];
  return `${report.words.workgroup}(${at.join(", ")}) ${report.words.wave}${columns.wave_number[wave]}`;
}

/* What tells a device from the others: in a table, where there is one process "0", and in a sentence. */
function deviceNumber(index) {
  const device = report.devices[index];
  return report.processes ? `${report.processes[device.process].label} #${device.ordinal}` : String(device.ordinal);
}

function deviceWords(index) {
  return report.processes ? deviceNumber(index) : `device ${deviceNumber(index)}`;
}

function placeName(wave) {
  const place = report.places[columns.wave_place[wave]];
  return report.info.devices > 1 ? `${deviceWords(place.device)} ${place.name}` : place.name;
}

function launchName(launch) {
  return `#${launch.launch_id} ${launch.kernel}`;
}
