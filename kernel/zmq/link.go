package zmq

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"cancha/kernel/zmq/curve"
)

// Errors of a peer that breaks ZMTP or a limit; its connection is closed.
var (
	errFrame   = errors.New("not a ZMTP frame")
	errTooLong = errors.New("longer than the limit")
)

// Bits of a ZMTP frame's first byte (rfc.zeromq.org/spec:23).
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

const (
	greetingSize = 64
	mechanismAt  = 12       // in the greeting
	asServerByte = 32       // in the greeting, behind the mechanism
	eagerFrame   = 64 << 10 // frames above this are read here, piece by piece
	firstPiece   = 32 << 10 // what a claimed length costs before a byte of it has come
	largestPiece = 1 << 20
	stride       = 256 << 10 // bytes for which a message that is not whole has Limits.Stall
)

// link is the connection as the library sees it. It reads frame headers before the library does, for three reasons: the
// library allocates whatever length a header claims; it would answer a PING from the reading goroutine, into the middle of
// a message that is being written; and it forgets the name of every other command. So a link refuses what is over the
// limits, and once live it takes commands out of the stream and gives them to onCommand.
//
// Read is called by one goroutine. Write is the library's and goes through a buffer: the writing goroutine calls flush.
type link struct {
	net.Conn
	in        *bufio.Reader
	out       *bufio.Writer
	lim       Limits
	live      bool // the handshake is over
	signed    bool // the peer has the key: it is believed how long its frames are
	onCommand func(name string, body []byte) error
	onArrival func(bytes int64) (waited bool) // told what has come of a large message, which then has limited time; 0 once it is taken

	asServer bool           // the greeting is to say so
	session  *curve.Session // nil: not encrypted, or not yet
	sealed   []byte         // what is written next, of an encrypted connection

	greeting int // bytes of the peer's greeting still to pass on
	greeted  [greetingSize]byte
	ahead    net.Buffers // bytes to pass on before the body: a frame's header, or a large frame whole
	body     uint64      // bytes of the frame's body still to pass on
	size     int64       // of the message so far
	parts    int         // frames of the message so far
	arrived  int64       // bytes of the message that have come
	due      int64       // of arrived, at which time begins anew
}

// newLink returns the link over raw; its writes end in out.
func newLink(raw net.Conn, out io.Writer, lim Limits) *link {
	return &link{
		Conn: raw, lim: lim, greeting: greetingSize, due: maxSmall,
		in: bufio.NewReaderSize(raw, 8<<10), out: bufio.NewWriterSize(out, 16<<10), // what is larger goes past them
	}
}

// Write buffers p. Until the link is live it is sent at once: the peer waits for it.
func (l *link) Write(p []byte) (int, error) {
	if l.asServer && len(p) == greetingSize { // the library's greeting never says so, and nothing else of it is so long
		p = slices.Clone(p)
		p[asServerByte] = 1
		l.asServer = false
	}
	n, err := l.out.Write(p)
	if err == nil && !l.live {
		err = l.out.Flush()
	}
	return n, err
}

func (l *link) flush() error { return l.out.Flush() }

func (l *link) Read(p []byte) (int, error) {
	if l.greeting > 0 {
		n, err := l.in.Read(p[:min(len(p), l.greeting)])
		copy(l.greeted[greetingSize-l.greeting:], p[:n])
		l.greeting -= n
		return n, err
	}
	if len(l.ahead) == 0 && l.body == 0 {
		if err := l.nextFrame(); err != nil {
			return 0, err
		}
	}
	if len(l.ahead) > 0 {
		return l.ahead.Read(p)
	}
	n, err := incoming{l}.Read(p[:min(uint64(len(p)), l.body)])
	l.body -= uint64(n)
	return n, err
}

// incoming reads bodies of frames and tells of what arrives, at most a piece at a time: a socket can hold many.
type incoming struct{ *link }

func (l incoming) Read(p []byte) (int, error) {
	n, err := l.in.Read(p[:min(len(p), largestPiece)])
	if late := l.came(n); err == nil {
		err = late
	}
	return n, err
}

// came tells of so many bytes more, and gives what goes on more time.
func (l *link) came(n int) error {
	l.arrived += int64(n)
	if l.onArrival == nil || l.arrived <= maxSmall {
		return nil
	}
	waited := l.onArrival(l.arrived)
	if !waited && l.arrived <= l.due {
		return nil
	}
	l.due = l.arrived + stride
	return l.SetReadDeadline(time.Now().Add(l.lim.Stall))
}

