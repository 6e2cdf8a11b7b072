// Runs page.js with Node.js, in a document of just those parts that it uses: node page.mjs page.js. Exit 1 says what is wrong.
import assert from "node:assert/strict";
import fs from "node:fs";
import vm from "node:vm";

class Element {
  constructor(name) { Object.assign(this, { name, children: [], attributes: {}, listeners: {}, style: {}, dataset: {}, clientWidth: 300, own: "" }); }
  get textContent() { return this.own + this.children.map(c => typeof c === "string" ? c : c.textContent).join(""); }
  set textContent(text) { this.own = text; this.children = []; }
  get firstChild() { return this.children[0]; }
  get lastChild() { return this.children.at(-1); }
  get cells() { return this.children; }
  get classList() { const e = this; e.classes ??= new Set(); return { add: c => e.classes.add(c), remove: c => e.classes.delete(c), contains: c => e.classes.has(c), toggle: (c, on) => on ? e.classes.add(c) : e.classes.delete(c) }; }
  append(...all) { for (const c of all) { if (c instanceof Element) c.parent = this; this.children.push(c); } }
  replaceChildren(...all) { this.own = ""; this.children = []; this.append(...all); }
  insertBefore(c, before) { c.parent = this; const i = this.children.indexOf(before); this.children.splice(i < 0 ? this.children.length : i, 0, c); }
  remove() { this.parent.children.splice(this.parent.children.indexOf(this), 1); }
  setAttribute(k, v) { this.attributes[k] = v; }
  toggleAttribute(k, on) { if (on) this.attributes[k] = ""; else delete this.attributes[k]; }
  addEventListener(k, f) { this.listeners[k] = f; }
  find(is) { return is(this) ? this : this.children.reduce((found, c) => found || c.find?.(is), undefined); }
}

// load opens the page at a place. answers are what paths give: {path: value}; one that is missing is an answer that does not come.
function load(hash, answers) {
  const main = new Element("main"), state = new Element("p"), body = Object.assign(new Element("body"), { dataset: { app: "a", csrf: "c", token: "" } });
  const page = { main, state, asked: [], timers: [] };
  const fetch = async p => {
    page.asked.push(p.replace("api/v1/applications/a/", ""));
    const answer = await answers[page.asked.at(-1)];
    if (answer === undefined) throw new TypeError("Failed to fetch");
    return { ok: true, status: answer.status || 200, headers: new Map(), text: async () => JSON.stringify(answer) };
  };
  const document = { body, getElementById: id => id === "main" ? main : state, createElement: n => new Element(n), createElementNS: (_, n) => new Element(n), querySelectorAll: () => [], addEventListener() {} };
  vm.runInNewContext(fs.readFileSync(process.argv[2], "utf8"), {
    document, fetch, location: { hash }, addEventListener() {}, setTimeout: (f, ms) => setTimeout(f, ms).unref(), setInterval: f => page.timers.push(f), ResizeObserver: class { observe() {} }, AbortSignal, console,
  });
  return page;
}

// settled waits until all that can go on has.
const settled = () => new Promise(r => setTimeout(r, 20));

const plan = { id: 1, description: "orders", status: "RUNNING", planDescription: "read", heldUp: 0, heldEpoch: 0, isBusy: false,
  nodes: [{ nodeId: 0, nodeName: "read", kind: "source", detail: "", metrics: [] }, { nodeId: 1, nodeName: "output", kind: "output", detail: "", metrics: [] }], edges: [{ fromId: 0, toId: 1, rows: 5 }] };

const report = n => ({ batchId: n, timestamp: new Date(Date.UTC(2026, 2, 1, 15, 0, n)).toISOString(), numInputRows: 5, inputRowsPerSecond: 5, processedRowsPerSecond: 9, batchDuration: 3, durationMs: { addBatch: 3 },
  eventTime: {}, stateOperators: [], sources: [{ metrics: { lag: "2" } }], sink: { numOutputRows: 1 } });
const query = { id: 1, name: "orders", state: "RUNNING", status: "Processing new data", heldUp: 0, heldEpoch: 0, isBusy: false, can: { stop: true }, notes: [], sources: [], partitions: [], totals: {},
  lastReport: "2026-03-01T15:00:03.000GMT", recentProgress: [report(0), report(1), report(2)] };

// series is what a chart lists as a table when that is opened, the newest first.
function series(page, title) {
  const figure = page.main.find(e => e.name === "figure" && e.textContent.startsWith(title));
  const details = figure.find(e => e.name === "details");
  details.open = true;
  details.listeners.toggle();
  return details.find(e => e.name === "tbody").children.map(row => row.cells[1].textContent);
}

