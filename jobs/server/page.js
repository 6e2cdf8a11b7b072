"use strict";
// The page's script: it asks for what its tab shows when something has happened, and every two seconds, and draws it. Whatever comes from outside (ids, types,
// errors) becomes text, never markup: elements are made by h, which knows no HTML.

const token = document.body.dataset.token;
const main = document.getElementById("main");
const stateLine = document.getElementById("state"); // numbers, which change all the time: no screen reader tells them
const notice = document.getElementById("notice"); // what went wrong, which it tells
const heading = document.title;
const every = 2000; // milliseconds between two looks where nothing happens
const soonest = 400; // and where much does
const patience = 10000; // milliseconds until a look is given up
const pageSize = 50;

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

// setText changes only what has changed, so that a selection in the text stays.
function setText(e, text) { if (e.textContent !== text) e.textContent = text; }

// --- numbers as people read them

const fine = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const known = f => v => v == null || Number.isNaN(v) ? "–" : f(v);
const count = known(v => plain.format(v));
const share = known(v => plain.format(100 * v) + " %");
const off = known(v => v >= 2 || v <= 0.5 ? fine.format(v) + " ×" : plain.format(100 * (v - 1)) + " %");
const seconds = known(s => {
  if (s < 0) return "-" + seconds(-s);
  for (const [limit, size, unit] of [[5e-7, 1, "s"], [9.995e-4, 1e-6, "µs"], [0.9995, 1e-3, "ms"], [120, 1, "s"], [7200, 60, "min"], [172800, 3600, "h"]]) if (s < limit) return fine.format(s < 5e-7 ? 0 : s / size) + " " + unit;
  return fine.format(s / 86400) + " days";
});
const bytes = known(v => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  for (; v >= 1000 && i < units.length - 1; i++) v /= 1000;
  return fine.format(v) + " " + units[i];
});
const two = n => String(n).padStart(2, "0");
// when is the time of a day, with the day where it is another than today.
const when = at => {
  if (!at) return "–";
  const t = new Date(1000 * at), clock = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  return t.toDateString() === new Date().toDateString() ? clock : `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock}`;
};

// --- tables

// table shows rows {key, cells}; a cell is a text, or {make, update}: an element that is made once for each key. A number stands to the right.
function table(columns, title) {
  const body = h("tbody");
  const kind = c => c.number ? "number" : c.long ? "text long" : c.text ? "text" : null;
  const head = h("tr", {}, ...columns.map(c => h("th", { scope: "col", class: c.number ? "number" : null }, c.name)));
  const node = h("div", { class: "wide", tabindex: "0", role: "group", "aria-label": title }, h("table", {}, h("thead", {}, head), body));
  const rows = new Map();
  node.update = list => {
    const wanted = new Set(list.map(r => r.key));
    for (const [key, tr] of rows) if (!wanted.has(key)) {
      if (tr.contains(document.activeElement)) node.focus();
      tr.remove();
      rows.delete(key);
    }
    list.forEach((row, n) => {
      let tr = rows.get(row.key);
      if (!tr) rows.set(row.key, tr = h("tr", {}, ...row.cells.map((c, i) => h("td", { class: kind(columns[i]), "data-name": columns[i].name }, typeof c === "string" ? c : c.make()))));
      row.cells.forEach((c, i) => { if (typeof c === "string") setText(tr.children[i], c); else if (c.update) c.update(tr.children[i].firstChild); });
      if (body.children[n] !== tr) body.insertBefore(tr, body.children[n] || null);
    });
  };
  return node;
}

// section is a heading with a count, and a table below it, which is away while it is empty. Where the heading would repeat the tab's, it is for who hears the page.
function section(title, columns, emptyText, heard) {
  const n = h("span", { class: "count" }), t = table(columns, title), empty = h("p", { class: "empty" }, emptyText);
  const node = h("section", {}, h("h2", { class: heard ? "heard" : null }, title + " ", n), empty, t);
  node.update = rows => {
    setText(n, `(${rows.length})`);
    t.hidden = rows.length === 0;
    empty.hidden = rows.length > 0;
    t.update(rows);
  };
  return node;
}

const signs = { queued: "◌", assigned: "◔", running: "●", completed: "✓", failed: "✗", dead: "✗", cancelled: "–", ready: "●", starting: "◌", stuck: "✗", draining: "◌", silent: "✗" };
function chip(state) {
  const update = e => { e.className = "chip " + state; setText(e, `${signs[state] || ""} ${state}`); };
  return { make: () => { const e = h("span"); update(e); return e; }, update };
}

