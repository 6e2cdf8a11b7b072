"use strict";
// The page's script: it asks the JSON of the tab that is shown once a second, and draws it. Whatever comes from outside (names of queries, topics,
// errors) becomes text, never markup: elements are made by h, which knows no HTML.

const { app, csrf, token } = document.body.dataset;
const main = document.getElementById("main");
const stateLine = document.getElementById("state");
const every = 1000; // milliseconds between two looks
const patience = 10000; // milliseconds until a look is given up
const keep = 600; // points of a chart

// --- elements

// h makes an element: h("a", {href: "#jobs", class: "x"}, "text", child).
function h(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v === true) e.setAttribute(k, "");
    else if (v !== false && v != null) e.setAttribute(k, v);
  }
  e.append(...children.filter(c => c != null));
  return e;
}

function svg(name, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

// setText changes only what has changed, so that a selection in the text stays.
function setText(e, text) { if (e.textContent !== text) e.textContent = text; }

// --- numbers as people read them

const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
const none = "–";

const known = f => v => v == null || Number.isNaN(v) ? none : f(v);
const count = known(v => plain.format(v));
const number = known(v => Math.abs(v) >= 100 ? plain.format(v) : fine.format(v));
const rate = known(v => number(v) + " /s");
const share = known(v => (v < 0.1 ? fine : plain).format(100 * v) + " %");
const times = known(v => fine.format(v) + " ×");
const bytes = known(v => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; Math.abs(v) >= 1024 && i < units.length - 1; i++) v /= 1024;
  return (i ? fine.format(v) : plain.format(v)) + " " + units[i];
});
const duration = known(ms => {
  if (ms < 0) return "-" + duration(-ms); // simulated matches are ahead of the clock, and so is their watermark
  const s = ms / 1000;
  if (s < 1) return number(ms) + " ms";
  if (s < 60) return number(s) + " s";
  if (s < 3600) return number(s / 60) + " min";
  return s < 172800 ? number(s / 3600) + " h" : number(s / 86400) + " days";
});
const seconds = known(s => duration(1000 * s));

// clockOf is the time of a day, with the day where it is another than today.
const clockOf = text => { const t = instant(text); return !t ? none : t.toDateString() === new Date().toDateString() ? clock(t) : when(text); };

