"""Looks at the page on :4040 in headless Chromium while notebooks run, and checks what is in it.

    python page.py [--kernel cancha] [--pictures FOLDER] [--chromium PROGRAM] NOTEBOOK...

Every chart has data at some time, nothing is said in the browser's console, all text has a contrast of at least 4.5 in both themes, nothing is
wider than the page at 420 pixels. Names with markup in them are text; a query is stopped by its button, and by running its cell again. Pages of
other origins and a name that was made to mean 127.0.0.1 get nothing; behind a proxy, below a path, the page works with its token. Exit 1 if
something is wrong, 3 if playwright, nbclient or Chromium is missing. Not a part of "make test", because of the browser: see widgets.py.
"""
import argparse
import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

TABS = ("streaming", "jobs", "stages", "executors", "sql", "environment")
SIZES = (("light", 1200), ("dark", 1200), ("light", 420))
NEEDS_GPU = {"GPU Utilization", "GPU Memory"}
PATIENCE = 30  # seconds until what must come is there

SETUP = """import (
	"context"

	"cancha/runtime/session"
	"cancha/stream"
	"cancha/stream/shop"
)
day := must(shop.Open(context.Background(), shop.Config{Records: 1_000_000, Rate: 2000}))"""

# one cell, run twice
QUERY = """query := must(stream.From(day.Source("orders")).EventTime(stream.Field("created").AsTime()).Watermark(time.Minute).
	GroupBy("city").Window(stream.Tumbling(10*time.Minute)).Agg(stream.Count("orders")).
	Name("<img src=x onerror=alert(1)> & \\"orders\\"").Start(context.Background()))"""

# What a page of another origin can find out: by asking, and by embedding.
ATTACK = """async url => {
  const seen = [];
  for (const mode of ['cors', 'no-cors']) await fetch(url + 'api/v1/applications', { mode }).then(async r => seen.push((await r.text()).length), () => seen.push(0));
  await fetch(url + 'api/v1/applications/x/streaming/queries/1/stop', { method: 'POST', mode: 'no-cors' }).catch(() => null);
  const frame = document.createElement('iframe');
  frame.src = url;
  document.body.append(frame);
  await new Promise(r => setTimeout(r, 1000));
  return seen;
}"""

# A cell's contrast: the least of all texts that are seen, and the text.
CONTRAST = """() => {
  const rgb = c => (c.match(/[0-9.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  let least = [99, ''];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    const e = n.parentElement, s = getComputedStyle(e);
    if (!n.textContent.trim() || !e.getClientRects().length || ['SCRIPT', 'NOSCRIPT'].includes(e.tagName)) continue;
    const a = light(rgb(e.closest('svg') ? s.fill : s.color)), b = light(behind(e.closest('svg')?.parentElement || e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < least[0]) least = [ratio, n.textContent.trim().slice(0, 60)];
  }
  return least;
}"""

# The charts that are shown: their titles, and whether a line or a layer is drawn in them.
CHARTS = """() => [...document.querySelectorAll('figure.chart')].map(f => ({
  title: f.querySelector('b').textContent, drawn: !f.hidden && !!f.querySelector('path.series, path.stack, rect')}))"""


class Missing(Exception):
    """Something that this script needs is not here."""


