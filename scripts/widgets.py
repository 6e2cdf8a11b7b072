"""Uses widgets as a user does, in a real JupyterLab in headless Chromium, and checks what Go made of it.

    python widgets.py [--kernel cancha] [--pictures FOLDER] [--chromium PROGRAM]

Moves sliders with the keyboard, chooses, checks, types and clicks, with no cell running and beside one; watches a progress bar and a
frame that cells and callbacks fill; loads the page again; ends the engine. Exit 1 if something does not happen, 3 if JupyterLab,
jupyterlab_widgets, playwright or Chromium is missing. Not a part of "make test", because of the browser:

    pip install playwright    # its own browser is not needed
    apt-get install --no-install-recommends chromium fonts-dejavu-core
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

PATIENCE = 20  # seconds until what the user waits for has come
FIRST = 300  # seconds for the first cell, which may have to wait for an engine to be built

CONTROLS = """import (
	"math"

	"cancha/runtime/chart"
	"cancha/runtime/display"
	"cancha/runtime/live"
	"cancha/runtime/live/widget"
)
trees := widget.NewIntSlider(widget.IntSliderConfig{Description: "trees", Value: 50, Min: 1, Max: 200})
rate := widget.NewFloatSlider(widget.FloatSliderConfig{Description: "rate", Value: 0.3, Max: 1, Step: 0.05})
model := widget.NewDropdown(widget.DropdownConfig{Description: "model", Options: []string{"forest", "tree", "linear"}})
shots := widget.NewCheckbox(widget.CheckboxConfig{Description: "shots only", Value: true})
name := widget.NewText(widget.TextConfig{Description: "name", Placeholder: "of the model"})
train := widget.NewButton(widget.ButtonConfig{Description: "Train", ButtonStyle: "primary", Icon: "check"})
bar := widget.NewFloatProgress(widget.FloatProgressConfig{Description: "training", Max: 40, BarStyle: "info"})
shown := widget.NewOutput()
shown.SetLayout(widget.Layout{Border: "1px solid silver", Padding: "0.5em"})
widget.NewVBox(widget.NewHBox(trees, rate), widget.NewHBox(model, shots), name, train, bar, shown)"""

CALLBACKS = """say := func(what string) {
	shown.Clear(true)
	shown.With(func() { fmt.Println(what) })
}
trees.OnChange(func(old, new int) { say(fmt.Sprintf("trees %d to %d", old, new)) })
rate.OnChange(func(old, new float64) { say(fmt.Sprintf("rate %.2f to %.2f", old, new)) })
model.OnChange(func(old, new string) { say(old + " to " + new) })
shots.OnChange(func(old, new bool) { say(fmt.Sprint("shots ", new)) })
name.OnSubmit(func(value string) { say("name " + value) })
train.OnClick(func() {
	for i := range 41 {
		bar.SetValue(float64(i))
		time.Sleep(10 * time.Millisecond)
	}
	bar.SetBarStyle("success")
	say(fmt.Sprintf("trained %d trees", trees.Value()))
})"""

WAVES = """waves := widget.NewIntSlider(widget.IntSliderConfig{Description: "waves", Value: 2, Min: 1, Max: 10})
frame := live.NewFrame()
draw := func(n int) {
	var x, y []float64
	for i := range 201 {
		x, y = append(x, float64(i)/200), append(y, math.Sin(2*math.Pi*float64(n*i)/200))
	}
	if c, err := chart.Line(x, y, chart.Options{Title: fmt.Sprint(n, " waves")}); err == nil {
		frame.Set(c)
	}
}
waves.OnChange(func(old, new int) { draw(new) })
display.Show(waves)
draw(waves.Value())"""

BESIDE = """seen := widget.NewText(widget.TextConfig{Description: "seen"})
stop := widget.NewCheckbox(widget.CheckboxConfig{Description: "stop"})
display.Show(widget.NewHBox(stop, seen))
model.OnChange(func(old, new string) { seen.SetValue(new) })
for !stop.Value() {
	time.Sleep(20 * time.Millisecond)
}
fmt.Println("stopped by a user")"""

ANIMATION = """animated := live.NewFrame()
for i := range 8 {
	animated.Set(display.HTML(fmt.Sprintf("<b>frame %d</b>", i)))
	time.Sleep(100 * time.Millisecond)
}"""


PANIC = """oops := widget.NewButton(widget.ButtonConfig{Description: "Oops"})
told := widget.NewOutput()
oops.OnClick(func() {
	told.With(func() {
		var none []int
		fmt.Println(none[3])
	})
})
widget.NewVBox(oops, told)"""


class Missing(Exception):
    """Something that this script needs is not here."""


def notebook(path, kernel, *cells):
    cells = [dict(cell_type="code", id=f"c{i}", metadata={}, source=c, outputs=[], execution_count=None) for i, c in enumerate(cells)]
    spec = dict(name=kernel, display_name=kernel)
    path.write_text(json.dumps(dict(cells=cells, metadata=dict(kernelspec=spec), nbformat=4, nbformat_minor=5)))


@contextlib.contextmanager
def server(home):
    """A JupyterLab of its own, with private folders, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    token = uuid.uuid4().hex
    env = dict(os.environ, JUPYTER_TOKEN=token, CANCHA_HISTORY="off")
    for name in ("CONFIG", "DATA", "RUNTIME"):
        env[f"JUPYTER_{name}_DIR"] = str(home / name.lower())
    argv = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", f"--notebook-dir={home / 'work'}",
            "--LabApp.expose_app_in_browser=True"]
    if os.geteuid() == 0:
        argv.append("--allow-root")
    with open(home / "server.log", "w") as log:
        process = subprocess.Popen(argv, env=env, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        limit = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{url}/api?token={token}", timeout=5).read()
                break
            if process.poll() is not None or time.monotonic() > limit:
                raise Missing("JupyterLab does not start:\n" + (home / "server.log").read_text()[-2000:])
            time.sleep(0.2)
        yield url, token
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class User:
    """Who sits before the page."""

    def __init__(self, page, url, token, pictures):
        self.page, self.address, self.pictures = page, f"{url}/doc/tree/w.ipynb?reset&token={token}", pictures

    def js(self, text):
        return self.page.evaluate(text)

    def until(self, what, test, limit=PATIENCE):
        """Waits for what has to happen and prints how long it took."""
        begin = time.monotonic()
        while not test():
            if time.monotonic() - begin > limit:
                self.picture("wrong")
                raise AssertionError(f"{what}: it has not happened in {limit} s")
            self.page.wait_for_timeout(10)
        print(f"ok {what}: {1000 * (time.monotonic() - begin):.0f} ms")

    def open(self):
        self.page.goto(self.address)
        self.page.wait_for_selector(".jp-Notebook", timeout=60_000)
        self.page.add_style_tag(content=".Toastify { display: none }")  # JupyterLab asks about news
        self.until("the kernel is ready", lambda: self.js("() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status") == "idle")

    def run(self, index):
        """Runs a cell and does not wait for its end."""
        self.js(f"""() => {{ const n = jupyterapp.shell.currentWidget.content; n.deselectAll(); n.activeCellIndex = {index};
            jupyterapp.commands.execute('notebook:run-cell'); }}""")

    def done(self, index):
        self.until(f"cell {index + 1} has ended", lambda: self.js(
            f"() => {{ const m = jupyterapp.shell.currentWidget.content.widgets[{index}].model;"
            " return m.executionCount > 0 && m.executionState !== 'running' }"), PATIENCE if index else FIRST)

    def find(self, selector, text=None):
        return self.page.locator(selector, has_text=text) if text else self.page.locator(selector)

    def handle(self, label):
        return self.find(".widget-slider", label).locator(".noUi-handle")

    def press(self, label, key, times=1):
        handle = self.handle(label)
        handle.focus()
        for _ in range(times):
            self.page.keyboard.press(key)

    def reads(self, text):
        out = self.find(".widget-output").first
        return lambda: text in out.inner_text()

    def picture(self, name):
        if self.pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(self.pictures / f"{name}.png"))