// copied lets go of the pieces of a message that the library has put together, or of what was in the boxes.
func (l *link) copied() {
	if !l.signed || l.session != nil {
		l.lim.litter.add(l.arrived)
	}
}

// whole begins to count anew: the message has been read, and taken.
func (l *link) whole() (err error) {
	if l.arrived > maxSmall {
		l.onArrival(0)
		l.lim.litter.add(l.arrived)
		err = l.SetReadDeadline(time.Time{})
	}
	l.arrived, l.due = 0, maxSmall
	return err
}

// letGo gives back what an unfinished message has taken; nobody reads any more.
func (l *link) letGo() {
	l.ahead = nil
	l.lim.litter.add(l.arrived)
}

// nextFrame reads headers up to that of a frame that the library is to see.
func (l *link) nextFrame() error {
	for {
		head, err := l.readHeader()
		if err != nil {
			return err
		}
		command, size := head[0]&flagCommand != 0, frameSize(head)
		if l.live && l.session != nil {
			if passed, err := l.nextSealed(head, size); passed || err != nil {
				return err
			}
			continue
		}
		switch {
		case command && size > maxCommand:
			return fmt.Errorf("command of %d bytes: %w", size, errTooLong)
		case command && head[0]&flagMore != 0, !command && !l.live:
			return fmt.Errorf("flags %#x: %w", head[0], errFrame)
		case command && l.live:
			raw := make([]byte, size)
			if _, err := io.ReadFull(l.in, raw); err != nil {
				return err
			}
			if err := l.command(raw); err != nil {
				return err
			}
			continue
		case !command:
			if err := l.admit(size); err != nil {
				return err
			}
			l.count(head[0], size)
		}
		return l.passOn(head, size)
	}
}

// readHeader returns the two or nine bytes before a frame's body.
func (l *link) readHeader() ([]byte, error) {
	head := make([]byte, 2, 9)
	if _, err := io.ReadFull(l.in, head); err != nil {
		return nil, err
	}
	if head[0]&^(flagMore|flagLong|flagCommand) != 0 {
		return nil, fmt.Errorf("flags %#x: %w", head[0], errFrame)
	}
	if head[0]&flagLong != 0 {
		head = head[:9]
		if _, err := io.ReadFull(l.in, head[2:]); err != nil {
			return nil, err
		}
	}
	return head, nil
}

func frameSize(head []byte) uint64 {
	if head[0]&flagLong != 0 {
		return binary.BigEndian.Uint64(head[1:])
	}
	return uint64(head[1])
}

// admit refuses a frame with which its message would be over the limits.
func (l *link) admit(size uint64) error {
	if size > uint64(l.lim.Message) || l.size+int64(size) > l.lim.Message {
		return fmt.Errorf("message of %d bytes and more: %w", size, errTooLong)
	}
	if l.parts >= l.lim.Parts {
		return fmt.Errorf("message of more than %d frames: %w", l.lim.Parts, errTooLong)
	}
	return nil
}

// count adds a frame to its message.
func (l *link) count(flags byte, size uint64) {
	l.size, l.parts = l.size+int64(size), l.parts+1
	if flags&flagMore == 0 {
		l.size, l.parts = 0, 0
	}
}

// passOn makes a frame ready for the library. A stranger's large one is read first, in pieces of at most what has come of it, so that memory
// follows the bytes that arrive and not the length that is claimed; that costs a copy (20 MB: some milliseconds, and its memory twice).
func (l *link) passOn(head []byte, size uint64) error {
	l.ahead = append(l.ahead, head)
	if size <= eagerFrame || l.signed {
		l.body = size
		return nil
	}
	pieces, err := l.readPieces(size)
	l.ahead = append(l.ahead, pieces...)
	return err
}

// readPieces reads so many bytes in pieces of at most what has come of them.
func (l *link) readPieces(size uint64) (pieces [][]byte, err error) {
	for came := uint64(0); came < size; {
		piece := make([]byte, min(size-came, max(firstPiece, min(came, largestPiece))))
		if _, err := io.ReadFull(incoming{l}, piece); err != nil {
			return nil, err
		}
		pieces = append(pieces, piece)
		came += uint64(len(piece))
	}
	return pieces, nil
}

// command gives a command to onCommand.
func (l *link) command(raw []byte) error {
	if len(raw) == 0 || int(raw[0]) > len(raw)-1 {
		return fmt.Errorf("command without a name: %w", errFrame)
	}
	n := 1 + int(raw[0])
	return l.onCommand(string(raw[1:n]), raw[n:])
}
