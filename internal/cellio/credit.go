package cellio

// Credit is how much more output an engine may send: a number of messages, and a number of bytes, which counts bodies, buffers and
// messageCost for each message. The kernel grants it ([KindCredit]) as fast as front ends take output. Each frame that is sent uses up its
// [Frame.Cost]. A frame may cost more than is left; the next one then waits until grants have made up for it.
type Credit struct {
	Messages int `json:"messages"`
	Bytes    int `json:"bytes"`
}

// messageCost is what a message takes beside its body: two headers, mostly.
const messageCost = 1 << 10

// maxText bounds a stream message in bytes of JSON.
const maxText = 512 << 10

// Add returns the sum.
func (c Credit) Add(d Credit) Credit { return Credit{c.Messages + d.Messages, c.Bytes + d.Bytes} }

// Sub returns the difference.
func (c Credit) Sub(d Credit) Credit { return Credit{c.Messages - d.Messages, c.Bytes - d.Bytes} }

// Floor returns c with zero in place of what is below it.
func (c Credit) Floor() Credit { return Credit{max(0, c.Messages), max(0, c.Bytes)} }

// output reports whether front ends get the kind as messages of their own.
func (k Kind) output() bool {
	switch k {
	case KindStream, KindDisplay, KindUpdate, KindResult, KindClear, KindCommOpen, KindCommMsg, KindCommClose:
		return true
	}
	return false
}

// Cost is the credit that sending the frame uses up: none for a frame that is not output.
func (f Frame) Cost() Credit {
	if !f.Kind.output() {
		return Credit{}
	}
	return Credit{Messages: 1, Bytes: f.size() + messageCost}
}

// size is how many bytes the frame carries.
func (f Frame) size() int {
	n := len(f.Body)
	for _, b := range f.More {
		n += len(b)
	}
	for _, b := range f.Buffers {
		n += len(b)
	}
	return n
}

// Grant gives the outlet more credit. It does not wait, because its caller must go on reading what the kernel sends.
func (o *Outlet) Grant(c Credit) {
	o.granting.Lock()
	defer o.granting.Unlock()
	o.granted = o.granted.Add(c)
	o.granter.Reset(0)
}

// regrant takes in what was granted, on the granter's goroutine.
func (o *Outlet) regrant() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.granting.Lock()
	c := o.granted
	o.granted = Credit{}
	o.granting.Unlock()
	o.limited = true
	o.balance = o.balance.Add(c)
	if o.stalled {
		_ = o.pump(pumpWhole) // a dead kernel is seen by the reader
	}
	o.signal()
}

// Hurry lets output leave without credit until done is called.
func (o *Outlet) Hurry() (done func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hurrying++
	o.signal()
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.hurrying--
	}
}

// credit tells whether output may be sent.
func (o *Outlet) credit() bool {
	return !o.limited || o.hurrying > 0 || o.balance.Messages > 0 && o.balance.Bytes > messageCost
}

// spend sends output and takes its cost from the credit.
func (o *Outlet) spend(f Frame) error {
	o.balance = o.balance.Sub(f.Cost())
	return o.send(f)
}

// signal wakes who waits.
func (o *Outlet) signal() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// waiter is a goroutine that may have to wait for credit.
type waiter struct {
	outlet      *Outlet
	run         *Run            // of the goroutine
	interrupted <-chan struct{} // its next interrupt
	err         error           // it is to wait no longer, and not to write
}

// wait returns when something has changed. It is true where the goroutine may write though there be no credit: while its cell
// ends, and where the cell handles the interrupt that ends the wait itself and what it writes is little. The caller holds the
// outlet's lock, which is free meanwhile.
func (w *waiter) wait(little bool) (must bool) {
	if w.interrupted == nil {
		if w.run = CurrentRun(); w.run != nil {
			w.interrupted = w.run.nextInterrupt()
		}
	}
	if w.run != nil && w.run.atEnd() {
		return true
	}
	var over <-chan struct{}
	if w.run != nil {
		over = w.run.Context().Done()
	}
	o := w.outlet
	changed := o.changed
	o.mu.Unlock()
	defer o.mu.Lock()
	select {
	case <-over:
		w.err = ErrInterrupted
	case <-w.interrupted:
		select {
		case <-over:
			w.err = ErrInterrupted
			return false
		default:
		}
		if !little {
			w.err = ErrInterrupted
		}
		return little
	case <-changed:
	}
	return false
}
