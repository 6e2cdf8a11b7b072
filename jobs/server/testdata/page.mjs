// Runs page.js with Node.js, in a document of just those parts that it uses: node page.mjs page.js. Exit 1 says what is wrong.
import assert from "node:assert/strict";
import fs from "node:fs";
import vm from "node:vm";

class Element {
  constructor(name) { Object.assign(this, { name, children: [], attributes: {}, listeners: {}, style: {}, dataset: {}, own: "", classes: new Set() }); }
  get textContent() { return this.own + this.children.map(c => typeof c === "string" ? c : c.textContent).join(""); }
  set textContent(text) { this.own = text; this.children = []; }
  get firstChild() { return this.children[0]; }
  get lastChild() { return this.children.at(-1); }
  get classList() { return { add: c => this.classes.add(c), remove: c => this.classes.delete(c), contains: c => this.classes.has(c) }; }
  append(...all) { for (const c of all) { if (c instanceof Element) c.parent = this; this.children.push(c); } }
  replaceChildren(...all) { this.own = ""; this.children = []; this.append(...all); }
  insertBefore(c, before) {
    if (this.children.includes(c)) c.remove();
    c.parent = this;
    const i = this.children.indexOf(before);
    this.children.splice(i < 0 ? this.children.length : i, 0, c);
  }
  remove() { this.parent.children.splice(this.parent.children.indexOf(this), 1); }
  setAttribute(k, v) { this.attributes[k] = v; }
  contains(e) { return this === e || this.children.some(c => c instanceof Element && c.contains(e)); }
  focus() { Element.focused = this; }
  addEventListener(k, f) { this.listeners[k] = f; }
  all(is) { return [...(is(this) ? [this] : []), ...this.children.flatMap(c => c instanceof Element ? c.all(is) : [])]; }
}

// load opens the page at a place. answers are what paths give: {path: value}; {status, ...} is an error; one that is missing is an answer that does not come.
function load(hash, answers) {
  const main = new Element("main"), state = new Element("p"), notice = new Element("p"), body = Object.assign(new Element("body"), { dataset: { token: "?token=a%2Bb" } });
  const page = { main, state, notice, asked: [], streams: [], looks: [] };
  const fetch = async (p, how) => {
    assert.match(p, /[?&]token=a%2Bb$/);
    const path = (how.method === "POST" ? "POST " : "") + p.replace(/[?&]token=a%2Bb$/, "");
    page.asked.push(path);
    const answer = answers[path];
    if (answer === undefined) throw new TypeError("Failed to fetch");
    return { ok: !answer.status, status: answer.status || 200, text: async () => typeof answer === "string" ? answer : JSON.stringify(answer) };
  };
  const document = page.document = { body, title: "Cancha jobs", hidden: false, activeElement: body, getElementById: id => ({ main, state, notice })[id], createElement: n => new Element(n), querySelectorAll: () => [], addEventListener: (k, f) => { page[k] = f; } };
  class EventSource { constructor(p) { this.path = p; this.readyState = 1; page.streams.push(this); } close() { this.readyState = 2; } }
  vm.runInNewContext(fs.readFileSync(process.argv[2], "utf8"), { document, fetch, location: { hash }, addEventListener() {}, setTimeout: (f, ms) => setTimeout(f, Math.min(ms, 1)).unref(), setInterval: f => page.looks.push(f),
    EventSource, URLSearchParams, AbortSignal, console });
  return page;
}

// settled waits until all that can go on has.
const settled = () => new Promise(r => setTimeout(r, 25));

const named = name => e => e.name === name;
const rows = page => page.main.all(named("tbody"))[0].children.map(tr => tr.children.map(td => td.textContent));
const stats = { open: { running: 1, queued: 1 }, events: { completed: 5 }, counted: { "executed twice": 2 }, demand: { cpu: { jobs: 3, seconds: 90.4, unserved: 0 }, gpu: { jobs: 0, seconds: 0, unserved: 0 } }, kinds: [] };
const hostile = "<img src=x>/é";
const running = { job_id: hostile, job_type: "t", state: "running", progress: 0.25, eta: 30, doing: "epoch 1", reason: "cpu: 12 ms predicted", worker_id: "w", worker_type: "cpu", attempts: 1, max_attempts: 3, priority: 9, submitted_at: 1e9, started_at: 1e9, can: ["cancel"] };
const dead = { job_id: "d", job_type: "t", state: "dead", error: "no", reason: "cpu", attempts: 3, max_attempts: 3, priority: 0, submitted_at: 1e9, can: ["replay"] };

{ // what comes from outside is text; a row has what there is to know
  const answers = { "jobs?limit=50": { jobs: [running, dead], more: false }, stats };
  const page = load("", answers);
  await settled();
  const [first, second] = rows(page);
  assert.equal(page.streams[0].path, "events?after=-50&token=a%2Bb");
  assert.equal(first[0], hostile + "t");
  assert.equal(first[2], "25 % · ends in 30 s · epoch 1");
  assert.deepEqual(first.slice(3, 6), ["w (cpu)", "cpu: 12 ms predicted", "9"]);
  assert.deepEqual([second[2], second[4], second[5], second[7]], ["attempt 3 of 3", "no · cpu", "", "Replay"]);
  assert.equal(page.main.all(named("img")).length, 0);
  assert.equal(page.state.textContent, "1 running, 1 queued");
  assert.match(page.main.textContent, /Waits for CPU90.4 sWaits for GPUnothingExecuted twice2/);

  // to cancel takes two clicks, and the path has the whole id; to replay takes one
  const [cancel, replay] = page.main.all(e => e.name === "button" && /^(Cancel|Replay)$/.test(e.textContent));
  const path = `POST jobs/${encodeURIComponent(hostile)}/cancel`;
  await cancel.listeners.click();
  assert.equal(cancel.textContent, "Really cancel?");
  assert.ok(!page.asked.includes(path));
  answers[path] = { ...running, state: "cancelled", can: undefined };
  answers["jobs?limit=50"] = { jobs: [dead, { ...running, state: "cancelled", can: undefined }], more: false };
  await cancel.listeners.click();
  assert.ok(page.asked.includes(path));
  await settled();
  assert.deepEqual(rows(page).map(r => [r[0], r[1], r[7]]), [["dt", "✗ dead", "Replay"], [hostile + "t", "– cancelled", ""]]);
  answers["POST jobs/d/replay"] = { status: 409, error: "another one is on its way" };
  await replay.listeners.click();
  assert.equal(page.notice.textContent, "another one is on its way");
}