// gauge is a bar with its text beside it.
function gauge(part, text, kind) {
  const update = e => {
    e.className = kind || "";
    e.firstChild.hidden = part == null;
    fill(e.firstChild, part || 0);
    setText(e.lastChild, text);
  };
  return { make: () => { const e = h("span", {}, bar(), h("span")); update(e); return e; }, update };
}

const link = (href, text) => ({ make: () => h("a", { href }, text) });
const jobLink = id => link("#job/" + encodeURIComponent(id), id);

// facts are a few numbers with their names.
function facts(...names) {
  const values = names.map(() => h("dd", {}));
  const node = h("dl", { class: "facts" }, ...names.map((n, i) => h("div", {}, h("dt", {}, n), values[i])));
  node.update = texts => texts.forEach((text, i) => setText(values[i], text));
  return node;
}

// --- the other side

const withToken = p => token ? p + (p.includes("?") ? "&" : "?") + token.slice(1) : p;

// ask returns what is answered; null: there is no such thing. Its error says why there is no answer.
async function ask(p, how, read = JSON.parse) {
  let r, text;
  try {
    r = await fetch(withToken(p), { cache: "no-store", signal: AbortSignal.timeout(patience), ...how });
    text = await r.text();
  } catch (e) { throw new Error(e.name === "TimeoutError" ? `No answer for ${patience / 1000} s.` : "No answer: the scheduler has ended, or is being restarted."); }
  if (r.status === 404 && !how) return null;
  let answer;
  try { answer = read(text); } catch { throw new Error(`What came is no JSON: ${text.slice(0, 200) || r.statusText}`); }
  if (!r.ok) throw new Error(answer.error || r.statusText);
  return answer;
}

// jobPath is a job's address. Browsers take parts of one or two dots out of addresses: what another program has put into job_queue may have such an id.
function jobPath(id, more = "") {
  if (/^\.{0,2}$/.test(id)) throw new Error(`No address can have the id "${id}": ask with cancha job show, or cancha job cancel.`);
  return "jobs/" + encodeURIComponent(id) + more;
}

const post = p => ask(p, { method: "POST", headers: { "Content-Type": "application/json" } });

// say shows what went wrong for a while at the top.
let said = 0;
function say(text) { said = Date.now() + 6000; setText(notice, text); }

// changeButton asks twice where something is lost: the second click within four seconds does it. It keeps the focus meanwhile, which a disabled one would lose.
function changeButton(id, verb) {
  const name = verb[0].toUpperCase() + verb.slice(1);
  let busy = false;
  const b = h("button", { type: "button", onclick: async () => {
    if (busy) return;
    if (verb === "cancel" && !b.classList.contains("sure")) {
      b.classList.add("sure"); call("Really cancel?");
      setTimeout(() => { if (!busy) { b.classList.remove("sure"); call(name); } }, 4000);
      return;
    }
    busy = true; call("…");
    try { await post(jobPath(id, "/" + verb)); } catch (e) { say(e.message); }
    busy = false; b.classList.remove("sure"); call(name);
    look();
  } });
  const call = text => { b.textContent = text; b.setAttribute("aria-label", `${text} Job ${id}`); };
  call(name);
  return b;
}

// changeButtons are those of what can be done with a job now.
function changeButtons(j) {
  const can = (j.can || []).join();
  const update = e => {
    if (e.dataset.can === can) return;
    const focused = e.contains(document.activeElement);
    e.dataset.can = can;
    e.replaceChildren(...(j.can || []).map(verb => changeButton(j.job_id, verb)));
    if (focused) (e.firstChild || main).focus();
  };
  return { make: () => { const e = h("span"); update(e); return e; }, update };
}

// --- what a job tells

// titled is a job's id with its type below.
const titled = j => ({ make: () => h("span", {}, jobLink(j.job_id).make(), h("small", {}, j.job_type)) });

// place is where it runs, or ran.
const place = j => j.worker_id ? `${j.worker_id}${j.worker_type ? ` (${j.worker_type})` : ""}` : j.worker_type ? `any ${j.worker_type}` : j.device_ordered ? `orders ${j.device_ordered}` : "–";

// why is the reason, or the error of one that did not complete.
const why = j => [j.error && j.state !== "completed" ? j.error : null, j.reason].filter(s => s).join(" · ");