// instant reads a time of the JSON: RFC 3339, or Spark's form with GMT at its end.
const instant = text => text ? new Date(text.replace("GMT", "Z")) : null;
const two = n => String(n).padStart(2, "0");
const clock = t => `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
const when = text => {
  const t = instant(text);
  return t ? `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock(t)}` : none;
};

// --- tables

// table shows rows {key, cells}; a cell is a text, or an element that is made once for each key. A number stands to the right.
function table(columns) {
  const body = h("tbody");
  const head = h("tr", {}, ...columns.map(c => h("th", { scope: "col", class: c.number ? "number" : null }, c.name)));
  const node = h("div", { class: "wide" }, h("table", {}, h("thead", {}, head), body));
  const rows = new Map();
  const fresh = row => h("tr", {}, ...row.cells.map((cell, i) => h("td", { class: columns[i].number ? "number" : columns[i].long ? "text long" : columns[i].text ? "text" : null }, cell)));
  node.update = list => {
    const wanted = new Set(list.map(r => r.key));
    for (const [key, tr] of rows) if (!wanted.has(key)) { tr.remove(); rows.delete(key); }
    list.forEach((row, n) => {
      let tr = rows.get(row.key);
      if (!tr) rows.set(row.key, tr = fresh({ cells: row.cells.map(c => typeof c === "function" ? c() : c) }));
      else row.cells.forEach((cell, i) => { if (typeof cell === "string") setText(tr.cells[i], cell); else if (cell.update) cell.update(tr.cells[i].firstChild); });
      if (body.children[n] !== tr) body.insertBefore(tr, body.children[n] || null);
    });
  };
  return node;
}

// section is a heading with a count, and a table below it, which is away while it is empty.
function section(title, columns, emptyText) {
  const n = h("span", { class: "count" });
  const t = table(columns);
  const empty = h("p", { class: "empty" }, emptyText);
  const node = h("section", {}, h("h2", {}, title + " ", n), empty, t);
  node.update = rows => {
    setText(n, `(${rows.length})`);
    t.hidden = rows.length === 0;
    empty.hidden = rows.length > 0;
    node.hidden = rows.length === 0 && !emptyText;
    t.update(rows);
  };
  return node;
}

const words = { RUNNING: "● running", HELD: "‖ held up", SUCCEEDED: "✓ ended", FAILED: "✗ failed" };
function chip(state) {
  const make = () => h("span", { class: "chip " + state }, words[state] || state);
  make.update = e => { e.className = "chip " + state; setText(e, words[state] || state); };
  return make;
}

// stateOf is a query's state, or that it is held up.
const stateOf = q => q.heldUp || q.heldEpoch ? "HELD" : q.state;

// progress is a bar with its number beside it.
function progress(part, text) {
  const make = () => h("span", {}, h("span", { class: "bar", "aria-hidden": "true" }, h("span")), h("span"));
  const show = e => { e.firstChild.firstChild.style.width = Math.round(100 * Math.min(1, part || 0)) + "%"; setText(e.lastChild, text); };
  const cell = () => { const e = make(); show(e); return e; };
  cell.update = show;
  return cell;
}

const link = (href, text) => () => h("a", { href }, text);

// --- charts

// cursor is the time that the pointer is at: all charts show it.
const cursor = { at: null, charts: new Set() };
function moveCursor(at) { cursor.at = at; for (const c of cursor.charts) c.point(); }

const height = 130, left = 64, right = 8, top_ = 10, bottom = 20;

// nice is the round number from a value upwards at which an axis ends; of bytes one that is round in powers of 1024.
function nice(v, binary) {
  if (!(v > 0)) return 1;
  const unit = binary ? 1024 ** Math.floor(Math.log(v) / Math.log(1024)) : 1;
  const p = unit * 10 ** Math.floor(Math.log10(v / unit));
  return [1, 2, 5, 10].find(m => m * p >= v * 0.999) * p;
}

// chart draws series over time: {title, format, series: [names] or none for a single one, stacked}. Data: update([times], [[values]], [names]).
function chart(spec) {
  const drawing = svg("svg", { role: "img", tabindex: "0" });
  const now = h("span", { class: "now" });
  const legend = h("div", { class: "legend" });
  const rows = h("div");
  const more = h("details", { ontoggle: () => list() }, h("summary", {}, "as a table"), rows);
  const node = h("figure", { class: "chart", hidden: true }, h("figcaption", {}, h("b", {}, spec.title), now), legend, drawing, more);
  let t = [], lines = [], names = spec.series || [spec.title], x = () => 0, mark = null, listed = null;

  const last = values => { for (let i = values.length - 1; i >= 0; i--) if (values[i] != null) return values[i]; return null; };
  const valueAt = i => lines.length === 1 ? spec.format(lines[0][i]) : names.map((n, k) => `${n} ${spec.format(lines[k][i])}`).join(" · ");

  function draw() {
    const width = Math.max(drawing.clientWidth, 160);
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const stacked = spec.stacked ? sums(lines) : lines;
    const high = nice(Math.max(...stacked.map(s => Math.max(...s.map(v => v || 0)))), spec.axis === bytes);
    const low = Math.min(0, ...stacked.map(s => Math.min(...s.map(v => v || 0))));
    const from = t[0], span = Math.max(t[t.length - 1] - from, 1);
    x = at => left + (at - from) / span * (width - left - right);
    const y = v => top_ + (high - v) / (high - low || 1) * (height - top_ - bottom);
    const parts = [];
    for (const v of [low, (low + high) / 2, high]) {
      parts.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }), svg("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, axis(spec, v)));
    }
    parts.push(svg("text", { x: left, y: height - 5 }, clock(new Date(from))), svg("text", { x: width - right, y: height - 5, "text-anchor": "end" }, clock(new Date(from + span))));
    stacked.forEach((s, k) => parts.push(...shape(s, k ? stacked[k - 1] : null, k, t, x, y, spec.stacked)));
    mark = svg("line", { class: "cursor", y1: top_, y2: height - bottom, visibility: "hidden" });
    drawing.replaceChildren(...parts, mark);
    node.point();
  }

  // point shows the values at the cursor, or the newest.
  node.point = () => {
    let i = t.length - 1;
    if (cursor.at != null && t.length) {
      i = t.reduce((best, at, n) => Math.abs(at - cursor.at) < Math.abs(t[best] - cursor.at) ? n : best, 0);
    }
    if (mark) {
      mark.setAttribute("visibility", cursor.at == null ? "hidden" : "visible");
      mark.setAttribute("x1", x(t[i])); mark.setAttribute("x2", x(t[i]));
    }
    setText(now, spec.stacked || lines.length > 1 ? (cursor.at == null ? "" : valueAt(i)) : cursor.at == null ? spec.format(last(lines[0] || [])) : valueAt(i));
  };

  function list() {
    if (!more.open) return;
    if (listed !== names.join()) { // made once, so that it keeps its place when it is scrolled
      listed = names.join();
      rows.replaceChildren(table([{ name: "Time" }, ...names.map(n => ({ name: n, number: true }))]));
    }
    rows.firstChild.update(t.map((at, i) => ({ key: at, cells: [clock(new Date(at)), ...lines.map(l => spec.format(l[i]))] })).reverse().slice(0, 100));
  }

  node.update = (times_, values, called) => {
    t = times_; lines = values;
    if (called) names = called;
    node.hidden = t.length < 2 || !lines.some(l => l.some(v => v != null));
    if (node.hidden) return;
    if (spec.stacked || lines.length > 1) legend.replaceChildren(...names.map((n, k) => h("span", {}, h("i", { class: `key c${k % 6}` }), `${n} ${spec.format(last(lines[k]))}`)));
    drawing.setAttribute("aria-label", `${spec.title}: ${names.map((n, k) => (names.length > 1 ? n + " " : "") + spec.format(last(lines[k]))).join(", ")}. The table below has all values.`);
    draw();
    list();
  };
  drawing.addEventListener("pointermove", e => {
    const box = drawing.getBoundingClientRect();
    const part = (e.clientX - box.left - left) / (box.width - left - right);
    moveCursor(t[0] + Math.min(1, Math.max(0, part)) * (t[t.length - 1] - t[0]));
  });
  drawing.addEventListener("pointerleave", () => moveCursor(null));
  new ResizeObserver(() => { if (!node.hidden && t.length > 1) draw(); }).observe(drawing);
  cursor.charts.add(node);
  return node;
}

// axis writes a value beside its line, shorter than in a table.
function axis(spec, v) {
  if (spec.axis) return spec.axis(v);
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) if (Math.abs(v) >= size) return fine.format(v / size) + " " + unit;
  return fine.format(v);
}

// sums are the upper edges of layers that lie on each other.
function sums(lines) {
  let below = null;
  return lines.map(line => below = line.map((v, i) => (v || 0) + (below ? below[i] : 0)));
}

// shape is a line with its area, or a layer of a stack. Where a value is missing the line has a gap.
function shape(values, below, k, t, x, y, stacked) {
  const point = i => `${x(t[i]).toFixed(1)},${y(values[i]).toFixed(1)}`;
  if (stacked) {
    const edge = values.map((_, i) => point(i));
    const back = values.map((_, i) => `${x(t[i]).toFixed(1)},${y(below ? below[i] : 0).toFixed(1)}`).reverse();
    return [svg("path", { class: `stack c${k % 6}`, d: `M${edge.join("L")}L${back.join("L")}Z` })];
  }
  const runs = [];
  values.forEach((v, i) => { if (v == null) runs.push([]); else { if (!runs.length) runs.push([]); runs[runs.length - 1].push(i); } });
  return runs.filter(r => r.length).flatMap(r => {
    const line = r.map(point).join("L");
    const flat = `L${x(t[r[r.length - 1]]).toFixed(1)},${y(0).toFixed(1)}L${x(t[r[0]]).toFixed(1)},${y(0).toFixed(1)}Z`;
    return [svg("path", { class: `area c${k % 6}`, d: `M${line}${flat}` }), svg("path", { class: `series c${k % 6}`, d: `M${line}` })];
  });
}

// charts is a grid of them.
function charts(...all) { return h("div", { class: "charts" }, ...all); }

// series keeps what was seen at each look, for numbers of which the other side keeps no history.
function series() {
  const s = { t: [], values: [] };
  s.add = (at, ...values) => {
    s.t.push(at);
    values.forEach((v, k) => (s.values[k] = s.values[k] || []).push(v));
    if (s.t.length > keep) { s.t.shift(); s.values.forEach(v => v.shift()); }
  };
  return s;
}

// facts are a few numbers with their names.
function facts(...names) {
  const values = names.map(() => h("dd", {}));
  const node = h("dl", { class: "facts" }, ...names.map((n, i) => h("div", {}, h("dt", {}, n), values[i])));
  node.update = texts => texts.forEach((text, i) => setText(values[i], text));
  return node;
}

// --- the other side

const path = p => `api/v1/applications/${encodeURIComponent(app)}/${p}`;
const withToken = p => token ? p + (p.includes("?") ? "&" : "?") + token.slice(1) : p;

// ask returns an answer and its text. Its error alone says that nobody answers: a fault of the page's own is a TypeError, as fetch's is.
async function ask(p, how) {
  try {
    const r = await fetch(withToken(path(p)), how);
    return [r, await r.text()];
  } catch (e) { throw new Error(e.name === "TimeoutError" ? `No answer for ${patience / 1000} s.` : "No answer: the engine has ended, or is being restarted."); }
}

async function get(p) {
  const [r, text] = await ask(p, { cache: "no-store", signal: AbortSignal.timeout(patience) });
  const is = r.headers.get("X-Cancha-Application");
  if (is && is !== app) location.reload(); // another engine answers under this address
  if (r.status === 404) return null;
  if (!r.ok) throw new Error(text);
  return JSON.parse(text);
}

async function post(p) {
  const [r, text] = await ask(p, { method: "POST", headers: { "X-Cancha-Page": csrf } });
  if (!r.ok) throw new Error(errorIn(text) || r.statusText);
  return JSON.parse(text);
}

// errorIn is the error that an answer tells of; a refusal is no JSON.
function errorIn(text) {
  try { return JSON.parse(text).error; } catch (e) { return text; }
}

// endButton asks twice: the second click within four seconds ends the query.
function endButton(id, verb, title) {
  const name = verb[0].toUpperCase() + verb.slice(1);
  const b = h("button", { type: "button", title, onclick: async () => {
    if (!b.classList.contains("sure")) {
      b.classList.add("sure"); b.textContent = `Really ${verb}?`;
      setTimeout(() => { if (!b.disabled) { b.classList.remove("sure"); b.textContent = name; } }, 4000);
      return;
    }
    b.disabled = true; b.textContent = "…";
    try {
      const { state } = await post(`streaming/queries/${id}/${verb}`);
      b.textContent = state === "ending" ? "Ending …" : verb === "stop" ? "Stopped" : "Drained";
    }
    catch (e) { b.disabled = false; b.classList.remove("sure"); b.textContent = name; say(e.message, true); }
    look();
  } }, name);
  return b;
}

const endButtons = q => h("span", { class: "actions" },
  q.can.stop ? endButton(q.id, "stop", "reads no more, gives out what is left, and ends") : null,
  q.can.drain ? endButton(q.id, "drain", "reads what there is, and ends") : null);

// --- tabs: each makes its elements once, and returns what is done at each look

function streamingTab() {
  const active = section("Active Streaming Queries", [{ name: "Name", text: true }, { name: "Status" }, { name: "" }, { name: "Start Time" }, { name: "Duration", number: true },
    { name: "Avg Input", number: true }, { name: "Input", number: true }, { name: "Busy", number: true }, { name: "Latest Batch", number: true }, { name: "Lag", number: true },
    { name: "Late Rows", number: true }, { name: "State", number: true }, { name: "Skew", number: true }], "No query runs. One that is started in a cell appears here by itself.");
  const completed = section("Completed Streaming Queries", [{ name: "Name", text: true }, { name: "Status" }, { name: "Start Time" }, { name: "Duration", number: true },
    { name: "Avg Input", number: true }, { name: "Records", number: true }, { name: "Rows Out", number: true }, { name: "Late Rows", number: true }, { name: "Error", long: true }]);
  const input = chart({ title: "Input Rate, all queries", format: rate }), lag = chart({ title: "Lag, all queries", format: count }), busy = chart({ title: "Busiest Query", format: share, axis: share });
  const all = series();
  main.append(charts(input, lag, busy), active, completed);
  return async () => {
    const list = await get("streaming/queries");
    const live = list.filter(q => q.state === "RUNNING"), ended = list.filter(q => q.state !== "RUNNING").reverse();
    active.update(live.map(q => ({ key: q.id, cells: [link(`#streaming/${q.id}`, q.name), chip(stateOf(q)), () => endButtons(q), clockOf(q.startTime), duration(q.duration), rate(q.avgInput),
      rate(q.inputRowsPerSecond), share(q.busy), count(q.latestBatchId), count(q.lag), count(q.totals.late), bytes(q.totals.bytes), times(q.skew)] })));
    completed.update(ended.map(q => ({ key: q.id, cells: [link(`#streaming/${q.id}`, q.name), chip(q.state), clockOf(q.startTime), duration(q.duration), rate(q.avgInput),
      count(q.totals.records), count(q.totals.rows), count(q.totals.late), q.exception || ""] })));
    const sum = of => live.reduce((s, q) => s + (of(q) || 0), 0);
    all.add(Date.now(), sum(q => q.inputRowsPerSecond), sum(q => q.lag), Math.max(0, ...live.map(q => q.busy || 0)));
    [input, lag, busy].forEach((c, k) => c.update(all.t, [all.values[k]]));
    if (!list.length) [input, lag, busy].forEach(c => c.hidden = true);
    return `${live.length} of ${list.length} queries run`;
  };
}

