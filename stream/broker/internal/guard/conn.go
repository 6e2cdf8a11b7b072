package guard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// conn is a peer's connection. Read is called by one goroutine at a time, Write by another.
type conn struct {
	net.Conn
	l    *Listener
	peer string
	used atomic.Int64 // Unix nanoseconds of the last request's arrival, or of the start
	end  sync.Once

	rest  []byte // of the request that is being handed over
	began bool   // the first request has come

	mu    sync.Mutex
	asked []Request // the last of those whose answers are to come
	held  int64     // bytes of l.pending that the last request holds
	ended bool      // none is held any more
}

// Read hands over checked requests, with their length in front as they came.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.rest = nil // whoever read it has a copy
	}
	return n, nil
}

// next reads and checks one request. The reader asks for it once it has handed on the one before, whose room is free again.
func (c *conn) next() error {
	c.free(false)
	frame, err := c.frame()
	if err == nil {
		err = check(frame[4:], c.l.limits)
	}
	var bad refusal
	switch {
	case err == nil:
		c.began, c.rest = true, frame
		c.used.Store(time.Now().UnixNano())
		c.ask(frame[4:])
		return nil
	case errors.As(err, &bad):
		c.refuse(bad.Error())
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.began:
		c.refuse("no whole request came in time")
	}
	return err
}

// ask notes a checked request. A broker has two of a connection at most, and one that wants no answer may be left over.
func (c *conn) ask(request []byte) {
	if c.l.Answering == nil {
		return
	}
	r := Request{
		Kind: int16(binary.BigEndian.Uint16(request)), Version: int16(binary.BigEndian.Uint16(request[2:])),
		Arrived: c.l.Arrived(), correlation: binary.BigEndian.Uint32(request[4:]),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	const most = 4
	c.asked = append(c.asked[max(0, len(c.asked)+1-most):], r)
}

// answer is what is sent for an answer, which begins with its length and the number of its request.
func (c *conn) answer(answer []byte) []byte {
	if c.l.Answering == nil || len(answer) < 8 {
		return answer
	}
	c.mu.Lock()
	at := slices.IndexFunc(c.asked, func(r Request) bool { return r.correlation == binary.BigEndian.Uint32(answer[4:]) })
	if at < 0 {
		c.mu.Unlock()
		return answer
	}
	r := c.asked[at]
	c.asked = c.asked[at+1:]
	c.mu.Unlock()
	return c.l.Answering(r, answer)
}

// frame reads a request with its length. The buffer grows with what arrives, by four times at most.
func (c *conn) frame() ([]byte, error) {
	wait := c.l.limits.Idle
	if !c.began {
		wait = c.l.limits.First
	}
	c.Conn.SetReadDeadline(time.Now().Add(wait))
	head := make([]byte, 4, 512)
	if _, err := io.ReadFull(c.Conn, head); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head))
	if size < headerBytes || size > int64(c.l.limits.RequestBytes) {
		return nil, refusal(fmt.Sprintf("it announced a request of %d bytes, and requests have %d to %d%s", size, headerBytes, c.l.limits.RequestBytes, likely(head)))
	}
	until := time.Now().Add(c.l.limits.Whole + time.Duration(size>>20)*time.Second)
	c.Conn.SetReadDeadline(until)
	return c.body(head, int(size), until)
}

// body reads the size bytes after head.
func (c *conn) body(head []byte, size int, until time.Time) ([]byte, error) {
	frame, have := head, len(head)
	for want := 4 + min(size, freeBytes); ; want = min(4*want, 4+size) {
		if err := c.hold(int64(want-have), until, want > 4+freeBytes); err != nil {
			return nil, err
		}
		frame = append(make([]byte, 0, want), frame...)[:want]
		if _, err := io.ReadFull(c.Conn, frame[have:]); err != nil {
			return nil, err
		}
		if have == 4 {
			if err := c.fits(frame[4:], size); err != nil {
				return nil, err
			}
		}
		if have = want; have == 4+size {
			return frame, nil
		}
	}
}

// fits refuses a large request by its first bytes where its kind is never so large.
func (c *conn) fits(start []byte, size int) error {
	if key := int16(binary.BigEndian.Uint16(start)); key != produce && size > c.l.limits.ControlBytes {
		return refusal(fmt.Sprintf("a request of kind %d with %d bytes: only Produce may have more than %d", key, size, c.l.limits.ControlBytes))
	}
	return nil
}

// hold takes room for n more bytes, waiting for it until then; what does not count is not held.
func (c *conn) hold(n int64, until time.Time, counts bool) error {
	if !counts {
		return nil
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	if err := c.l.pending.Acquire(ctx, n); err != nil {
		return refusal(fmt.Sprintf("no room for its request: %d bytes of others are on their way", c.l.limits.PendingBytes))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		c.l.pending.Release(n)
		return net.ErrClosed
	}
	c.held += n
	return nil
}

// free gives back the room of the last request; after the last time nothing is held any more.
func (c *conn) free(last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.l.pending.Release(c.held)
	c.held, c.ended = 0, c.ended || last
}

// likely names who starts with these bytes instead of a length.
func likely(head []byte) string {
	switch {
	case head[0] == 0x16 && head[1] == 3:
		return " (a TLS client: this broker speaks plain text, security.protocol=PLAINTEXT)"
	case head[0] >= 'A' && head[0] <= 'Z' && head[1] >= 'A' && head[1] <= 'Z':
		return fmt.Sprintf(" (it began with %q: an HTTP client?)", head)
	}
	return ""
}

// Write sends an answer, which is whole, in pieces; a peer that leaves one unread for too long is closed.
func (c *conn) Write(answer []byte) (int, error) {
	const piece = 256 << 10
	p := c.answer(answer)
	for done := 0; ; {
		c.Conn.SetWriteDeadline(time.Now().Add(c.l.limits.Taken))
		n, err := c.Conn.Write(p[done:min(done+piece, len(p))])
		done += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.refuse("it does not read its answers")
		}
		if err != nil {
			return min(done, len(answer)), err
		}
		if done == len(p) {
			return len(answer), nil
		}
	}
}

// refuse says why and closes.
func (c *conn) refuse(why string) {
	if c.close() {
		c.l.tell(c.peer, why)
	}
}

// Close ends the connection; calls of Read and Write that wait return.
func (c *conn) Close() error {
	c.close()
	return nil
}

// close reports whether this call was the one that closed.
func (c *conn) close() (first bool) {
	c.end.Do(func() {
		first = true
		c.l.forget(c)
		c.Conn.Close()
		c.free(true)
	})
	return first
}

// refusal is why a connection is ended.
type refusal string

func (r refusal) Error() string { return string(r) }
