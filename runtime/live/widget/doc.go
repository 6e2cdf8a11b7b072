// Package widget shows controls in a notebook and tells Go what a user does with them: sliders, fields, buttons, progress bars,
// boxes of them. It speaks the protocol of ipywidgets 8, so that they show wherever ipywidgets do, and ends there: how they look
// is the front end's business.
//
//	trees := widget.NewIntSlider(widget.IntSliderConfig{Description: "trees", Value: 50, Min: 1, Max: 200})
//	shown := widget.NewOutput()
//	trees.OnChange(func(old, new int) {
//		shown.Clear(true)
//		shown.With(func() { fmt.Println(new, "trees") })
//	})
//	widget.NewVBox(trees, shown)
//
// A widget is shown as the last expression of a cell, or by display.Show, as often as one likes: all views are of one widget. Every
// display carries its value as plain text and HTML too, for front ends without widgets and for saved notebooks.
//
// A change by a user is handled beside the running cell, one after another for each widget; see package comm for what that means.
// What a callback prints belongs to no cell: give it to an [Output], or change a widget, a frame or a chart that is shown. A change by
// Go is sent at once, further ones within 50 ms together, and the last always. What comes from outside and is no value for a widget
// is refused, a number outside its range clamped, and the front end is told the value that counts.
//
// The methods may be called from any goroutine. Outside a cell widgets are plain values that nobody moves.
package widget