function queryTab(id) {
  const title = h("h2"), state = h("span"), buttons = h("span"), status = h("p", { class: "empty" }), notes = h("ul", { class: "notes" });
  const numbers = facts("Duration", "Records", "Rows Out", "Avg Input", "Lag", "Late Rows", "Bad Records", "Lost", "State", "Busy", "Skew");
  const perSecond = { format: rate };
  const drawn = [
    [chart({ title: "Input Rate", ...perSecond }), p => p.inputRowsPerSecond],
    [chart({ title: "Process Rate", ...perSecond }), p => p.still || p.batchDuration > 0 || p.processedRowsPerSecond > 0 ? p.processedRowsPerSecond : null],
    [chart({ title: "Input Rows", format: count }), p => p.numInputRows],
    [chart({ title: "Batch Duration", format: duration, axis: duration }), p => p.batchDuration],
    [chart({ title: "Scheduling Delay", format: duration, axis: duration }), p => p.schedulingDelay],
    [chart({ title: "Lag", format: count }), p => p.sources.reduce((s, x) => s + Number(x.metrics.lag || 0), 0)],
    [chart({ title: "Global Watermark Gap", format: seconds, axis: seconds }), p => p.watermarkGapSecs],
    [chart({ title: "Rows Out", format: count }), p => p.sink.numOutputRows],
    [chart({ title: "Aggregated Number Of Total State Rows", format: count }), stateSum("numRowsTotal")],
    [chart({ title: "Aggregated Number Of Updated State Rows", format: count }), stateSum("numRowsUpdated")],
    [chart({ title: "Aggregated State Memory Used In Bytes", format: bytes, axis: bytes }), stateSum("memoryUsedBytes")],
    [chart({ title: "Aggregated Number Of Rows Dropped By Watermark", format: count }), stateSum("numRowsDroppedByWatermark")],
  ];
  const operations = chart({ title: "Operation Duration", format: duration, axis: duration, stacked: true });
  const sources = section("Sources", [{ name: "Source", text: true }, { name: "Topic", text: true }, { name: "Partitions", number: true }, { name: "Records", number: true }, { name: "Rate", number: true },
    { name: "Lag", number: true }, { name: "Late", number: true }, { name: "Lost", number: true }, { name: "Skew", number: true }, { name: "Busiest", number: true }], "");
  const partitions = section("Partitions", [{ name: "Topic", text: true }, { name: "Partition", number: true }, { name: "Records" }, { name: "Rate", number: true }, { name: "Offset", number: true },
    { name: "Lag", number: true }, { name: "Late", number: true }, { name: "State Rows", number: true }, { name: "Watermark" }, { name: "" }], "");
  const batches = section("Last Batches", [{ name: "Batch", number: true }, { name: "Time" }, { name: "Input Rows", number: true }, { name: "Input Rate", number: true }, { name: "Process Rate", number: true },
    { name: "Batch Duration", number: true }, { name: "Rows Out", number: true }, { name: "Watermark" }], "");
  main.append(h("p", { class: "crumb" }, h("a", { href: "#streaming" }, "all queries"), " · ", h("a", { href: `#sql/${id}` }, "plan")), h("div", { class: "head" }, title, state, buttons), status, numbers, notes,
    charts(...drawn.slice(0, 4).map(d => d[0]), operations, ...drawn.slice(4).map(d => d[0])), sources, partitions, batches);
  let seen = [], shown = "";
  return async () => {
    const after = seen.length ? seen[seen.length - 1].batchId : -1;
    const q = await get(`streaming/queries/${id}?after=${after}`);
    if (!q) { status.textContent = "This query is not listed any more."; return ""; }
    seen = seen.concat(q.recentProgress).slice(-keep);
    setText(title, q.name);
    state.replaceChildren(chip(stateOf(q))());
    if (shown !== q.state) { shown = q.state; buttons.replaceChildren(endButtons(q)); }
    setText(status, q.status + (q.isBusy && !q.heldUp ? " · it has not answered for a moment: the numbers are older" : ""));
    numbers.update([duration(q.duration), count(q.totals.records), count(q.totals.rows), rate(q.avgInput), count(q.lag), count(q.totals.late), count(q.totals.bad), count(q.totals.lost), bytes(q.totals.bytes), share(q.busy), times(q.skew)]);
    const sentences = q.notes.map(n => h("li", {}, n));
    if (q.exception) sentences.unshift(h("li", { class: "error" }, q.exception));
    if (notes.textContent !== sentences.map(s => s.textContent).join("")) notes.replaceChildren(...sentences);
    const points = q.heldUp && seen.length ? seen.concat(still(q, seen[seen.length - 1])) : seen;
    const at = points.map(p => instant(p.timestamp).getTime());
    for (const [c, of] of drawn) c.update(at, [points.map(of)]);
    const kinds = [...new Set(points.flatMap(p => Object.keys(p.durationMs)))].filter(k => k !== "triggerExecution").sort();
    operations.update(at, kinds.map(k => points.map(p => p.durationMs[k] || 0)), kinds);
    sources.update(q.sources.map((s, i) => ({ key: i, cells: [s.description, s.topic, count(s.numPartitions), count(s.records), rate(s.recordsPerSecond), count(s.lag), count(s.late), count(s.lost), times(s.skew), count(s.busiestPartition)] })));
    const most = Math.max(1, ...q.partitions.map(p => p.records));
    partitions.update(q.partitions.map(p => ({ key: p.source + "\n" + p.topic + "\n" + p.partition, cells: [p.topic, count(p.partition), progress(p.records / most, count(p.records)), rate(p.recordsPerSecond), count(p.offset),
      count(p.lag), count(p.late), count(p.stateRows), when(p.watermark), p.idle ? "idle" : ""] })));
    batches.update(seen.slice(-15).reverse().map(p => ({ key: p.batchId, cells: [count(p.batchId), clockOf(p.timestamp), count(p.numInputRows), rate(p.inputRowsPerSecond), rate(p.processedRowsPerSecond),
      duration(p.batchDuration), count(p.sink.numOutputRows), when(p.eventTime.watermark)] })));
    return `${q.name}: ${q.status}`;
  };
}

