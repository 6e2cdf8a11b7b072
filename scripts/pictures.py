"""Takes the picture that README begins with: a match whose win probability moves, in a notebook in JupyterLab, by day and by night.

    python pictures.py --pictures docs

It plays simulated matches, and takes the model that "make demo" leaves in notebooks/models. Exit 3 if JupyterLab, playwright, Chromium or the model is missing.
"""
import pathlib
import sys

from widgets import play

MODEL = pathlib.Path(__file__).resolve().parent.parent / "notebooks" / "models" / "lwp_model"

OPEN = """import (
	"cancha/ml/lwp"
	"cancha/runtime/chart"
	"cancha/runtime/live"
	"cancha/runtime/session"
	"cancha/statsbomb/feed"
	"cancha/statsbomb/streaming"
)

model := must(lwp.Open("models/lwp_model")) // a forest, trained in notebook 02
matches := must(feed.Open(session.Context(), feed.Config{Matches: 1, Rate: 250, Seed: 13}))
board := must(streaming.NewBoard(lwp.NewLive(model, 0), 0))
scoring := must(streaming.Score(matches.Source(""), board).Start(session.Context()))"""

FOLLOW = """var minute, home, draw, away []float64
frame := live.NewFrame()
live.Every(session.Context(), 200*time.Millisecond, func() bool {
	for _, now := range board.Latest().List {
		minute = append(minute, float64(now.Minute)+float64(now.Second)/60)
		home, draw, away = append(home, now.Home), append(draw, now.Draw), append(away, now.Away)
		course, err := chart.WinProbability(minute, home, draw, away, nil, chart.Options{
			Title: fmt.Sprintf("%d'  %s %s %s", now.Minute,
				now.HomeTeam.Name, now.Score(), now.AwayTeam.Name),
			Names: []string{now.HomeTeam.Name, "draw", now.AwayTeam.Name}, Caption: "Simulated match",
			Width: 620, Height: 300})
		if err == nil {
			frame.Set(course)
		}
	}
	return scoring.Active()
})"""


def live(p):
    p.run(2)
    p.done(2)
    p.run(0)
    p.done(0)
    p.run(1)
    p.until("a picture", lambda: p.js("() => jupyterapp.shell.currentWidget.content.widgets[1].outputArea.node.innerHTML.length > 5000"))
    p.page.wait_for_timeout(9500)
    take(p, "live")
    p.js("() => { jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'}) }")
    p.page.wait_for_timeout(1500)
    take(p, "live-dark")


def take(p, name):
    first, last = p.find(".jp-Notebook .jp-Cell").nth(0).bounding_box(), p.find(".jp-Notebook .jp-Cell").nth(1).bounding_box()
    clip = {"x": first["x"], "y": first["y"], "width": first["width"], "height": last["y"] + last["height"] - first["y"]}
    p.page.screenshot(path=str(p.pictures / f"{name}.png"), clip=clip)


if not MODEL.exists():
    print("missing: the model, which \"make demo\" makes", file=sys.stderr)
    sys.exit(3)
play(__doc__, (live,), OPEN, FOLLOW, f"!mkdir models && cp -r {MODEL} models/")
