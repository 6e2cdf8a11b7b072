package chart

import (
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"
)

// specimen is a chart of each kind, with the colours that must be seen in it. Its numbers are made up by a seed.
type specimen struct {
	name          string
	width, height int // CSS pixels
	colors        []color.NRGBA
	make          func() (*Chart, error)
}

func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func wave(n int, base, height, noise float64) []float64 {
	r := random()
	y := make([]float64, n)
	for i := range y {
		y[i] = base + height*math.Sin(float64(i)/17) + r.NormFloat64()*noise
	}
	return y
}

func span(n int, step float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i) * step
	}
	return x
}

// softmax turns scores into probabilities that sum to one.
func softmax(home, drawn, away float64) (h, d, a float64) {
	eh, ed, ea := math.Exp(home), math.Exp(drawn), math.Exp(away)
	sum := eh + ed + ea
	return eh / sum, ed / sum, ea / sum
}

// match is a made-up match of 2:2 with goals close to each other, one at the right edge, and a red card.
func match() (minutes, home, drawn, away []float64, marks []Mark) {
	marks = []Mark{
		{Minute: 23, Label: "1:0"}, {Minute: 44, Label: "1:1", Away: true}, {Minute: 46, Label: "2:1"},
		{Minute: 60, Label: "red", Away: true, Red: true}, {Minute: 94, Label: "2:2", Away: true},
	}
	lead := 0.0
	for m := 0; m <= 95; m++ {
		for _, k := range marks {
			if int(k.Minute) == m && !k.Red {
				lead += map[bool]float64{false: 1, true: -1}[k.Away]
			}
		}
		t := 1 / math.Sqrt(1.05-float64(m)/95)
		h, d, a := softmax(lead*t+0.25, 0.2*t-math.Abs(lead)*t*0.6, -lead*t)
		minutes = append(minutes, float64(m))
		home, drawn, away = append(home, h), append(drawn, d), append(away, a)
	}
	return minutes, home, drawn, away, marks
}

// forecasts are n calibrated ones and, of the second kind, over-confident ones.
func forecasts(n int) []Forecast {
	r := random()
	fs := []Forecast{{Name: "Home win"}, {Name: "Draw"}, {Name: "Away win"}}
	for k := range fs {
		for range n {
			p := r.Float64()
			truth := p
			if k == 1 {
				truth = 0.5 + (p-0.5)*0.7
			}
			fs[k].Predicted = append(fs[k].Predicted, p)
			fs[k].Happened = append(fs[k].Happened, r.Float64() < truth)
		}
	}
	return fs
}

func shotsAndPasses() (shots []Shot, passes []Pass) {
	r := random()
	for i := range 26 {
		xg := math.Exp(-3 * r.Float64())
		shots = append(shots, Shot{X: 119 - 25*(1-xg) - 6*r.Float64(), Y: 40 + r.NormFloat64()*9, XG: xg * 0.8, Goal: i%7 == 0, Away: i%2 == 1})
	}
	for i := range 14 {
		x, y := 30+60*r.Float64(), 10+60*r.Float64()
		passes = append(passes, Pass{X: x, Y: y, EndX: x + 22*r.Float64(), EndY: y + 8*r.NormFloat64(), Incomplete: i%5 == 0})
	}
	return shots, passes
}