// still are two points of a query that is held up, at its newest report's end and now: it reads and gives out nothing, and keeps what it has.
function still(q, newest) {
  const nothing = { still: true, numInputRows: 0, inputRowsPerSecond: 0, processedRowsPerSecond: 0, batchDuration: 0, schedulingDelay: null, watermarkGapSecs: null, durationMs: {}, sink: { numOutputRows: 0 } };
  const end = instant(q.lastReport).getTime();
  return [end, end + q.heldUp].map(at => ({ ...newest, ...nothing, timestamp: new Date(at).toISOString() }));
}

// stateSum adds a number up over the operators with memory; null for a query that has none.
function stateSum(name) { return p => p.stateOperators.length ? p.stateOperators.reduce((s, o) => s + o[name], 0) : null; }

function jobsTab() {
  const columns = [{ name: "Job Id", number: true }, { name: "Kind" }, { name: "Description", text: true }, { name: "Submitted" }, { name: "Duration", number: true }, { name: "Progress" }, { name: "Rows", number: true }, { name: "Bytes", number: true }, { name: "Error", long: true }];
  const sections = { RUNNING: section("Active Jobs", columns, "No fit, load or export runs."), SUCCEEDED: section("Completed Jobs", columns), FAILED: section("Failed Jobs", columns) };
  const line = timeline();
  main.append(line, ...Object.values(sections));
  return async () => {
    const list = await get("jobs");
    line.update(list);
    for (const [state, s] of Object.entries(sections)) s.update(list.filter(j => j.status === state).map(j => ({ key: j.jobId, cells: [count(j.jobId), j.jobGroup, j.name, clockOf(j.submissionTime), duration(j.duration),
      progress(j.numTasks ? j.numCompletedTasks / j.numTasks : 0, `${count(j.numCompletedTasks)} of ${j.numTasks ? count(j.numTasks) : "?"} ${j.unit}`), count(j.rows), bytes(j.bytes), j.error || ""] })));
    return `${list.filter(j => j.status === "RUNNING").length} of ${list.length} jobs run`;
  };
}

