package metric

import (
	"fmt"

	"cancha/runtime/grid"
)

// Confusion counts rows by the class that happened (first index) and the most probable class (second index).
type Confusion struct {
	Classes []string
	Counts  [][]int
}

// NewConfusion counts the rows. Of equally probable classes the first is taken, as numpy's argmax does.
func NewConfusion(classes []string, p [][]float64, labels []int) *Confusion {
	check(p, labels)
	if len(p) > 0 && len(p[0]) != len(classes) {
		panic(fmt.Sprintf("metric: rows of %d probabilities for %d classes", len(p[0]), len(classes)))
	}
	c := &Confusion{Classes: classes, Counts: make([][]int, len(classes))}
	for k := range c.Counts {
		c.Counts[k] = make([]int, len(classes))
	}
	for i, row := range p {
		c.Counts[labels[i]][most(row)]++
	}
	return c
}

// most returns the position of the greatest probability.
func most(row []float64) int {
	best := 0
	for k, v := range row {
		if v > row[best] {
			best = k
		}
	}
	return best
}

// Accuracy is the share of rows on the diagonal.
func (c *Confusion) Accuracy() float64 {
	right, all := 0, 0
	for i, row := range c.Counts {
		for k, n := range row {
			all += n
			if i == k {
				right += n
			}
		}
	}
	return float64(right) / float64(all)
}

// MacroF1 is the mean over the classes of the harmonic mean of precision and recall. A class that neither happened nor
// was predicted counts 0, as in scikit-learn.
func (c *Confusion) MacroF1() float64 {
	sum := 0.0
	for k := range c.Classes {
		both := 0
		for i := range c.Classes {
			both += c.Counts[k][i] + c.Counts[i][k]
		}
		if both > 0 {
			sum += 2 * float64(c.Counts[k][k]) / float64(both)
		}
	}
	return sum / float64(len(c.Classes))
}

// MIMEBundle shows the counts as a table.
func (c *Confusion) MIMEBundle() map[string]any {
	g := grid.Grid{Caption: "Confusion: rows happened, columns predicted", Header: append([]string{""}, c.Classes...)}
	for i, row := range c.Counts {
		cells := []string{c.Classes[i]}
		for _, n := range row {
			cells = append(cells, fmt.Sprint(n))
		}
		g.Rows = append(g.Rows, cells)
	}
	return g.MIMEBundle()
}

// Accuracy is the share of rows whose most probable class happened.
func Accuracy(p [][]float64, labels []int) float64 {
	check(p, labels)
	right := 0.0
	for i, row := range p {
		if most(row) == labels[i] {
			right++
		}
	}
	return right / float64(len(p))
}

// MacroF1 is the mean F1 of the classes; see Confusion.MacroF1.
func MacroF1(classes int, p [][]float64, labels []int) float64 {
	return NewConfusion(make([]string, classes), p, labels).MacroF1()
}