// way is how far it is.
function way(j) {
  if (j.state === "running") {
    const text = [j.progress ? share(j.progress) : seconds(Date.now() / 1000 - j.started_at), j.eta ? `ends in ${seconds(j.eta)}` : null, j.doing].filter(s => s).join(" · ");
    return gauge(j.progress || null, text, j.worker_type);
  }
  if (j.state === "completed") return gauge(null, seconds(j.execution_time));
  return gauge(null, j.attempts > 1 || j.state === "dead" ? `attempt ${j.attempts} of ${j.max_attempts}` : "");
}

// predicted are the seconds by device.
const predicted = j => Object.entries(j.predicted || {}).map(([d, s]) => `${d} ${seconds(s)}`).join(", ") || "–";

// --- tabs: each makes its elements once, and returns what is done at each look

// overview is the row of numbers above jobs and workers.
function overview() {
  const node = h("div"), trouble = h("p", { class: "trouble", role: "alert", hidden: true });
  const numbers = facts("Queued", "Assigned", "Running", "Completed", "Failed", "Dead", "Cancelled", "Waits for CPU", "Waits for GPU", "Executed twice");
  node.append(trouble, numbers);
  node.update = s => {
    const unserved = n => `${count(n)} ${n === 1 ? "job that no worker" : "jobs that no worker"} here can run`;
    const demand = d => {
      const { jobs, seconds: time, unserved: none } = s.demand[d];
      if (!jobs) return "nothing";
      return [none < jobs || time > 0 ? seconds(time) : "", none ? unserved(none) : ""].filter(part => part).join(", ");
    };
    numbers.update([...["queued", "assigned", "running"].map(k => count(s.open[k] || 0)), ...["completed", "failed", "dead", "cancelled"].map(k => count(s.events[k] || 0)), demand("cpu"), demand("gpu"), count(s.counted["executed twice"] || 0)]);
    trouble.hidden = !s.trouble;
    setText(trouble, s.trouble ? "Nothing goes on at the moment: " + s.trouble : "");
  };
  return node;
}

const filter = { state: "", type: "", worker: "", skip: 0 }; // stays while a job is looked at

function jobsTab() {
  const top = overview();
  const choose = (name, e) => { filter[name] = e.target.value.trim(); filter.skip = 0; look(); };
  const states = h("select", { onchange: e => choose("state", e) }, ...[["", "all"], ["queued,assigned,running", "not ended"], ...["queued", "assigned", "running", "completed", "failed", "dead", "cancelled"].map(s => [s, s])].map(([value, text]) => h("option", { value, selected: value === filter.state }, text)));
  const form = h("form", { "aria-label": "Which jobs", onsubmit: e => e.preventDefault() }, h("label", {}, "State", states),
    h("label", {}, "Type", h("input", { type: "search", value: filter.type, onchange: e => choose("type", e) })), h("label", {}, "Worker", h("input", { type: "search", value: filter.worker, onchange: e => choose("worker", e) })));
  const list = section("Jobs", [{ name: "Job", text: true }, { name: "State" }, { name: "Progress", text: true }, { name: "Where", text: true }, { name: "Why", long: true }, { name: "Priority", number: true }, { name: "Submitted" }, { name: "" }],
    "", true);
  const empty = list.children[1];
  const shown = h("span"), turn = by => () => { filter.skip = Math.max(0, filter.skip + by); look(); };
  const newer = h("button", { type: "button", onclick: turn(-pageSize) }, "Newer"), older = h("button", { type: "button", onclick: turn(pageSize) }, "Older");
  const pages = h("div", { class: "pages", hidden: true }, newer, older, shown);
  main.append(top, form, list, pages);
  return async () => {
    const q = new URLSearchParams({ limit: pageSize });
    for (const [k, v] of Object.entries(filter)) if (v) q.set(k, v);
    const asked = ask("stats");
    asked.catch(() => {}); // it is awaited below, where jobs come first: of very many, what waits takes seconds to be added up
    const all = await ask("jobs?" + q);
    list.update(all.jobs.map(j => ({ key: j.job_id, cells: [titled(j), chip(j.state), way(j), place(j), why(j), j.priority ? count(j.priority) : "", when(j.submitted_at), changeButtons(j)] })));
    setText(empty, filter.skip ? "There are no more." : filter.state || filter.type || filter.worker ? "None is as asked for above." : "There are none. What any program puts into job_queue appears here by itself.");
    newer.disabled = filter.skip === 0;
    older.disabled = !all.more;
    pages.hidden = newer.disabled && older.disabled;
    setText(shown, all.jobs.length ? `${filter.skip + 1} to ${filter.skip + all.jobs.length}, the newest first` : "");
    const stats = await asked;
    top.update(stats);
    return `${count(stats.open.running || 0)} running, ${count(stats.open.queued || 0)} queued`;
  };
}