// timeline is Spark's Event Timeline: a bar for each of the newest jobs, from its start to its end.
function timeline() {
  const drawing = svg("svg", { role: "img", "aria-label": "When each job ran. The tables below have the same times." });
  const node = h("figure", { class: "chart timeline" }, h("figcaption", {}, h("b", {}, "Event Timeline")), drawing);
  node.update = list => {
    const jobs = list.slice(0, 12).reverse();
    node.hidden = !jobs.length;
    if (!jobs.length) return;
    const width = Math.max(drawing.clientWidth, 200), line = 24;
    const start = j => instant(j.submissionTime).getTime(), end = j => start(j) + Math.max(j.duration, 1);
    const from = Math.min(...jobs.map(start)), span = Math.max(...jobs.map(end)) - from;
    const x = at => 4 + (at - from) / span * (width - 8);
    drawing.setAttribute("viewBox", `0 0 ${width} ${jobs.length * line + 16}`);
    drawing.style.height = jobs.length * line + 16 + "px";
    drawing.replaceChildren(...jobs.flatMap((j, i) => {
      const wide = Math.max(3, x(end(j)) - x(start(j))), rightHalf = x(start(j)) > width / 2;
      return [svg("rect", { class: j.status, x: x(start(j)), y: i * line + 15, width: wide, height: 5, rx: 2 }),
        svg("text", { x: rightHalf ? x(end(j)) : x(start(j)), y: i * line + 11, "text-anchor": rightHalf ? "end" : "start" }, `${j.name} (${duration(j.duration)})`)];
    }), svg("text", { x: 4, y: jobs.length * line + 13 }, clock(new Date(from))), svg("text", { x: width - 4, y: jobs.length * line + 13, "text-anchor": "end" }, clock(new Date(from + span))));
  };
  return node;
}

