package chart

import (
	"image"
	"image/color"
	"math"
	"testing"
)

// TestCellsAreCountedFromTheTop: what is added to a chart of cells lands on the cell that it names.
func TestCellsAreCountedFromTheTop(t *testing.T) {
	rows, columns := []string{"a", "b", "c"}, []string{"a", "b", "c"}
	for name, chartOf := range map[string]func(values [][]float64) (*Chart, error){
		"Matrix":    func(values [][]float64) (*Chart, error) { return Matrix(values, rows, columns, Options{}) },
		"Confusion": func(values [][]float64) (*Chart, error) { return Confusion(values, rows, Options{}) },
	} {
		for cell := range 9 {
			row, column := cell/3, cell%3
			values := [][]float64{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}
			values[row][column] = 1
			c, err := chartOf(values)
			if err != nil {
				t.Fatal(err)
			}
			c.Plot.Add(dot(t, float64(column), float64(row), red()))
			m := picture(t, c)
			x, y := centre(t, m, isRed)
			if box := bounds(m, ramp(1)); !(image.Point{int(x), int(y)}).In(box.Inset(20)) {
				t.Errorf("%s: what was added at column %d and row %d is at pixel (%.0f, %.0f), the cell in %v", name, column, row, x, y, box)
			}
		}
	}
}

// TestBarsAreCountedFromTheTop: what is added at the end of a horizontal bar lands there.
func TestBarsAreCountedFromTheTop(t *testing.T) {
	values := []float64{40, 30, 20, 10}
	for row, value := range values {
		c, err := Importance([]string{"a", "b", "c", "d"}, values, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Plot.Add(dot(t, value, float64(row), red()))
		m := picture(t, c)
		x, y := centre(t, m, isRed)
		end := bounds(m.SubImage(image.Rect(0, int(y), m.Bounds().Max.X, int(y)+1)), blue()).Max.X
		if math.Abs(x-float64(end)) > 10 {
			t.Errorf("what was added at the end of row %d is at pixel (%.0f, %.0f), and the bar that is there ends at %d", row, x, y, end)
		}
	}
}

func red() color.NRGBA { return color.NRGBA{R: 255, A: 255} }

// bounds is the least rectangle with all pixels of a colour.
func bounds(m image.Image, of color.NRGBA) image.Rectangle {
	var box image.Rectangle
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			if m.At(x, y) == color.Color(of) {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return box
}
