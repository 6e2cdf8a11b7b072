package session

import (
	"context"
	"errors"
	"fmt"
	"html"
	"strconv"
	"strings"
	"sync"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/running"
	"cancha/runtime/live"
)

// UI shows the address of the page on which everything is shown that runs in this process, and below it a small view of what runs now, which
// changes once a second until nothing runs any more, the cell is interrupted, UI is called again, or an hour is over. The page is on port 4040, or the next free
// one, as Spark's; cancha.ui false turns it off. An error says why there is no page.
func UI() error {
	page := running.Process().Page()
	if page.Off != "" {
		return errors.New("session: no page: " + page.Off)
	}
	v := view{page, running.Process()}
	if cellio.CurrentRun() == nil {
		fmt.Fprintln(cellio.Stdout, page.URL)
		return nil
	}
	frame := live.NewFrame()
	frame.Set(v.now())
	cellio.Resident(func() *follower { return &follower{} }).follow(Context(), frame, v)
	return nil
}

// viewLife is for how long a view changes at most: what runs for longer is looked at on the page.
const viewLife = time.Hour

// follower renews the view that was shown last: front ends take only so many updates, and an older one is out of sight.
type follower struct {
	mu   sync.Mutex
	stop context.CancelFunc
}

func (f *follower) follow(ctx context.Context, frame *live.Frame, v view) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		f.stop()
	}
	ctx, f.stop = context.WithTimeout(ctx, viewLife)
	go func() { // ends with ctx, or with what runs
		defer frame.Close()
		live.Every(ctx, time.Second, func() bool {
			frame.Set(v.now())
			return len(v.registry.Live()) > 0
		})
	}()
}

// view is what runs, as a cell shows it.
type view struct {
	page     running.Page
	registry *running.Registry
}

// snapshot is a view at one time.
type snapshot struct {
	page running.Page
	rows [][]string
}

func (v view) now() snapshot {
	s := snapshot{page: v.page}
	for _, e := range v.registry.Live() {
		s.rows = append(s.rows, []string{string(e.Kind), e.Name, e.Elapsed().Round(time.Second).String(), does(e)})
	}
	return s
}

// does tells in a few words how far a thing has come.
func does(e *running.Entry) string {
	switch t := e.Thing().(type) {
	case running.Streamer:
		return reads(e, t.Progress())
	case running.Worker:
		w := t.Work()
		if w.Total == 0 {
			return fmt.Sprintf("%d %s", w.Done, w.Unit)
		}
		return fmt.Sprintf("%d of %d %s", w.Done, w.Total, w.Unit)
	case running.Sender:
		return strconv.FormatInt(t.Sent().Acknowledged, 10) + " records"
	case running.Device:
		d := t.Device()
		return fmt.Sprintf("%d operations on the CPU, %d on the GPU", d.Operations[0], d.Operations[1])
	}
	return ""
}

// reads tells of a query how fast it reads, or by what it is held up: the numbers of a report that is old are not those of now.
func reads(e *running.Entry, p running.Progress) string {
	hold := running.HoldOf(e, p, running.EpochAge(e.Thing()), 0)
	text := fmt.Sprintf("%.0f rows/s, batch %d", p.InputRowsPerSecond, p.BatchID)
	switch {
	case hold.Silent > 0:
		return fmt.Sprintf("batch %d. %s", p.BatchID, hold)
	case hold.Is():
		return text + ". " + hold.String()
	}
	return text
}

// MIMEBundle shows the address as a link, and a table.
func (s snapshot) MIMEBundle() map[string]any {
	var b strings.Builder
	address := html.EscapeString(s.page.URL)
	fmt.Fprintf(&b, `<div><a href="%s" target="_blank" rel="noopener">%s</a> shows what runs`, address, address)
	fmt.Fprintf(&b, ` (behind jupyter-server-proxy: <a href="%s" target="_blank" rel="noopener">/proxy/%d/</a>)</div>`, html.EscapeString(s.page.Proxied), s.page.Port)
	b.WriteString(`<table style="border-collapse:collapse;font-variant-numeric:tabular-nums"><tbody>`)
	for _, row := range s.rows {
		b.WriteString("<tr>")
		for _, cell := range row {
			fmt.Fprintf(&b, `<td style="padding:2px 10px 2px 0;text-align:left">%s</td>`, html.EscapeString(cell))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table>")
	if len(s.rows) == 0 {
		b.WriteString("<div>nothing runs</div>")
	}
	return map[string]any{"text/html": b.String(), "text/plain": s.String()}
}

// String is the same as text.
func (s snapshot) String() string {
	lines := []string{s.page.URL + " shows what runs"}
	for _, row := range s.rows {
		lines = append(lines, strings.Join(row, "  "))
	}
	if len(s.rows) == 0 {
		lines = append(lines, "nothing runs")
	}
	return strings.Join(lines, "\n")
}