function stagesTab() {
  const columns = [{ name: "Stage Id", number: true }, { name: "Description", text: true }, { name: "Submitted" }, { name: "Duration", number: true }, { name: "Tasks: Succeeded/Total" }, { name: "Input", number: true }, { name: "Input Records", number: true }, { name: "Output", number: true }, { name: "Failure Reason", long: true }];
  const sections = { ACTIVE: section("Active Stages", columns, "No stage runs."), COMPLETE: section("Completed Stages", columns), FAILED: section("Failed Stages", columns) };
  main.append(...Object.values(sections));
  return async () => {
    const list = await get("stages");
    for (const [state, s] of Object.entries(sections)) s.update(list.filter(x => x.status === state).map(x => ({ key: x.stageId, cells: [count(x.stageId), x.description, clockOf(x.submissionTime), duration(x.executorRunTime),
      progress(x.numTasks ? x.numCompleteTasks / x.numTasks : 0, `${count(x.numCompleteTasks)}/${x.numTasks ? count(x.numTasks) : "?"}`), bytes(x.inputBytes), count(x.inputRecords), bytes(x.outputBytes), x.failureReason || ""] })));
    return `${list.filter(x => x.status === "ACTIVE").length} of ${list.length} stages run`;
  };
}

function executorsTab() {
  const numbers = facts("Address", "Cores", "Memory", "GC Time", "Goroutines", "Processor Time", "Active", "Complete", "Failed");
  const processor = chart({ title: "Processor, in Cores", format: number }), memory = chart({ title: "Memory", format: bytes, axis: bytes, series: ["heap", "of Go", "resident"] });
  const goroutines = chart({ title: "Goroutines", format: count }), collector = chart({ title: "GC Time since the Look before", format: duration, axis: duration });
  const use = chart({ title: "GPU Utilization", format: share, axis: share }), gpuMemory = chart({ title: "GPU Memory", format: bytes, axis: bytes });
  const sessions = section("GPU Sessions", [{ name: "Id", number: true }, { name: "Device", text: true }, { name: "Status" }, { name: "Why No GPU", long: true }, { name: "Operations on CPU", number: true }, { name: "on GPU", number: true }, { name: "Time on CPU", number: true }, { name: "on GPU", number: true },
    { name: "Copied In", number: true }, { name: "Out", number: true }, { name: "Peak Memory", number: true }, { name: "Utilization", number: true }, { name: "Power", number: true }, { name: "Temperature", number: true }], "No GPU session has been opened.");
  const producers = section("Producers", [{ name: "Id", number: true }, { name: "Topic", text: true }, { name: "Status" }, { name: "Acknowledged", number: true }, { name: "Rate", number: true }, { name: "Waiting" }, { name: "Error", long: true }], "");
  main.append(numbers, charts(processor, memory, goroutines, collector, use, gpuMemory), sessions, producers);
  const all = series(), before = new Map();
  let cpu = null, gc = null;
  return async () => {
    const [e] = await get("executors");
    const m = e.machine, at = Date.now();
    numbers.update([e.hostPort, count(e.totalCores), bytes(m.residentBytes || m.totalBytes), duration(e.totalGCTime), count(m.goroutines), seconds(m.cpuSeconds), count(e.activeTasks), count(e.completedTasks), count(e.failedTasks)]);
    const cores = cpu ? (m.cpuSeconds - cpu.seconds) / ((at - cpu.at) / 1000) : null;
    cpu = { seconds: m.cpuSeconds, at };
    const collected = gc == null ? null : e.totalGCTime - gc;
    gc = e.totalGCTime;
    const live = e.gpuSessions.find(g => g.state === "RUNNING" && g.utilization != null);
    all.add(at, cores, m.heapBytes, m.totalBytes, m.residentBytes || null, m.goroutines, collected, live ? live.utilization : null, live ? live.memoryBytes : null);
    processor.update(all.t, [all.values[0]]); memory.update(all.t, all.values.slice(1, 4)); goroutines.update(all.t, [all.values[4]]); collector.update(all.t, [all.values[5]]);
    use.update(all.t, [all.values[6]]); gpuMemory.update(all.t, [all.values[7]]);
    sessions.update(e.gpuSessions.map(g => ({ key: g.id, cells: [count(g.id), g.name, chip(g.state), g.missing || "", count(g.operations[0]), count(g.operations[1]), seconds(g.seconds[0]), seconds(g.seconds[1]), bytes(g.bytesIn), bytes(g.bytesOut), bytes(g.peakMemory),
      share(g.utilization), g.powerWatts == null ? none : number(g.powerWatts) + " W", g.temperatureCelsius == null ? none : number(g.temperatureCelsius) + " °C"] })));
    producers.update(e.producers.map(p => {
      const last = before.get(p.id), speed = last && p.state === "RUNNING" ? (p.acknowledged - last.n) / ((at - last.at) / 1000) : null;
      before.set(p.id, { n: p.acknowledged, at });
      return { key: p.id, cells: [count(p.id), p.topic, chip(p.state), count(p.acknowledged), rate(speed), progress(p.capacity ? p.waiting / p.capacity : 0, count(p.waiting)), p.error || ""] };
    }));
    return `${count(m.goroutines)} goroutines, ${bytes(m.residentBytes || m.totalBytes)}`;
  };
}

