package cellio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// maxHeader is more than a frame's header takes.
const maxHeader = 64 << 10

// MaxFrame is the largest frame in bytes, header and buffers included. It bounds what a damaged length can make
// the other side allocate; a 20 MB image is far below it.
const MaxFrame = 256 << 20

// ErrFrame reports bytes that are no frame. The connection is of no use afterwards: close it.
var ErrFrame = errors.New("cellio: not a frame")

// ErrTooLarge reports a frame above MaxFrame. Nothing of it has been sent; the connection is as it was.
var ErrTooLarge = errors.New("too large for a frame")

// Kind tells what a frame carries.
type Kind string

// Frames from the kernel to the engine.
const (
	KindExecute    Kind = "execute"     // run a cell; ends with KindDone of the same cell
	KindComplete   Kind = "complete"    // answered by KindAnswer of the same seq
	KindInspect    Kind = "inspect"     // answered by KindAnswer of the same seq
	KindIsComplete Kind = "is_complete" // answered by KindAnswer of the same seq
	KindInterrupt  Kind = "interrupt"   // stop the running cell, keep its state
	KindInputReply Kind = "input_reply" // body InputReply: answers the KindInput of the same seq
	KindCredit     Kind = "credit"      // body Credit: so much more output may be sent
	KindExit       Kind = "exit"        // end the process in order
)

// Frames in both directions: a comm, Jupyter's channel between a front end and what a cell made. From the kernel, Cell is a
// serial number of its own, under which what the handler prints is shown, and KindDone of it follows; from the engine, Cell is
// the cell or the handler that sends.
const (
	KindCommOpen  Kind = "comm_open"  // body Comm with a Target
	KindCommMsg   Kind = "comm_msg"   // body Comm
	KindCommClose Kind = "comm_close" // body Comm
)

// Frames from the engine to the kernel.
const (
	KindReady   Kind = "ready"   // the engine serves; body tells what it is
	KindStream  Kind = "stream"  // body Stream
	KindDisplay Kind = "display" // body Display
	KindUpdate  Kind = "update"  // body Display: replaces what its id showed before
	KindResult  Kind = "result"  // body Display: the value of the cell's last expression
	KindClear   Kind = "clear"   // body Clear
	KindInput   Kind = "input"   // body Input: asks the user; answered by KindInputReply of the same seq
	KindDone    Kind = "done"    // the cell has ended; nothing of its own text follows but its goroutines' output
	KindAnswer  Kind = "answer"  // answer to a question with the same seq
)

// Frame is one unit of the hall. Cell is the serial number of the cell's execution (from 1), 0 where no cell is meant.
// Seq pairs a question with its answer. Body is JSON; Buffers are raw bytes beside it.
type Frame struct {
	Kind    Kind
	Cell    int64
	Seq     uint64
	Body    json.RawMessage
	More    [][]byte // of the body, after Body, in a large frame that is to be sent; see [Frame.Whole]
	Buffers [][]byte
}

// Whole returns the frame as it is received: its body in one piece.
func (f Frame) Whole() Frame {
	f.Body, f.More = slices.Concat(f.Body, bytes.Join(f.More, nil)), nil
	return f
}

// Stream is output of a cell: Name is "stdout" or "stderr".
type Stream struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Display is one value in several MIME types: binary types as base64 text, JSON types as JSON values. As JSON it is the content of
// Jupyter's display_data, so that a kernel passes it on without a copy.
type Display struct {
	Data      map[string]any `json:"data"`
	Metadata  map[string]any `json:"metadata"`
	Transient Transient      `json:"transient"`
	Update    bool           `json:"-"` // it replaces what its id showed before: [Outlet.Emit] sends it as KindUpdate
}

// Transient is what belongs to a display and is not saved with it: the id by which it can be replaced, "" for none.
type Transient struct {
	ID string `json:"display_id,omitempty"`
}

// Clear asks the front end to clear the cell's output, with Wait only when the next output arrives.
type Clear struct {
	Wait bool `json:"wait"`
}

// Input asks the user at the front end for a line; a Password is not to be seen as it is typed.
type Input struct {
	Prompt   string `json:"prompt"`
	Password bool   `json:"password"`
}

// InputReply is what the user answered: a line without its end, or EOF, or Err where nobody can be asked.
type InputReply struct {
	Value string `json:"value"`
	EOF   bool   `json:"eof,omitempty"`
	Err   string `json:"error,omitempty"`
}

