package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// numberTicks puts about six labels at round numbers: gonum/plot's own come to three or so.
type numberTicks struct {
	whole bool // whole numbers only, for counts
}

// Ticks implements plot.Ticker.
func (n numberTicks) Ticks(min, max float64) []plot.Tick {
	step := roundStep((max - min) / 6)
	if n.whole {
		step = math.Ceil(math.Max(1, step)) // not 2.5
	}
	if step <= 0 || math.IsInf(step, 0) || math.IsNaN(step) {
		return []plot.Tick{{Value: min, Label: number(min, 0)}}
	}
	decimals := stepDecimals(step)
	var ticks []plot.Tick
	for i := math.Ceil(min/step - 1e-9); i*step <= max+step*1e-9 && len(ticks) < 50; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: number(i*step, decimals)})
	}
	return ticks
}

// stepDecimals is how many decimals multiples of a step need: none for 20, one for 2.5, two for 0.25.
func stepDecimals(step float64) int {
	decimals := 0
	if step < 1 {
		decimals = int(math.Ceil(-math.Log10(step) - 1e-9))
	}
	if scaled := step * math.Pow10(decimals); math.Abs(scaled-math.Round(scaled)) > 1e-6 {
		decimals++
	}
	return decimals
}

// roundStep is the least of 1, 2, 2.5, 5 and 10 times a power of ten that is not below x.
func roundStep(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	for _, f := range []float64{1, 2, 2.5, 5, 10} {
		if f*unit >= x*(1-1e-9) {
			return f * unit
		}
	}
	return 10 * unit
}

// number writes v with the given decimals and a comma every three digits; very large and very small ones in powers of ten, with the digits that
// tell an axis's labels apart.
func number(v float64, decimals int) string {
	if a := math.Abs(v); a >= 1e9 || decimals > 6 {
		return strconv.FormatFloat(v, 'g', 14, 64)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-") // rounded to nothing from below
	}
	whole, fraction, dotted := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dotted {
		return whole + "." + fraction
	}
	return whole
}

// short writes v with about three significant digits, for labels on bars and cells: all digits of a whole part below a billion, and no zeros at
// the end of what is below one.
func short(v float64) string {
	rounded := threeDigits(v) // decides the decimals too: 9.996 is 10.0
	a := math.Abs(rounded)
	switch {
	case math.Abs(v) >= 1e9:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case v == math.Trunc(v) || a >= 100:
		return number(v, 0)
	case a >= 10:
		return number(rounded, 1)
	case a >= 1:
		return number(rounded, 2)
	case a >= 0.001:
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	default:
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
}

// threeDigits rounds v to three significant digits.
func threeDigits(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil { // 1.797e308 rounded up is no float64
		return v
	}
	return rounded
}

// powerTicks labels the powers of ten of a logarithmic axis; their ends are powers of ten too.
type powerTicks struct{}

// Ticks implements plot.Ticker.
func (powerTicks) Ticks(min, max float64) []plot.Tick {
	var ticks []plot.Tick
	for v := min; v <= max*(1+1e-9); v *= 10 {
		label := short(v)
		if v >= 1e6 {
			label = short(v/1e6) + " million"
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
	}
	return ticks
}

// shareTicks labels 0 to 1 as per cent, with nothing outside.
type shareTicks struct{ step float64 }

// Ticks implements plot.Ticker.
func (s shareTicks) Ticks(min, max float64) []plot.Tick {
	var ticks []plot.Tick
	for v := 0.0; v < 1+s.step/2; v += s.step {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.0f %%", v*100)})
	}
	return ticks
}

// minuteTicks labels the minutes of a match: half time and full time, and extra time where there is some.
type minuteTicks struct{}

// Ticks implements plot.Ticker.
func (minuteTicks) Ticks(min, max float64) []plot.Tick {
	var ticks []plot.Tick
	for m := 0.0; m <= math.Min(max, 120)+1e-9; m += 15 {
		if m < min {
			continue
		}
		label := fmt.Sprintf("%.0f'", m)
		switch m {
		case 45:
			label = "HT"
		case 90:
			label = "FT"
		}
		ticks = append(ticks, plot.Tick{Value: m, Label: label})
	}
	return ticks
}

// secondTicks labels seconds as such, and from three minutes on as minutes and hours.
type secondTicks struct{}

// Ticks implements plot.Ticker.
func (secondTicks) Ticks(min, max float64) []plot.Tick {
	span := max - min
	if !(span > 180) {
		ticks := numberTicks{}.Ticks(min, max)
		for i := range ticks {
			ticks[i].Label += " s"
		}
		return ticks
	}
	unit, name := 60.0, "min"
	if span > 3*3600 {
		unit, name = 3600, "h"
	}
	ticks := numberTicks{}.Ticks(min/unit, max/unit)
	for i := range ticks {
		ticks[i].Value *= unit
		ticks[i].Label += " " + name
	}
	return ticks
}