function plansTab() {
  const list = section("Plans", [{ name: "Id", number: true }, { name: "Description", text: true }, { name: "Status" }, { name: "Submitted" }, { name: "Duration", number: true }, { name: "Steps", number: true }], "No query has run yet.");
  main.append(list);
  const state = { RUNNING: "RUNNING", COMPLETED: "SUCCEEDED", FAILED: "FAILED" };
  return async () => {
    const all = await get("sql");
    list.update(all.reverse().map(x => ({ key: x.id, cells: [count(x.id), link(`#sql/${x.id}`, x.description), chip(stateOf({ ...x, state: state[x.status] })), clockOf(x.submissionTime), duration(x.duration), count(x.nodes.length)] })));
    return `${all.length} plans`;
  };
}

function planTab(id) {
  const title = h("h2"), held = h("p", { class: "empty" }), tree = h("div", { class: "plan-tree" }), text = h("pre");
  main.append(h("p", { class: "crumb" }, h("a", { href: "#sql" }, "all plans"), " · ", h("a", { href: `#streaming/${id}` }, "statistics")), title, held, h("div", { class: "plan" }, tree), h("h2", {}, "As text"), text);
  let live = null, drawnAs = "";
  return async () => {
    const x = await get(`sql/${id}`);
    if (!x) { title.textContent = "This query is not listed any more."; return ""; }
    setText(title, x.description); setText(text, x.planDescription); setText(held, heldUp(x));
    if (!x.nodes.length) return `${x.description}: no answer yet`;
    const form = x.nodes.map(n => n.nodeName).join() + x.edges.map(e => `${e.fromId}-${e.toId}`).join();
    if (form !== drawnAs) { drawnAs = form; live = figure(x, tree); }
    live(x);
    return `${x.description}: ${x.heldUp || x.heldEpoch ? "held up" : x.status.toLowerCase()}`;
  };
}