// Comm is a message of a comm, in Jupyter's words; its binary buffers are those of the frame. Target is set in KindCommOpen. Message, the
// id of the Jupyter message, is set in frames from the kernel.
type Comm struct {
	ID       string          `json:"comm_id"`
	Target   string          `json:"target_name,omitempty"`
	Message  string          `json:"msg_id,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

type header struct {
	Kind  Kind   `json:"kind"`
	Cell  int64  `json:"cell,omitempty"`
	Seq   uint64 `json:"seq,omitempty"`
	Sizes []int  `json:"sizes"`
}

// Conn carries frames over a byte stream. Send may be called from any goroutine; Receive from one.
type Conn struct {
	rwc io.ReadWriteCloser
	r   *bufio.Reader
	mu  sync.Mutex // orders whole frames on the wire
}

// NewConn returns a Conn that owns rwc.
func NewConn(rwc io.ReadWriteCloser) *Conn {
	return &Conn{rwc: rwc, r: bufio.NewReaderSize(rwc, 64<<10)}
}

// Close closes the byte stream; a blocked Receive returns an error.
func (c *Conn) Close() error { return c.rwc.Close() }

// Send writes one frame whole. It blocks while the other side does not read. A frame above MaxFrame is refused
// with ErrTooLarge.
func (c *Conn) Send(f Frame) error {
	head, total, err := encodeHeader(f)
	if err != nil {
		return err
	}
	first := make([]byte, 8, 8+len(head)+min(len(f.Body), oneWrite))
	binary.BigEndian.PutUint32(first, uint32(total))
	binary.BigEndian.PutUint32(first[4:], uint32(len(head)))
	parts := slices.Concat([][]byte{append(first, head...), f.Body}, f.More, f.Buffers)
	if len(f.Body) <= oneWrite {
		parts[0], parts[1] = append(parts[0], f.Body...), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		if _, err := c.rwc.Write(part); err != nil {
			return fmt.Errorf("send %s frame: %w", f.Kind, err)
		}
	}
	return nil
}

// oneWrite is the largest body in bytes that is copied behind its header rather than written after it.
const oneWrite = 64 << 10

func encodeHeader(f Frame) (head []byte, total int, err error) {
	body := len(f.Body)
	for _, b := range f.More {
		body += len(b)
	}
	h := header{Kind: f.Kind, Cell: f.Cell, Seq: f.Seq, Sizes: []int{body}}
	total = 4 + body
	for _, b := range f.Buffers {
		h.Sizes = append(h.Sizes, len(b))
		total += len(b)
	}
	head, err = json.Marshal(h)
	if err != nil {
		return nil, 0, fmt.Errorf("send %s frame: %w", f.Kind, err)
	}
	total += len(head)
	if total > MaxFrame {
		return nil, 0, fmt.Errorf("send %s frame: %w: %d bytes, of at most %d", f.Kind, ErrTooLarge, total, MaxFrame)
	}
	return head, total, nil
}

// Receive reads one frame. At the end of the stream, between frames, it returns io.EOF; inside a frame
// io.ErrUnexpectedEOF; for bytes that are no frame ErrFrame; else the error of the stream.
func (c *Conn) Receive() (Frame, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.r, size[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > MaxFrame {
		return Frame{}, fmt.Errorf("%w: length %d", ErrFrame, n)
	}
	raw, err := readAll(c.r, int(n))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Frame{}, err
	}
	return decode(raw)
}

// eagerFrame is how much memory a length alone can claim: above it memory follows the bytes that arrive.
const eagerFrame = 32 << 20

func readAll(r io.Reader, n int) ([]byte, error) {
	if n <= eagerFrame {
		raw := make([]byte, n)
		_, err := io.ReadFull(r, raw)
		return raw, err
	}
	whole := bytes.NewBuffer(make([]byte, 0, eagerFrame))
	_, err := io.CopyN(whole, r, int64(n))
	return whole.Bytes(), err
}

func decode(raw []byte) (Frame, error) {
	n := int64(binary.BigEndian.Uint32(raw))
	raw = raw[4:]
	if n > int64(len(raw)) {
		return Frame{}, fmt.Errorf("%w: header of %d bytes in %d", ErrFrame, n, len(raw))
	}
	var h header
	if err := json.Unmarshal(raw[:n], &h); err != nil {
		return Frame{}, fmt.Errorf("%w: header: %v", ErrFrame, err)
	}
	f := Frame{Kind: h.Kind, Cell: h.Cell, Seq: h.Seq}
	raw = raw[n:]
	for i, size := range h.Sizes {
		if size < 0 || size > len(raw) {
			return Frame{}, fmt.Errorf("%w: part %d of %d bytes where %d are left", ErrFrame, i, size, len(raw))
		}
		if i == 0 {
			f.Body = raw[:size:size]
		} else {
			f.Buffers = append(f.Buffers, raw[:size:size])
		}
		raw = raw[size:]
	}
	if len(raw) != 0 {
		return Frame{}, fmt.Errorf("%w: %d bytes too many", ErrFrame, len(raw))
	}
	return f, nil
}
