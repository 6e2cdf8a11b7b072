package placement

import (
	"math"
	"testing"
)

// TestRemaining: the closed form is the integral of what it stands for, E[T − t | T > t], and goes on beyond it without a jump.
func TestRemaining(t *testing.T) {
	for _, sigma := range []float64{0.05, 0.2, 0.5, 1} {
		p := Prediction{Seconds: 10, Sigma: sigma}
		if got := p.Remaining(0); got != 10 {
			t.Errorf("sigma %v: %v at first", sigma, got)
		}
		for _, elapsed := range []float64{0.1, 1, 5, 9, 10, 11, 15} {
			if z := math.Log(elapsed/p.median()) / sigma; z > 4.5 {
				continue
			}
			if got, want := p.Remaining(elapsed), integral(p, elapsed); math.Abs(got-want) > 1e-3*want+1e-6 {
				t.Errorf("sigma %v, after %v s: got %v, want %v", sigma, elapsed, got, want)
			}
		}
		edge := p.median() * math.Exp(5*sigma)
		if a, b := p.Remaining(edge*(1-1e-9)), p.Remaining(edge*(1+1e-9)); math.Abs(a/b-1) > 0.3 {
			t.Errorf("sigma %v: it jumps from %v to %v", sigma, a, b)
		}
		if a, b := p.Remaining(1000), p.Remaining(2000); b <= a {
			t.Errorf("sigma %v: a run that is late by more is expected to end sooner: %v, %v", sigma, a, b)
		}
	}
}

// integral is E[T − t | T > t] by the trapezoid rule over the logarithm of T.
func integral(p Prediction, elapsed float64) float64 {
	mu, from := math.Log(p.median()), math.Log(elapsed)
	const steps = 200_000
	width := (max(mu, from) + 12*p.Sigma - from) / steps
	above, beyond := 0.0, 0.0
	for i := range steps + 1 {
		x := from + float64(i)*width
		density := math.Exp(-(x - mu) * (x - mu) / (2 * p.Sigma * p.Sigma))
		if i == 0 || i == steps {
			density /= 2
		}
		above += density
		beyond += density * (math.Exp(x) - elapsed)
	}
	return beyond / above
}

// TestOverdue: a run is overdue only far beyond its prediction, and never within two seconds of it.
func TestOverdue(t *testing.T) {
	for _, c := range []struct {
		p       Prediction
		elapsed float64
		want    bool
	}{
		{Prediction{Seconds: 10, Sigma: 0.1}, 14, false},
		{Prediction{Seconds: 10, Sigma: 0.1}, 16, true},
		{Prediction{Seconds: 10, Sigma: 1}, 100, false},
		{Prediction{Seconds: 10, Sigma: 1}, 400, true},
		{Prediction{Seconds: 0.01, Sigma: 0.1}, 1.9, false},
		{Prediction{Seconds: 0.01, Sigma: 0.1}, 2.1, true},
	} {
		if got := c.p.Overdue(c.elapsed); got != c.want {
			t.Errorf("%+v after %v s: got %v", c.p, c.elapsed, got)
		}
	}
}

func TestWords(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0 s", 1e-9: "0 s", 4.2e-6: "4.2 µs", 0.000999: "1 ms", 0.0123: "12 ms", 0.3: "300 ms", 0.84: "840 ms", 0.9996: "1 s", 1.26: "1.3 s",
		9.96: "10 s", 99.4: "99 s", 119.6: "2 min", 300: "5 min", 7199: "120 min", 7300: "2 h", 1e5: "28 h", 1e9: "11574 days", math.NaN(): "0 s",
	} {
		if got := Seconds(s); got != want {
			t.Errorf("%v: got %q, want %q", s, got, want)
		}
	}
	for n, want := range map[float64]string{0: "0 bytes", 512: "512 bytes", 1000: "1 kB", 4e9: "4 GB", 9.6e10: "96 GB", 2.5e12: "2.5 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%v: got %q, want %q", n, got, want)
		}
	}
	for want, p := range map[string]Prediction{"12 ms predicted": {Seconds: 0.012, Runs: 3}, "12 ms by cost": {Seconds: 0.012},
		"12 ms guessed": {Seconds: 0.012, Guessed: true}} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAccuracy: means, and the histogram, by hand.
func TestAccuracy(t *testing.T) {
	var a Accuracy
	if !math.IsNaN(a.Typical()) || !math.IsNaN(a.Bias()) {
		t.Error("without runs there is an accuracy")
	}
	for _, c := range [][2]float64{{1, 1}, {1, 2}, {2, 1}, {1, 8}} { // predicted, measured
		a.Add(c[0], c[1])
	}
	a.Add(1, math.Inf(1))
	a.Add(math.NaN(), 1)
	if a.Runs != 4 || !near(a.Typical(), math.Pow(32, 0.25), 1e-9) || !near(a.Bias(), math.Pow(8, 0.25), 1e-9) {
		t.Errorf("got %+v: typically %v, bias %v", a, a.Typical(), a.Bias())
	}
	if want := [8]int64{1, 0, 0, 0, 2, 0, 1, 0}; a.Within != want {
		t.Errorf("got %v, want %v", a.Within, want)
	}
	if f := Factor(2, 0.5); !near(f, 4, 1e-9) {
		t.Errorf("got %v", f)
	}
}
