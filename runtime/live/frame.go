package live

// Frame is an output whose content is replaced in place.
//
//	f := live.NewFrame()
//	defer f.Close()
//	live.Every(ctx, time.Second, func() bool { f.Set(query.Table()); return true })
//
// Its methods may be called from any goroutine.
type Frame struct{ p *painter }

// NewFrame returns a Frame; it appears below the cell that first sets it.
func NewFrame() *Frame { return &Frame{p: newPainter(0)} }

// Set replaces what is shown by v, anything that can be displayed. It returns at once: what comes more often than four times
// a second takes the place of what came before it, and the last is always shown. As v may be drawn a little later, do not
// change it afterwards. After Close nothing is shown.
func (f *Frame) Set(v any) { f.p.offer(func() any { return v }) }

// SetFunc is Set for what is dear to make: fn is called when its value is drawn, on your goroutine or the frame's, and not at
// all when another value takes its place. It must not call the frame.
func (f *Frame) SetFunc(fn func() any) { f.p.offer(fn) }

// Close shows what is not shown yet and ends the frame; its last content stays. What a cell sets is shown by its end without
// Close too.
func (f *Frame) Close() { f.p.close() }