class Site:
    """The page of the engine that runs, in three browsers: two themes and a narrow one."""

    def __init__(self, browser, port, pictures):
        self.url, self.pictures, self.wrong = f"http://127.0.0.1:{port}/", pictures, []
        self.seen, self.filled = set(), set()
        self.pages = [(f"{theme}-{width}", self.open(browser, theme, width)) for theme, width in SIZES]

    def open(self, browser, theme, width):
        page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme).new_page()
        page.on("console", lambda m: m.type in ("error", "warning") and self.say(m))
        page.on("pageerror", lambda e: self.wrong.append(f"the script failed: {e}"))
        page.on("dialog", lambda d: (self.wrong.append(f"a dialog: {d.message}"), d.dismiss()))
        return page

    def say(self, message):
        """An engine that ends takes its answers with it, which the browser mentions."""
        if "ERR_CONNECTION_REFUSED" not in message.text and "ERR_CONNECTION_RESET" not in message.text and "ERR_EMPTY_RESPONSE" not in message.text:
            self.wrong.append(f"the console: {message.text}")

    def json(self, path):
        with urllib.request.urlopen(f"{self.url}api/v1/applications/local/{path}", timeout=10) as answer:
            return json.load(answer)

    def up(self):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(self.url, timeout=1).read()
            return True
        return False

    def visit(self, tab, stay):
        """Show a tab in the first browser and note which of its charts have data."""
        page = self.pages[0][1]
        page.goto(self.url + "#" + tab)
        page.wait_for_timeout(stay)
        for chart in page.evaluate(CHARTS):
            self.seen.add(chart["title"])
            if chart["drawn"]:
                self.filled.add(chart["title"])

    def look(self, tab):
        """Show a tab in all browsers: contrast, width, a picture."""
        for name, page in self.pages:
            page.goto(self.url + "#" + tab)
            page.wait_for_timeout(2500)
            ratio, text = page.evaluate(CONTRAST)
            if ratio < 4.5:
                self.wrong.append(f"{tab}, {name}: {text!r} has a contrast of {ratio:.2f}")
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                self.wrong.append(f"{tab}, {name}: wider than the page")
            if self.pictures:
                page.screenshot(path=self.pictures / f"{tab.replace('/', '-')}-{name}.png", full_page=True)


def watch(site, path, kernel):
    """Run a notebook and look at the page as long as it runs."""
    import nbclient
    import nbformat

    book, failed = nbformat.read(path, as_version=4), []
    client = nbclient.NotebookClient(book, timeout=600, kernel_name=kernel, resources={"metadata": {"path": str(path.parent)}})

    def execute():
        try:
            client.execute()
        except Exception as error:  # any failure of a cell, of the kernel
            failed.append(f"{path.name}: {error}")

    worker = threading.Thread(target=execute)
    worker.start()
    begin = time.monotonic()
    while worker.is_alive():
        if not site.up():
            time.sleep(0.05)
            continue
        with contextlib.suppress(Exception):  # it may end while somebody looks
            queries = [q["id"] for q in site.json("streaming/queries")][-2:]
            for tab in [f"streaming/{q}" for q in queries] + list(TABS[:4]):
                site.visit(tab, 2300)
    worker.join()
    print(f"ok {path.name}: {time.monotonic() - begin:.0f} s, {len(site.filled)} charts have had data", flush=True)
    return failed