def controls(p):
    p.run(0)
    p.done(0)
    p.run(1)
    p.done(1)
    p.press("trees", "ArrowRight")
    p.until("a slider moved by the keyboard calls Go, which prints into an Output", p.reads("trees 50 to 51"))
    p.press("trees", "ArrowLeft", 21)
    p.until("many keys: the last value arrives", p.reads("to 30"))
    p.press("rate", "ArrowRight")
    p.until("a slider of fractions", p.reads("rate 0.30 to 0.35"))
    p.find(".widget-dropdown select").first.select_option("tree")
    p.until("a choice", p.reads("forest to tree"))
    p.find(".widget-checkbox input").first.click()
    p.until("a checkbox", p.reads("shots false"))
    field = p.find(".widget-text input").first
    field.fill("Ada")
    field.press("Enter")
    p.until("a text", p.reads("name Ada"))
    p.find("button.widget-button", "Train").click()
    p.until("a button, whose callback fills a progress bar", p.reads("trained 30 trees"))
    p.until("the bar is full", lambda: p.find(".widget-hprogress .progress-bar").first.evaluate("e => e.style.width") == "100%")
    p.picture("controls")


def chart(p):
    p.run(2)
    p.done(2)
    image = p.find(".jp-OutputArea-output img").last
    image.wait_for()
    before = image.get_attribute("src")
    p.press("waves", "ArrowRight", 3)
    p.until("a slider draws a chart anew", lambda: image.get_attribute("src") != before)
    p.page.wait_for_timeout(600)  # the frame paints four times a second: let the picture be of the last
    image.scroll_into_view_if_needed()
    p.picture("chart")