// exact is for JSON.parse: a number that is written otherwise here, as one of more than 16 digits, stays as it came, where the browser can.
const exact = (_, v, at) => typeof v === "number" && at && JSON.rawJSON && String(v) !== at.source ? JSON.rawJSON(at.source) : v;

// readJob reads a job, whose parameters, result and other fields are others' numbers.
function readJob(text) {
  const j = JSON.parse(text), others = JSON.parse(text, exact);
  for (const name of ["parameters", "result", "unknown"]) j[name] = others[name];
  return j;
}

const mostShown = 50000; // characters of a value: what is longer has to be laid out again at each change of the page

// pretty is a value as people read it: a list of numbers is one line. No text in JSON has a line's end, so what begins a line is structure.
function pretty(v) {
  const text = JSON.stringify(v, null, 1).replace(/\[\n\s*([^[\]{}]*?)\s*\n\s*\]/g, (_, list) => "[" + list.replace(/\n\s*/g, " ") + "]");
  return text.length > mostShown ? `${text.slice(0, mostShown)} …\n${count(text.length - mostShown)} more characters: they are in the JSON of this job.` : text;
}

function jobTab(id) {
  const title = h("h2"), state = h("span"), buttons = h("span"), numbers = h("div"), reason = h("p"), error = h("p", { class: "trouble", hidden: true });
  const json = h("a", { href: withToken("jobs/" + encodeURIComponent(id)), hidden: true }, "this one as JSON");
  const texts = ["Parameters", "Result", "Other fields"].map(name => ({ node: h("section", { hidden: true }, h("h2", {}, name), h("pre", { tabindex: "0" })), name }));
  main.append(h("p", { class: "crumb" }, h("a", { href: "#jobs" }, "all jobs"), json), h("div", { class: "head" }, title, state, buttons), reason, error, numbers, ...texts.map(t => t.node));
  let row = null, names = "";
  return async () => {
    const j = await ask(jobPath(id), undefined, readJob);
    setText(title, j ? `${j.job_type} ${j.job_id}` : `There is no job ${id}; its time may be over.`);
    for (const e of [state, buttons, reason, error, numbers, json, ...texts.map(t => t.node)]) e.hidden = !j;
    if (!j) return "";
    if (!state.firstChild) state.append(chip(j.state).make());
    chip(j.state).update(state.firstChild);
    if (!buttons.firstChild) buttons.append(changeButtons(j).make());
    changeButtons(j).update(buttons.firstChild);
    setText(reason, j.reason || "");
    error.hidden = !j.error || j.state === "completed";
    setText(error, j.error || "");
    const all = [["Where", place(j)], ["Device", j.device], ["Predicted", predicted(j)], ["Ran", j.execution_time && seconds(j.execution_time)], ["Progress", j.progress && j.state === "running" && share(j.progress)], ["Ends in", j.eta && seconds(j.eta)], ["Doing", j.state === "running" && j.doing],
      ["Waited", j.started_at && seconds(j.queue_time)], ["Attempts", `${j.attempts} of ${j.max_attempts}`], ["Priority", count(j.priority)], ["Submitted", when(j.submitted_at)], ["Started", j.started_at && when(j.started_at)], ["Ended", j.completed_at && when(j.completed_at)],
      ["Not before", (j.again_at || j.not_before) && !j.status && when(Math.max(j.again_at || 0, j.not_before || 0))], ["Deadline", j.deadline && when(j.deadline)], ["Timeout", j.timeout && seconds(j.timeout)], ["Key", j.key], ["Same as", j.same_as], ["After", j.after && j.after.join(", ")], ["Result goes to", j.reply_to]].filter(f => f[1]);
    if (names !== all.map(f => f[0]).join()) { names = all.map(f => f[0]).join(); row = facts(...all.map(f => f[0])); numbers.replaceChildren(row); }
    row.update(all.map(f => f[1]));
    [j.parameters, j.result, j.unknown].forEach((v, i) => {
      texts[i].node.hidden = v === undefined;
      if (v !== undefined) setText(texts[i].node.lastChild, pretty(v));
    });
    return `${j.job_id}: ${j.state}`;
  };
}