const tests = {
  async "a plan"() {
    const p = load("#sql/1", { "sql/1": plan });
    await settled();
    assert.equal(p.state.textContent, "orders: running");
    assert.match(p.main.textContent, /read.*5 rows.*output/);
  },
  async "a plan of a query that has not answered yet, and then does"() {
    const answers = { "sql/1": { ...plan, nodes: [], edges: [], isBusy: true } }, p = load("#sql/1", answers);
    await settled();
    assert.equal(p.state.textContent, "orders: no answer yet");
    assert.match(p.main.textContent, /has not answered yet: it is held up/);
    answers["sql/1"] = plan;
    p.timers[0]();
    await settled();
    assert.match(p.main.textContent, /5 rows/);
  },
  async "a plan of a query that is held up"() {
    const p = load("#sql/1", { "sql/1": { ...plan, heldUp: 12000 } });
    await settled();
    assert.equal(p.state.textContent, "orders: held up");
    assert.match(p.main.textContent, /held up, by its sink or by a function: there has been no report for 12 s/);
  },
  async "the list of plans"() {
    const p = load("#sql", { sql: [plan, { ...plan, id: 2, heldUp: 12000 }] });
    await settled();
    assert.match(p.main.textContent, /‖ held up.*● running/);
  },
  async "a fault of the page is no end of the engine"() {
    const p = load("#sql/1", { "sql/1": {} });
    await settled();
    assert.ok(p.state.textContent && !/engine/.test(p.state.textContent), p.state.textContent);
  },
  async "a query that is held up"() {
    const p = load("#streaming/1", { "streaming/queries/1?after=-1": { ...query, heldUp: 12000, status: "No report for 12s: held up" } });
    await settled();
    assert.equal(p.state.textContent, "orders: No report for 12s: held up");
    assert.match(p.main.textContent, /‖ held up/);
    assert.deepEqual(series(p, "Input Rate"), ["0 /s", "0 /s", "5 /s", "5 /s", "5 /s"]);
    assert.deepEqual(series(p, "Process Rate"), ["0 /s", "0 /s", "9 /s", "9 /s", "9 /s"]);
    assert.deepEqual(series(p, "Lag"), ["2", "2", "2", "2", "2"]);
  },
  async "a query whose epoch is held up"() {
    const p = load("#streaming/1", { "streaming/queries/1?after=-1": { ...query, heldEpoch: 12000, status: "An epoch has been on its way for 12s" } });
    await settled();
    assert.equal(p.state.textContent, "orders: An epoch has been on its way for 12s");
    assert.match(p.main.textContent, /‖ held up/);
    assert.deepEqual(series(p, "Input Rate"), ["5 /s", "5 /s", "5 /s"]);
  },
  async "plans of a query whose epoch is held up"() {
    const held = { ...plan, heldEpoch: 12000 }, p = load("#sql/1", { "sql/1": held }), all = load("#sql", { sql: [plan, { ...held, id: 2 }] });
    await settled();
    assert.equal(p.state.textContent, "orders: held up");
    assert.match(p.main.textContent, /held up, by its sink or by its checkpoint: an epoch has been on its way for 12 s/);
    assert.match(all.main.textContent, /‖ held up.*● running/);
  },
  async "an answer that takes longer than a look"() {
    let come;
    const answers = { "streaming/queries/1?after=-1": new Promise(r => come = () => r(query)), "streaming/queries/1?after=2": { ...query, recentProgress: [report(3)] } }, p = load("#streaming/1", answers);
    p.timers[0]();
    p.timers[0]();
    come();
    await settled();
    assert.deepEqual(p.asked, ["streaming/queries/1?after=-1"]);
    p.timers[0]();
    await settled();
    assert.equal(series(p, "Input Rows").length, 4);
  },
  async "a query that takes its time to end"() {
    const p = load("#streaming/1", { "streaming/queries/1?after=-1": query, "streaming/queries/1/stop": { status: 202, state: "ending" } });
    await settled();
    const button = p.main.find(e => e.name === "button");
    await button.listeners.click();
    await button.listeners.click();
    assert.equal(button.textContent, "Ending …");
  },
  async "an engine that has ended"() {
    const p = load("#sql/1", {});
    await settled();
    assert.match(p.state.textContent, /the engine has ended/);
  },
};

for (const [name, test] of Object.entries(tests)) {
  try { await test(); } catch (e) { console.log(`${name}: ${e.stack}`); process.exitCode = 1; }
}
