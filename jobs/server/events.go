package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/store"
)

// mostStreams is how many streams of events there are at most: each looks into the store a few times a second.
const mostStreams = 64

// What a stream does when.
const (
	looks  = 200 * time.Millisecond // between two looks for events
	breath = 15 * time.Second       // after which a comment tells that the stream lives, so that no proxy ends it
	slow   = 10 * time.Second       // which a reader may take to take what was written
	batch  = 500                    // events of one look
)

// events sends what happens to jobs, from now on, or behind the number that the reader has seen last. Of long ago there are none any more:
// then an event "missed" tells how many are gone.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		writeJSON(w, http.StatusServiceUnavailable, failure{fmt.Sprintf("%d streams of events are open, which is the most; close one", mostStreams)})
		return
	}
	_, last, err := s.config.Scheduler.Events(0, 0)
	if err != nil {
		s.refuse(w, err)
		return
	}
	after, err := readAfter(r, last)
	if err != nil {
		s.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	if r.Method == http.MethodHead {
		return // nothing is written that could tell when its reader has gone
	}
	o := &stream{w: w, control: http.NewResponseController(w)}
	// Or the server's ReadTimeout ends the stream: it looks for the next request, or the end of the connection, meanwhile.
	if o.control.SetReadDeadline(time.Time{}) == nil && o.comment("cancha jobs") {
		s.follow(r, o, after)
	}
}

// readAfter reads behind which event a stream begins; a number below 0 is that many before the last one. One beyond the last is of another
// store: all there is, is new.
func readAfter(r *http.Request, last uint64) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return last, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return 0, &job.Invalid{Field: "Last-Event-ID", Why: fmt.Sprintf("%.100q; it is the number of an event", text)}
	case after < 0:
		return uint64(max(int64(last)+max(after, -mostBefore), 0)), nil
	case uint64(after) > last:
		return 0, nil
	}
	return uint64(after), nil
}

// mostBefore is more events than are kept.
const mostBefore = 1_000_000

// follow sends events until the reader goes, or the server is closed.
func (s *Server) follow(r *http.Request, o *stream, after uint64) {
	tick := time.NewTicker(looks)
	defer tick.Stop()
	for {
		all, _, err := s.config.Scheduler.Events(after, batch)
		if err != nil { // the store is closed, or damaged: the reader comes again, and hears that
			return
		}
		if len(all) > 0 && !o.send(all, &after) || time.Since(o.wrote) > breath && !o.comment("") {
			return
		}
		if len(all) == batch {
			continue
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		case <-s.config.Scheduler.Done():
			return
		}
	}
}

// stream writes events. Its methods are false when the reader has gone.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	wrote   time.Time
}

func (o *stream) send(all []store.Event, after *uint64) bool {
	var text []byte
	if gap := all[0].Number - *after - 1; gap > 0 {
		text = fmt.Appendf(text, "event: missed\ndata: {\"missed\":%d}\n\n", gap)
	}
	for _, e := range all {
		data, err := json.Marshal(eventView{e.Number, unix(e.At), e.Job, e.Type, string(e.State), e.Worker, e.Text})
		if err != nil {
			return false
		}
		text = fmt.Appendf(text, "id: %d\ndata: %s\n\n", e.Number, data)
		*after = e.Number
	}
	return o.write(text)
}

// comment writes what a reader passes over.
func (o *stream) comment(text string) bool { return o.write([]byte(": " + text + "\n\n")) }

func (o *stream) write(text []byte) bool {
	o.wrote = time.Now()
	if o.control.SetWriteDeadline(o.wrote.Add(slow)) != nil {
		return false
	}
	if _, err := o.w.Write(text); err != nil {
		return false
	}
	return o.control.Flush() == nil
}

// eventView is an event as JSON, under the contract's names.
type eventView struct {
	Number uint64  `json:"number"`
	At     float64 `json:"at"`
	ID     string  `json:"job_id"`
	Type   string  `json:"job_type"`
	State  string  `json:"state"`
	Worker string  `json:"worker_id,omitempty"`
	Text   string  `json:"text,omitempty"` // the reason, or the error
}
