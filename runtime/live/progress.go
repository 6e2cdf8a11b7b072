package live

import (
	"fmt"
	"html"
	"strings"
	"sync"
	"time"

	"cancha/runtime/display"
)

// Progress is a bar with rate and time left, and at the end a line that says how long it took. Its methods may be called
// from any goroutine.
type Progress struct {
	p     *painter
	label string
	start time.Time

	mu    sync.Mutex
	total int
	n     int
	done  time.Duration // how long it took; 0 while it runs
}

// NewProgress returns a bar for total steps, 0 or less where their number is not known. label says what is counted, such as
// "trees". It appears when it has run for 200 ms or is done.
func NewProgress(total int, label string) *Progress {
	p := &Progress{p: newPainter(firstPaint), label: label, start: time.Now(), total: max(total, 0)}
	p.p.offer(p.view)
	return p
}

// Add counts n more steps.
func (p *Progress) Add(n int) { p.change(func() { p.n += n }) }

// Set counts n steps in all.
func (p *Progress) Set(n int) { p.change(func() { p.n = n }) }

// change keeps the count from 0 on; more steps than the total raise the total, so that the bar never runs backwards.
func (p *Progress) change(f func()) {
	p.mu.Lock()
	if p.done == 0 {
		f()
		p.n = max(p.n, 0)
		if p.total > 0 {
			p.total = max(p.total, p.n)
		}
	}
	p.mu.Unlock()
	p.p.offer(p.view)
}

// Done shows the final line, how many steps in how long, and ends the bar. Call it also when the work ends early:
//
//	p := live.NewProgress(100, "trees")
//	defer p.Done()
func (p *Progress) Done() {
	p.mu.Lock()
	if p.done == 0 {
		p.done = max(time.Since(p.start), 1)
	}
	p.mu.Unlock()
	p.p.offer(p.view)
	p.p.close()
}

// String is the bar in words.
func (p *Progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.words()
}

// words needs the lock.
func (p *Progress) words() string {
	count := group(p.n)
	if p.total > 0 {
		count += "/" + group(p.total)
	}
	if p.label != "" {
		count += " " + p.label
	}
	if p.done != 0 {
		return fmt.Sprintf("%s · done in %s", count, duration(p.done))
	}
	took := time.Since(p.start).Seconds()
	if p.n == 0 || took <= 0 {
		return count
	}
	rate := float64(p.n) / took
	text := fmt.Sprintf("%s · %s/s", count, significant(rate))
	if p.total > 0 {
		text += " · ETA " + duration(time.Duration(float64(p.total-p.n)/rate*float64(time.Second)))
	}
	return text
}

// view is the bar as HTML, which carries its own semantics for screen readers, and as text.
func (p *Progress) view() any {
	p.mu.Lock()
	defer p.mu.Unlock()
	words := p.words()
	bar := "<progress></progress>"
	switch {
	case p.total > 0:
		bar = fmt.Sprintf(`<progress value="%d" max="%d"></progress>`, p.n, p.total)
	case p.done != 0:
		bar = `<progress value="1" max="1"></progress>`
	}
	return display.Bundle{Data: map[string]any{"text/html": bar + " " + html.EscapeString(words), "text/plain": words}}
}

// duration writes d for people: 0.4 s, 8.1 s, 2 min 5 s, 3 h 12 min.
func duration(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 59.5:
		return fmt.Sprintf("%.0f s", s)
	case s < 3599.5:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%s h %d min", group(int(d/time.Hour)), d%time.Hour/time.Minute)
	}
}

// significant writes a rate with about three digits.
func significant(v float64) string {
	switch {
	case v >= 100:
		return group(int(v + 0.5))
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// group writes n with a comma every three digits.
func group(n int) string {
	s := fmt.Sprint(n)
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}