// heldUp says of a plan that the query is held up or its numbers are old, or that there is none yet.
function heldUp(x) {
  if (!x.nodes.length) return "The query has not answered yet: it is held up, by its sink or by a function. Its plan appears when it does.";
  if (x.heldUp) return `The query is held up, by its sink or by a function: there has been no report for ${duration(x.heldUp)}.`;
  if (x.heldEpoch) return `The query is held up, by its sink or by its checkpoint: an epoch has been on its way for ${duration(x.heldEpoch)}.`;
  return x.isBusy ? "The query has not answered for a moment: the numbers are older." : "";
}

// figure draws a plan once, its sources at the top, and returns what writes the numbers in.
function figure(plan, into) {
  const boxes = new Map(), arrows = new Map();
  const box = n => {
    const metrics = h("p"), e = h("div", { class: "node " + n.kind }, h("b", {}, n.nodeName), " ", n.detail, metrics);
    boxes.set(n.nodeId, metrics);
    return e;
  };
  const arrow = e => { const span = h("span"), node = h("div", { class: "edge" }, span); arrows.set(`${e.fromId}-${e.toId}`, span); return node; };
  const node = id => plan.nodes.find(n => n.nodeId === id);
  const branch = id => {
    const inputs = plan.edges.filter(e => e.toId === id).map(e => h("div", { class: "branch" }, branch(e.fromId), arrow(e)));
    return h("div", { class: "branch" }, inputs.length ? h("div", { class: "inputs" }, ...inputs) : null, box(node(id)));
  };
  const end = plan.nodes.find(n => n.kind === "output");
  const sinks = plan.edges.filter(e => e.fromId === end.nodeId).map(e => h("div", { class: "branch" }, arrow(e), box(node(e.toId))));
  into.replaceChildren(branch(end.nodeId), sinks.length ? h("div", { class: "sinks" }, ...sinks) : "");
  return x => {
    for (const n of x.nodes) setText(boxes.get(n.nodeId), n.metrics.map(m => `${m.name}: ${m.name.includes("bytes") ? bytes(Number(m.value)) : count(Number(m.value))}`).join(" · "));
    for (const e of x.edges) setText(arrows.get(`${e.fromId}-${e.toId}`), e.rows < 0 ? "" : `${count(e.rows)} rows`);
  };
}

function environmentTab() {
  const settings = section("Settings", [{ name: "Name" }, { name: "Value", text: true }, { name: "From", text: true }], "Nothing is set.");
  const runtime = section("Runtime", [{ name: "Name" }, { name: "Value", text: true }], "");
  const system = section("System", [{ name: "Name" }, { name: "Value", text: true }], "");
  const modules = section("Modules", [{ name: "Path", text: true }, { name: "Version", text: true }]);
  main.append(settings, runtime, system, modules);
  const pairs = list => list.map(([k, v]) => ({ key: k, cells: [k, v] }));
  return async () => {
    const e = await get("environment");
    settings.update(e.sparkProperties.map(([k, v]) => ({ key: k, cells: [k, v, e.origins[k] || ""] })));
    runtime.update(pairs(Object.entries(e.runtime))); system.update(pairs(e.systemProperties)); modules.update(pairs(e.classpathEntries));
    return `${e.sparkProperties.length} settings`;
  };
}

// --- the loop

const tabs = { streaming: streamingTab, jobs: jobsTab, stages: stagesTab, executors: executorsTab, sql: plansTab, environment: environmentTab };
const pages = { streaming: queryTab, sql: planTab };
let current = null, looking = null;

function say(text, lost) {
  setText(stateLine, text);
  stateLine.classList.toggle("lost", !!lost);
}

// show makes the tab that the address names.
function show() {
  const [name, id] = location.hash.slice(1).split("/");
  const tab = tabs[name] ? name : "streaming";
  for (const a of document.querySelectorAll("nav a")) a.toggleAttribute("aria-current", a.hash === "#" + tab);
  for (const a of document.querySelectorAll("nav a[aria-current]")) a.setAttribute("aria-current", "page");
  main.replaceChildren();
  cursor.charts.clear(); cursor.at = null;
  current = /^\d+$/.test(id || "") && pages[tab] ? pages[tab](id) : tabs[tab]();
  look();
}

// look asks once; an answer that comes after the tab has changed is dropped. A tab has one look at a time: two would ask for the reports behind
// the same one, and add them twice.
async function look() {
  const mine = current;
  if (looking === mine) return;
  looking = mine;
  try {
    const text = await mine();
    if (mine === current) { say(text); main.classList.remove("lost"); }
  } catch (e) {
    if (mine === current) { say(e.message, true); main.classList.add("lost"); }
  }
  if (looking === mine) looking = null;
}

addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
show();
setInterval(() => { if (!document.hidden) look(); }, every); // nobody looks at a hidden page
