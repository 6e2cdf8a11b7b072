package chart

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"cancha/internal/cellio"
)

// excerpt is how many rows and columns of each end of a large matrix are shown.
const excerpt = 5

// Render shows what this package knows of other packages' values: a *plot.Plot in our fonts and size, a mat.Matrix as
// gonum formats it, with an excerpt of a large one. The second result is false for everything else.
func Render(v any) (cellio.Display, bool) {
	switch v := v.(type) {
	case *plot.Plot:
		return renderPlot(v), true
	case mat.Matrix:
		return cellio.Display{Data: map[string]any{"text/plain": formatMatrix(v)}}, true
	}
	return cellio.Display{}, false
}

// renderPlot draws a copy, so that the caller's plot keeps its fonts.
func renderPlot(p *plot.Plot) cellio.Display {
	if p == nil {
		return cellio.Display{Data: map[string]any{"text/plain": "<nil>"}}
	}
	q := *p
	measure(&q)
	for _, st := range []*text.Style{
		&q.Title.TextStyle, &q.X.Label.TextStyle, &q.Y.Label.TextStyle,
		&q.X.Tick.Label, &q.Y.Tick.Label, &q.Legend.TextStyle,
	} {
		st.Font = plainFont(st.Font)
	}
	if q.Title.Text != "" && q.Title.Padding == 0 {
		q.Title.Padding = vg.Length(6)
	}
	q.BackgroundColor = nil
	c := &Chart{Plot: &q, options: Options{Width: defaultWidth, Height: defaultHeight}, alt: plotWords(p)}
	return cellio.Display{Data: c.MIMEBundle(), Metadata: c.MIMEMetadata()}
}

// plainFont replaces gonum/plot's default serif; a font that was chosen stays.
func plainFont(f font.Font) font.Font {
	if f.Typeface == "Liberation" && f.Variant == "Serif" {
		f.Variant = "Sans"
	}
	return f
}

func plotWords(p *plot.Plot) string {
	words := "plot"
	if p.Title.Text != "" {
		words += " " + p.Title.Text
	}
	if p.X.Label.Text != "" || p.Y.Label.Text != "" {
		words += fmt.Sprintf(" (%s over %s)", p.Y.Label.Text, p.X.Label.Text)
	}
	return words
}

// formatMatrix is gonum's own form; Excerpt prints the dimensions above what it cuts.
func formatMatrix(m mat.Matrix) string {
	rows, columns := m.Dims()
	if rows <= 2*excerpt && columns <= 2*excerpt {
		return fmt.Sprintf("%v", mat.Formatted(m, mat.Squeeze()))
	}
	return fmt.Sprintf("%v", mat.Formatted(m, mat.Squeeze(), mat.Excerpt(excerpt)))
}