class Proxy(http.server.BaseHTTPRequestHandler):
    """jupyter-server-proxy in small: takes a path off, and passes on the name under which the user sees Jupyter. Elsewhere it has empty pages."""

    def do_GET(self):
        found = re.fullmatch(r"/user/ada/proxy/(\d+)(/.*)", self.path)
        if not found:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            return
        port, path = found.groups()
        headers = {k: v for k, v in self.headers.items() if k.lower() != "connection"}
        try:
            answer = urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers), timeout=10)
        except urllib.error.HTTPError as error:
            answer = error
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("connection", "content-length", "date", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def strangers(browser, site, proxied):
    """Pages that must see nothing, and one that sees the page through a proxy."""
    port = site.url.rstrip("/").rpartition(":")[2]
    page = browser.new_page()
    status = page.goto(f"http://rebound.example:{port}/").status
    if status != 403 or "127.0.0.1" not in page.content():
        raise AssertionError(f"a name that was made to mean 127.0.0.1: {status}")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for attacker in ("other.example", "localhost"):
            page = browser.new_page()
            page.goto(f"http://{attacker}:{server.server_address[1]}/")
            seen = page.evaluate(ATTACK, site.url)
            if any(seen) or any("Streaming" in f.content() for f in page.frames[1:]):
                raise AssertionError(f"a page of {attacker}: it has read {seen}")
        if not [q for q in site.json("streaming/queries") if q["state"] == "RUNNING"]:
            raise AssertionError("a page of another origin has stopped a query")
        print("ok other origins and other hosts' names get nothing")
        page = browser.new_page()
        page.goto(f"http://hub.example:{server.server_address[1]}/user/ada{proxied}")
        page.wait_for_selector("main a", timeout=10_000)
        state = page.locator("#state").inner_text()
        if "1 of 2 queries run" not in state:
            raise AssertionError(f"behind a proxy it says {state!r}")
        server.shutdown()
    print("ok it works below a path, with its token")


def until(what, test):
    begin = time.monotonic()
    while not test():
        if time.monotonic() - begin > PATIENCE:
            raise AssertionError(f"{what}: it has not happened in {PATIENCE} s")
        time.sleep(0.1)
    print(f"ok {what}", flush=True)


def use(browser, site, kernel):
    """Start a query in a cell, twice, look at everything, and stop it."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name=kernel, startup_timeout=300)

    def run(code, cell):
        said = []
        message = client.session.msg("execute_request", dict(code=code, silent=False, store_history=True, user_expressions={}, allow_stdin=False, stop_on_error=True), metadata={"cellId": cell})
        client.shell_channel.send(message)
        while True:
            m = client.get_iopub_msg(timeout=300)
            if m["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
                break
            said.append(m)
        client.get_shell_msg(timeout=60)
        text = "".join(m["content"].get("text", "") + "".join(m["content"].get("data", {}).values()) for m in said)
        if errors := [m["content"] for m in said if m["msg_type"] == "error"]:
            raise AssertionError(f"{code}: {errors[0]['ename']}: {errors[0]['evalue']}")
        return text

    try:
        run(SETUP, "setup")
        run(QUERY, "query")
        run(QUERY, "query")
        lines = run("%streams", "list")
        states = re.findall(r" (running|ended|failed) ", lines)
        if sorted(states) != ["ended", "running"]:
            raise AssertionError(f"a cell that is run again: %streams says {lines}")
        print("ok a cell that is run again replaces its query")
        shown = run("check(session.UI())", "ui")
        if site.url not in shown:
            raise AssertionError(f"session.UI() shows {shown!r}, not {site.url}")
        strangers(browser, site, re.search(r'href="(/proxy/[^"]*)"', shown)[1].replace("&amp;", "&"))
        time.sleep(3)
        query = [q for q in site.json("streaming/queries") if q["state"] == "RUNNING"][0]
        for tab in TABS + (f"streaming/{query['id']}", f"sql/{query['id']}"):
            site.look(tab)
        page = site.pages[0][1]
        page.goto(site.url + f"#streaming/{query['id']}")
        page.wait_for_timeout(1500)
        if page.locator("h2").first.inner_text() != query["name"] or page.locator("main img").count():
            raise AssertionError("a name with markup in it is not shown as text")
        print("ok markup in a name is text")
        button = page.locator("button", has_text="Stop")
        button.click()
        page.wait_for_timeout(300)
        page.locator("button", has_text="Really stop?").click()
        until("a click stops the query", lambda: all(q["state"] != "RUNNING" for q in site.json("streaming/queries")))
        if "true" in run("fmt.Println(query.Active())", "active"):
            raise AssertionError("the query goes on")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="cancha")
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--chromium", default=os.environ.get("CHROMIUM", "chromium"))
    parser.add_argument("notebooks", type=pathlib.Path, nargs="*")
    options = parser.parse_args()
    try:
        import nbclient  # noqa: F401
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise Missing(f"the Python package {error.name}") from None
    program = shutil.which(options.chromium)
    if not program:
        raise Missing(f"the browser {options.chromium}")
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    os.environ.update(CANCHA_UI_PORT=str(port), CANCHA_HISTORY="off")
    failed = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP *.example 127.0.0.1"])
        site = Site(browser, port, options.pictures)
        for path in options.notebooks:
            failed += watch(site, path, options.kernel)
        use(browser, site, options.kernel)
        browser.close()
    if options.notebooks:
        failed += [f"the chart {title!r} has had no data" for title in sorted(site.seen - site.filled - NEEDS_GPU)]
        print(f"ok charts with data: {', '.join(sorted(site.filled))}")
    failed += sorted(set(site.wrong))
    for fault in failed:
        print("WRONG:", fault, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Missing as e:
        print("missing:", e, file=sys.stderr)
        sys.exit(3)
    except AssertionError as e:
        print("WRONG:", e, file=sys.stderr)
        sys.exit(1)
