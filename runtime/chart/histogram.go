package chart

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
)

// The number of bins that Histogram chooses itself, and the most it takes.
const (
	minBins, maxBins = 5, 60
	mostBins         = 1000
)

// Histogram counts values in bins of equal width. With bins 0 their number follows Freedman and Diaconis (1981), and whole
// numbers of a small range have a bin each.
func Histogram(values []float64, bins int, o Options) (*Chart, error) {
	const where = "chart.Histogram"
	if err := refuse(where, finite("values", values)); err != nil {
		return nil, err
	}
	if bins < 0 || bins > mostBins {
		return nil, fmt.Errorf("%s: %d bins: ask for 1 to %d, or 0 to leave it to the data", where, bins, mostBins)
	}
	c, err := newChart(where, o)
	if err != nil {
		return nil, err
	}
	low, width, n := binning(values, bins)
	h := &plotter.Histogram{Bins: count(values, low, width, n), Width: width, FillColor: sky()}
	h.LineStyle.Color, h.LineStyle.Width = color.White, 0.6
	c.Plot.Add(grid(false), h)
	c.Plot.Y.Min = 0
	c.Plot.Y.Max *= 1.05
	c.Plot.Y.Tick.Marker = numberTicks{whole: true}
	c.alt = describeHistogram(values, n)
	return c, nil
}

// binning returns where the first bin starts, how wide each is and how many there are.
func binning(values []float64, bins int) (low, width float64, n int) {
	low, high := extremes(values)
	if bins == 0 && high-low < maxBins && allWhole(values) {
		return low - 0.5, 1, int(high-low) + 1
	}
	if high == low {
		half := math.Max(math.Abs(low)*1e-6, 0.5)
		return low - half, 2 * half, 1
	}
	if bins == 0 {
		sorted := slices.Sorted(slices.Values(values))
		spread := sorted[len(sorted)*3/4] - sorted[len(sorted)/4]
		bins = maxBins
		if step := 2 * spread / math.Cbrt(float64(len(values))); step > 0 {
			bins = int(min(max((high-low)/step, minBins), maxBins))
		}
	}
	return low, (high - low) / float64(bins), bins
}

func allWhole(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != math.Trunc(v) })
}

func count(values []float64, low, width float64, n int) []plotter.HistogramBin {
	bins := make([]plotter.HistogramBin, n)
	for i := range bins {
		bins[i].Min, bins[i].Max = low+float64(i)*width, low+float64(i+1)*width
	}
	for _, v := range values {
		bins[min(max(int((v-low)/width), 0), n-1)].Weight++
	}
	return bins
}

func describeHistogram(values []float64, n int) string {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) string { return short(sorted[int(q*float64(len(sorted)-1))]) }
	return fmt.Sprintf("Histogram of %s values in %d bins: from %s to %s, median %s, a tenth above %s.",
		number(float64(len(values)), 0), n, at(0), at(1), at(0.5), at(0.9))
}