func gallery() []specimen {
	source := "Made-up numbers, seed 1"
	shots, passes := shotsAndPasses()
	features := make([]string, 24)
	weights := make([]float64, 24)
	for i := range features {
		features[i], weights[i] = fmt.Sprintf("feature_%02d", i), math.Exp(-float64(i)/4)*0.31
	}
	features[1] = "difference of expected goals in the last ten minutes"
	return []specimen{
		{"line", 640, 380, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Line(nil, wave(120, 900, 250, 25), Options{Title: "Events come in waves", Subtitle: "Events per second", Caption: source, XLabel: "Batch", YLabel: "Events/s"})
		}},
		{"line_one", 640, 380, []color.NRGBA{blue()}, func() (*Chart, error) { return Line(nil, []float64{3}, Options{Title: "One point"}) }},
		{"line_bare", 320, 200, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Line(span(50, 0.02), wave(50, -0.02, 0.01, 0), Options{Width: 320, Height: 200})
		}},
		{"lines", 640, 380, []color.NRGBA{blue(), vermillion(), green()}, func() (*Chart, error) {
			return Lines([]Series{{Name: "forest", Y: wave(30, 0.21, 0.01, 0)}, {Name: "logistic regression", Y: wave(30, 0.24, 0.01, 0)}, {Name: "Poisson", Y: wave(30, 0.22, 0.01, 0)}},
				Options{Title: "A title that is far too long for one line of this chart because it says the whole finding and its reason and more", Subtitle: "Ranked probability score by minute", Caption: source, XLabel: "Minute"})
		}},
		{"area", 640, 380, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Area(span(120, 1), wave(120, 30000, 9000, 400), Options{Title: "Lag", YLabel: "Records"})
		}},
		{"rates", 640, 380, []color.NRGBA{blue(), vermillion()}, func() (*Chart, error) {
			return Rates([]Series{{Name: "input rate", X: span(240, 0.25), Y: wave(240, 9000, 2500, 200)}, {Name: "process rate", X: span(240, 0.25), Y: wave(240, 17000, 3000, 300)}},
				Options{Title: "The query keeps up", Subtitle: "Records per second", Caption: "Simulated matches"})
		}},
		{"rates_log", 640, 380, []color.NRGBA{blue(), vermillion()}, func() (*Chart, error) {
			return Rates([]Series{{Name: "input rate", X: span(24, 1), Y: wave(24, 4096, 50, 20)}, {Name: "process rate", X: span(24, 1), Y: wave(24, 800000, 90000, 3000)}},
				Options{Title: "The query could take 200 times as much", Subtitle: "Records a second", Caption: source, LogY: true})
		}},
		{"rates_long", 640, 380, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Rates([]Series{{Name: "input rate", X: span(20000, 1), Y: wave(20000, 9000, 2500, 200)}}, Options{Title: "A long run"})
		}},
		{"agreement", 520, 500, []color.NRGBA{vermillion()}, func() (*Chart, error) {
			r, gpu, cpu := random(), Series{Name: "GPU"}, Series{Name: "CPU"}
			for range 400 {
				seconds := math.Exp(r.Float64()*9 - 8)
				cpu.X, cpu.Y = append(cpu.X, seconds), append(cpu.Y, seconds*math.Exp(0.3*r.NormFloat64()))
				gpu.X, gpu.Y = append(gpu.X, seconds/20), append(gpu.Y, seconds/20*math.Exp(0.6*r.NormFloat64()+0.3))
			}
			return Agreement([]Series{gpu, cpu}, Options{Title: "The GPU takes longer than predicted", Subtitle: "Seconds of 800 jobs; in the band within a factor of two", XLabel: "predicted", YLabel: "measured", Caption: source})
		}},
		{"bar", 640, 380, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Bar([]string{"Pass", "Ball Receipt", "Carry", "Pressure", "Goal Keeper position of some length", "Shot"}, []float64{985, 920, 760, 310, 33, 25}, Options{Title: "What happens in a match", Subtitle: "Events by type", Caption: source})
		}},
		{"bars", 640, 380, []color.NRGBA{blue(), vermillion()}, func() (*Chart, error) {
			return Bars([]string{"windows", "features", "train", "inference"}, []Series{{Name: "CPU", Y: []float64{120, 260, 540, 900}}, {Name: "GPU", Y: []float64{18, 31, 55, 80.4}}}, Options{Title: "Batch duration", Subtitle: "Milliseconds, lower is better", Caption: source})
		}},
		{"bar_negative", 640, 380, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Bar([]string{"a", "b", "c"}, []float64{-0.5, 0.25, 1}, Options{})
		}},
		{"bar_many", 640, 380, []color.NRGBA{blue()}, func() (*Chart, error) {
			names := make([]string, 60)
			for i := range names {
				names[i] = fmt.Sprint(i)
			}
			return Bar(names, wave(60, 20, 10, 0), Options{Title: "Sixty bars"})
		}},
		{"histogram", 640, 380, []color.NRGBA{sky()}, func() (*Chart, error) {
			v := wave(2000, 0, 0.3, 0.4)
			for i := range v {
				v[i] = math.Exp(v[i] + 3)
			}
			return Histogram(v, 0, Options{Title: "Batch duration", XLabel: "Milliseconds", Caption: source})
		}},
		{"histogram_whole", 640, 380, []color.NRGBA{sky()}, func() (*Chart, error) {
			return Histogram([]float64{0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 7}, 0, Options{Title: "Goals a match"})
		}},
		{"histogram_constant", 640, 380, []color.NRGBA{sky()}, func() (*Chart, error) {
			return Histogram([]float64{2.5, 2.5}, 0, Options{Title: "All the same"})
		}},
		{"confusion", 640, 380, []color.NRGBA{ramp(0.78)}, func() (*Chart, error) {
			return Confusion([][]int{{78, 15, 7}, {25, 41, 34}, {12, 21, 67}}, []string{"Home", "Draw", "Away"}, Options{Title: "Draws are hard", Subtitle: "Test matches at minute 60, share of the row", Caption: source})
		}},
		{"matrix", 640, 380, []color.NRGBA{ramp(1)}, func() (*Chart, error) {
			return Matrix([][]float64{{1, 0.31, -0.2}, {0.31, 1, 0.05}, {-0.2, 0.05, 1}}, []string{"xG", "shots", "cards"}, []string{"xG", "shots", "cards"}, Options{Title: "Correlations"})
		}},
		{"calibration", 520, 500, []color.NRGBA{blue()}, func() (*Chart, error) {
			f := forecasts(3000)[0]
			return Calibration(f.Predicted, f.Happened, 0, Options{Title: "Home wins happen as often as predicted", Subtitle: "Test matches, all minutes", Caption: source})
		}},
		{"calibrations", 520, 500, []color.NRGBA{blue(), grey(), vermillion()}, func() (*Chart, error) {
			return Calibrations(forecasts(500), 8, Options{Title: "Draws are over-confident", Caption: source})
		}},
		{"importance", 640, 570, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Importance(features, weights, Options{Title: "The score decides", Subtitle: "Mean decrease of impurity", Caption: source})
		}},
		{"importance_few", 640, 174, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Importance([]string{"x", "y"}, []float64{0.01, -0.004}, Options{Title: "Permutation importance"})
		}},
		{"pitch", 640, 0, []color.NRGBA{blue(), vermillion(), axisGrey()}, func() (*Chart, error) {
			return Pitch(shots, passes, Options{Title: "Shot map", Subtitle: "Circle area is xG, filled is a goal; home attacks to the right", Caption: source})
		}},
		{"pitch_wide", 640, 300, []color.NRGBA{blue()}, func() (*Chart, error) {
			return Pitch(shots[:0], passes, Options{Title: "Passes", Height: 300})
		}},
		{"win", 640, 380, []color.NRGBA{blue(), drawGrey(), vermillion(), cardRed()}, func() (*Chart, error) {
			m, h, d, a, marks := match()
			return WinProbability(m, h, d, a, marks, Options{Title: "Live win probability: Home 2:2 Away", Subtitle: "Random forest of 100 trees, every minute", Caption: "Simulated matches", Names: []string{"Home wins", "Draw", "Away wins"}})
		}},
		{"win_small", 360, 240, []color.NRGBA{blue(), drawGrey(), vermillion()}, func() (*Chart, error) {
			m, h, d, a, marks := match()
			return WinProbability(m, h, d, a, marks, Options{Width: 360, Height: 240, Title: "Narrow"})
		}},
	}
}

func (s specimen) chart(t *testing.T) *Chart {
	t.Helper()
	c, err := s.make()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