function workersTab() {
  const top = overview(), cards = h("div", { class: "cards" }), empty = h("p", { class: "empty" }, "Nobody works. A worker that is started (cancha worker) appears here by itself.");
  main.append(top, empty, cards);
  return async () => {
    const [{ workers }, stats] = await Promise.all([ask("workers"), ask("stats")]);
    top.update(stats);
    empty.hidden = workers.length > 0;
    keyed(cards, workers.map(w => ({ key: w.worker_id, ...workerCard(w) })));
    return workers.length === 1 ? "1 worker" : `${count(workers.length)} workers`;
  };
}

// keyed has a node's children be those of a list of {key, make, update}, each made once: what has the focus, or is selected, stays.
function keyed(node, list) {
  const there = new Map([...node.children].map(e => [e.dataset.key, e]));
  list.forEach(({ key, make, update }, n) => {
    const e = there.get(key) || make();
    there.delete(key);
    e.dataset.key = key;
    update(e);
    if (node.children[n] !== e) node.insertBefore(e, node.children[n] || null);
  });
  for (const e of there.values()) e.remove();
}

function workerCard(w) {
  const about = [w.device, w.host, w.memory && bytes(w.memory) + " of memory", w.job_types ? `runs ${w.job_types.join(", ")}` : "runs any type"].filter(s => s).join(" · ");
  const stuck = w.stuck || [];
  const lost = stuck.map(r => `job ${r.job}, attempt ${r.attempt}, for ${seconds(r.elapsed)}`).join("; ");
  const heard = w.silent > 5 ? `nothing heard for ${seconds(w.silent)}` : lost ? `${stuck.length} of ${w.slots} slots lost, to what does not end: ${lost}`
    : w.ready_in ? `starts in ${seconds(w.ready_in)}` : "";
  return {
    make: () => h("article", {}, h("h3", {}, h("span", {}, w.worker_id), chip(w.state).make()), h("p"), h("p"), h("p"), bar(), h("ul")),
    update: e => {
      const [title, what, silent, slots, used, list] = e.children;
      e.className = "card " + w.worker_type;
      chip(w.state).update(title.lastChild);
      setText(what, about);
      silent.hidden = !heard;
      silent.className = w.silent > 5 ? "silent" : lost ? "stuck" : "";
      setText(silent, heard);
      setText(slots, `${w.worker_type}: ${w.running.length} of ${w.slots} slots in use`);
      fill(used, (w.running.length + stuck.length) / w.slots);
      list.hidden = w.running.length === 0;
      keyed(list, w.running.map(run));
    },
  };
}

// run is what a worker does.
const run = r => ({
  key: r.job + "\n" + r.attempt,
  make: () => h("li", {}, h("div", {}, jobLink(r.job).make(), h("span")), bar(), h("p")),
  update: e => {
    const [line, part, doing] = e.children;
    setText(line.lastChild, [r.progress ? share(r.progress) : null, seconds(r.elapsed)].filter(s => s).join(" · "));
    part.hidden = !r.progress;
    fill(part, r.progress || 0);
    doing.hidden = !r.doing;
    setText(doing, r.doing || "");
  },
});

// bar is a gauge without words: they stand beside it.
const bar = () => h("span", { class: "bar", "aria-hidden": "true" }, h("span"));
function fill(e, part) { e.firstChild.style.width = Math.round(100 * Math.min(1, part)) + "%"; }

function queuesTab() {
  const list = section("Queues", [{ name: "Queue" }, { name: "What for", text: true }, { name: "Ready", number: true }, { name: "In hand", number: true }, { name: "Delayed", number: true }, { name: "Consumers", number: true }, { name: "", text: true }], "");
  main.append(list);
  return async () => {
    const { queues } = await ask("queues");
    list.update(queues.map(q => ({ key: q.name, cells: [q.name, q.what, count(q.ready), count(q.in_hand), count(q.delayed), count(q.consumers), q.error || ""] })));
    return `${count(queues.reduce((s, q) => s + (q.ready || 0), 0))} messages wait`;
  };
}