def beside(p):
    p.run(3)
    box = p.find(".widget-checkbox", "stop").locator("input")
    box.wait_for()
    p.find(".widget-dropdown select").first.select_option("linear")
    p.until("a callback runs beside a cell", lambda: p.find(".widget-text", "seen").locator("input").input_value() == "linear")
    box.click()
    p.done(3)
    p.until("the cell has seen the checkbox", lambda: "stopped by a user" in p.find(".jp-Notebook").inner_text())
    p.run(4)
    p.done(4)
    p.until("the last frame of an animation", lambda: "frame 7" in p.find(".jp-Notebook").inner_text())


def panics(p):
    p.run(5)
    p.done(5)
    p.find("button.widget-button", "Oops").click()
    p.until("a callback's panic is shown in its Output, with its line", lambda: "fmt.Println(none[3])" in p.find(".widget-output").last.inner_text())
    p.find(".widget-output").last.scroll_into_view_if_needed()
    p.picture("panic")


def later(p):
    p.js("() => jupyterapp.commands.execute('docmanager:save')")
    p.page.wait_for_timeout(500)
    p.open()
    p.until("widgets after the page is loaded again", lambda: p.find(".widget-slider").count() >= 3)
    p.press("trees", "ArrowRight")
    p.until("they still call Go", p.reads("trees 30 to 31"))
    p.picture("again")
    p.run(6)
    p.until("an engine's end takes its widgets away", lambda: p.find(".widget-slider").count() == 0)


def play(about, parts, *cells):
    """Open a notebook of cells, as the command line says, and have a user do the parts in their order; ends the program."""
    try:
        perform(about, parts, cells)
    except Missing as e:
        print("missing:", e, file=sys.stderr)
        sys.exit(3)
    except AssertionError as e:
        print("WRONG:", e, file=sys.stderr)
        sys.exit(1)


def perform(about, parts, cells):
    a = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--kernel", default="cancha")
    a.add_argument("--pictures", type=pathlib.Path)
    a.add_argument("--chromium", default=os.environ.get("CHROMIUM", "chromium"))
    args = a.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise Missing("the Python package playwright") from None
    browser = shutil.which(args.chromium)
    if not browser:
        raise Missing(f"the browser {args.chromium}")
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        home = pathlib.Path(folder)
        (home / "work").mkdir()
        notebook(home / "work" / "w.ipynb", args.kernel, *cells)
        with server(home) as (url, token), sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            user = User(chromium.new_page(viewport={"width": 1000, "height": 1600}), url, token, args.pictures)
            user.open()
            for part in parts:
                part(user)
            chromium.close()
    print("all of it happened")


if __name__ == "__main__":
    play(__doc__, (controls, chart, beside, panics, later), CONTROLS, CALLBACKS, WAVES, BESIDE, ANIMATION, PANIC, "syscall.Exit(1)")
