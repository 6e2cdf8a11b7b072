package stream_test

import (
	"testing"
	"time"

	. "cancha/stream"
)

func TestATimerThatSetsItselfEndsWithTheSource(t *testing.T) {
	const beats = `{"host":"x","at":"2026-03-01T12:00:00Z"}
		{"host":"y","at":"2026-03-01T12:01:30Z"}
		{"host":"x","at":"2026-03-01T12:02:30Z"}`
	minutes := Processing{Name: "minutes", Keys: []string{"host"}, TimeToLive: time.Hour,
		Columns: []Column{{Name: "host", Kind: Text}, {Name: "minute", Kind: Time}},
		State:   func() any { return new(bool) },
		Row: func(c *Context, s any, _ Row) error {
			if armed := s.(*bool); !*armed {
				*armed = true
				c.SetTimer(c.Time().Add(time.Minute))
			}
			return nil
		},
		Timer: func(c *Context, _ any, at time.Time) error {
			c.SetTimer(at.Add(time.Minute))
			return c.Emit(c.Key()[0], at)
		}}
	for _, delay := range []time.Duration{0, time.Hour} { // with the second no timer is due before the end
		got, _ := run(t, timed(beats).Watermark(delay).Process(minutes))
		want(t, got, `host,minute
			x,2026-03-01T12:01:00Z
			x,2026-03-01T12:02:00Z
			x,2026-03-01T12:03:00Z
			y,2026-03-01T12:02:30Z
			y,2026-03-01T12:03:30Z`)
	}
}