function typesTab() {
  const list = section("By type and device, since the scheduler began", [{ name: "Type", text: true }, { name: "Device" }, { name: "Completed", number: true }, { name: "Failed", number: true }, { name: "Dead", number: true }, { name: "Cancelled", number: true },
    { name: "Mean wait", number: true }, { name: "Mean run", number: true }, { name: "Predictions off by", number: true }, { name: "Longer than predicted", number: true }], "Nothing has ended yet.");
  main.append(list);
  return async () => {
    const s = await ask("stats");
    list.update(s.kinds.map(k => ({ key: k.job_type + "\n" + k.worker_type, cells: [k.job_type, k.worker_type || "none", ...["completed", "failed", "dead", "cancelled"].map(state => count(k.ended[state] || 0)), seconds(k.mean_wait), seconds(k.mean_run), off(k.prediction_factor), off(k.prediction_bias)] })));
    return `${count(s.kinds.length)} kinds`;
  };
}

// heard are the newest events; a stream brings them whichever tab is shown, and goes on behind the last one when it was cut off.
const heard = [], mostHeard = 200;

function eventsTab() {
  const list = section("Events", [{ name: "Time" }, { name: "Job", text: true }, { name: "Type", text: true }, { name: "State" }, { name: "Worker", text: true }, { name: "Why", long: true }], "Nothing has happened yet.");
  main.append(list);
  return async () => {
    list.update(heard.map(e => ({ key: e.number, cells: [when(e.at), jobLink(e.job_id), e.job_type, chip(e.state), e.worker_id || "–", e.text || ""] })));
    return `${count(heard.length)} events`;
  };
}

let stream = null, latest = 0;

// listen opens the stream, behind the event that came last. A browser opens six connections to one origin: a page that nobody sees takes none of them for its
// stream, or the seventh page would wait for ever.
function listen() {
  if (stream || document.hidden) return;
  const s = stream = new EventSource(withToken("events?after=" + (latest || -50)));
  s.onmessage = m => {
    const e = JSON.parse(m.data);
    if (e.number <= latest) heard.length = 0; // they begin anew: it is another store
    latest = e.number;
    heard.unshift(e);
    heard.length = Math.min(heard.length, mostHeard);
    soon();
  };
  s.onerror = () => { if (s.readyState === 2 && s === stream) { stream = null; setTimeout(listen, refused); } }; // it was refused, and tries no more by itself
}

const refused = 5000; // milliseconds until a stream that was refused is asked for again

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) { listen(); look(); } else if (stream) { stream.close(); stream = null; }
});

// --- looks

const tabs = { jobs: jobsTab, job: jobTab, workers: workersTab, queues: queuesTab, types: typesTab, events: eventsTab };
let tab = null, shown = "", looking = false, again = false, waiting = null, last = 0, took = 0;

// show makes the tab that the address names.
function show() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  const is = tabs[name] ? name : "jobs";
  let id = rest.join("/");
  try { id = decodeURIComponent(id); } catch { /* typed by hand: as it is */ }
  for (const a of document.querySelectorAll("nav a")) {
    const here = a.getAttribute("href") === "#" + (is === "job" ? "jobs" : is);
    if (here) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  document.title = `${is === "job" ? id : is[0].toUpperCase() + is.slice(1)} – ${heading}`;
  main.replaceChildren();
  shown = location.hash;
  tab = tabs[is](id);
  look();
}

// look asks and draws once; one that somebody wants while another is under way is made after it.
async function look() {
  if (looking) { again = true; return; }
  looking = true;
  last = Date.now();
  const of = tab;
  try {
    const line = await of();
    if (of === tab) setText(stateLine, line || "");
    if (Date.now() > said) setText(notice, "");
    main.classList.remove("lost");
  } catch (e) {
    main.classList.add("lost");
    setText(stateLine, "");
    setText(notice, e.message);
    if (e instanceof TypeError || e instanceof ReferenceError) console.error(e); // a fault of the page's own
  }
  looking = false;
  took = main.classList.contains("lost") ? 0 : Date.now() - last;
  if (again || of !== tab) { again = false; look(); }
}

// pause is until when the page leaves the scheduler alone: four times as long as an answer took, which with a filter may have had to look at very many jobs.
const pause = least => last + Math.max(least, Math.min(5 * took, 20000));

// soon looks when the last look is a moment ago.
function soon() {
  if (!waiting) waiting = setTimeout(() => { waiting = null; if (looking) soon(); else look(); }, Math.max(0, pause(soonest) - Date.now()));
}

addEventListener("hashchange", () => {
  if (location.hash === shown) return;
  show();
  scrollTo(0, 0);
  if (document.activeElement === document.body) main.focus(); // the link that was followed is gone
});
setInterval(() => { if (!looking && !document.hidden && Date.now() >= pause(every)) look(); }, every / 4);
listen();
show();