{ // an event has the page look again; what it cannot reach it says, and goes on when it can
  const answers = { "jobs?limit=50": { jobs: [], more: false }, stats };
  const page = load("#jobs", answers);
  await settled();
  assert.equal(rows(page).length, 0);
  answers["jobs?limit=50"] = { jobs: [dead], more: false };
  page.streams[0].onmessage({ data: JSON.stringify({ number: 1, at: 1e9, job_id: "d", job_type: "t", state: "dead" }) });
  await settled();
  assert.equal(rows(page).length, 1);
  delete answers.stats;
  page.streams[0].onmessage({ data: JSON.stringify({ number: 2, at: 1e9, job_id: "d", job_type: "t", state: "dead" }) });
  await settled();
  assert.match(page.notice.textContent, /^No answer/);
  assert.ok(page.main.classes.has("lost"));
  answers.stats = { status: 503, error: "nothing goes on at the moment: the disk is full" };
  page.streams[0].onmessage({ data: JSON.stringify({ number: 3, at: 1e9, job_id: "d", job_type: "t", state: "dead" }) });
  await settled();
  assert.equal(page.notice.textContent, "nothing goes on at the moment: the disk is full");
  answers.stats = stats;
  page.looks[0]();
  page.streams[0].onmessage({ data: JSON.stringify({ number: 4, at: 1e9, job_id: "d", job_type: "t", state: "dead" }) });
  await settled();
  assert.equal(page.notice.textContent, "");
  assert.ok(!page.main.classes.has("lost"));

  // a page that nobody sees has no stream; seen again, it goes on behind the last event, and so it does after it was refused
  page.document.hidden = true;
  page.visibilitychange();
  assert.equal(page.streams[0].readyState, 2);
  page.document.hidden = false;
  page.visibilitychange();
  assert.equal(page.streams[1].path, "events?after=4&token=a%2Bb");
  page.streams[1].onerror(); // it is tried again by the browser
  await settled();
  assert.equal(page.streams.length, 2);
  page.streams[1].readyState = 2;
  page.streams[1].onerror();
  await settled();
  assert.equal(page.streams.length, 3);
}

{ // one job: with its result, as text; and one that is not there
  const page = load("#job/" + encodeURIComponent(hostile), { [`jobs/${encodeURIComponent(hostile)}`]: { ...running, state: "completed", progress: 1, execution_time: 0.0021, result: { a: "<b>" }, can: undefined } });
  await settled();
  assert.match(page.main.textContent, /Ran2.1 ms/);
  assert.equal(page.main.all(e => e.name === "pre" && e.textContent.includes('"a": "<b>"')).length, 1);
  assert.equal(page.document.title, hostile + " – Cancha jobs");
  const long = load("#job/n", { "jobs/n": `{"job_id":"n","job_type":"t","state":"completed","attempts":1,"max_attempts":3,"result":{"loss":[1.5,\n2],"id":12345678901234567890,"text":"a [ b","deep":[[1],[]]}}` });
  await settled();
  const whole = typeof JSON.rawJSON === "function" ? "12345678901234567890" : "12345678901234567000";
  assert.equal(long.main.all(named("pre"))[1].textContent, `{\n "loss": [1.5, 2],\n "id": ${whole},\n "text": "a [ b",\n "deep": [\n  [1],\n  []\n ]\n}`);
  const dots = load("#job/..", {});
  await settled();
  assert.match(dots.notice.textContent, /No address can have the id/);
  assert.deepEqual(dots.asked, []);
  const none = load("#job/x", { "jobs/x": { status: 404, error: "no" } });
  await settled();
  assert.match(none.main.textContent, /There is no job x/);
}

{ // workers with what they run; a queue that cannot be told
  const page = load("#workers", { stats, workers: { workers: [{ worker_id: "g", worker_type: "gpu", device: "H100", state: "silent", silent: 7, slots: 2, memory: 8e10, running: [{ job: "j", attempt: 1, elapsed: 3, progress: 0.5, doing: "half" }] }] } });
  await settled();
  assert.match(page.main.textContent, /g✗ silentH100 · 80 GB of memory · runs any typenothing heard for 7 sgpu: 1 of 2 slots in usej50 % · 3 shalf/);
  const card = page.main.all(e => e.name === "article")[0], link = card.all(named("a"))[0];
  page.streams[0].onmessage({ data: JSON.stringify({ number: 1, at: 1e9, job_id: "j", job_type: "t", state: "running" }) });
  await settled();
  assert.ok(page.main.all(named("a")).includes(link), "the link that may have the focus stays");
  const queues = load("#queues", { queues: { queues: [{ name: "job_queue", what: "submissions", ready: 3, consumers: 1 }, { name: "gone", what: "", error: "no such queue" }] } });
  await settled();
  assert.deepEqual(rows(queues), [["job_queue", "submissions", "3", "–", "–", "1", ""], ["gone", "", "–", "–", "–", "–", "no such queue"]]);
}
