package zmq

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/zmq/curve"
)

// send writes a message: as the library does it, or each frame in a box of its own.
func (l *link) send(conn *zmq4.Conn, frames [][]byte) error {
	if l.session == nil {
		return conn.SendMsg(zmq4.NewMsgFrom(frames...))
	}
	for i, f := range frames {
		flags := byte(0)
		if i+1 < len(frames) {
			flags = curve.More
		}
		if err := l.seal(flags, f); err != nil {
			return err
		}
	}
	return nil
}

// sendCommand is send for a command.
func (l *link) sendCommand(conn *zmq4.Conn, name string, body []byte) error {
	if l.session == nil {
		return conn.SendCmd(name, body)
	}
	return l.seal(curve.Command, slices.Concat([]byte{byte(len(name))}, []byte(name), body))
}

// seal writes a frame as a MESSAGE. libzmq sends that as a message, not as a command, and so do we.
func (l *link) seal(flags byte, frame []byte) error {
	head := make([]byte, 0, 9)
	if size := len(frame) + curve.Overhead; size > 255 {
		head = binary.BigEndian.AppendUint64(append(head, flagLong), uint64(size))
	} else {
		head = append(head, 0, byte(size))
	}
	l.sealed = l.session.Seal(append(l.sealed[:0], head...), flags, frame)
	_, err := l.out.Write(l.sealed)
	if cap(l.sealed) > eagerFrame {
		l.lim.litter.add(2 * int64(cap(l.sealed))) // it, and the frame beside its flags
		l.sealed = nil
	}
	return err
}

// nextSealed reads a MESSAGE and makes the frame in it ready for the library; passed is false where that was a command, which is not the
// library's. What is over the limits is refused by the length of the MESSAGE, before it is read, unless it may be a command: a command is
// no frame of a message, and may stand between two of them.
func (l *link) nextSealed(head []byte, size uint64) (passed bool, err error) {
	if head[0]&flagMore != 0 || size < uint64(curve.Overhead) {
		return false, fmt.Errorf("flags %#x and %d bytes: %w", head[0], size, errFrame)
	}
	mayBeCommand := size <= uint64(maxCommand+curve.Overhead)
	if !mayBeCommand {
		if err := l.admit(size - uint64(curve.Overhead)); err != nil {
			return false, err
		}
	}
	message, err := l.readSealed(size)
	if err != nil {
		return false, err
	}
	flags, frame, err := l.session.Open(message)
	if err != nil {
		return false, err
	}
	switch {
	case flags == curve.Command && !mayBeCommand:
		return false, fmt.Errorf("command of %d bytes: %w", len(frame), errTooLong)
	case flags == curve.Command:
		return false, l.command(frame)
	case mayBeCommand: // and is none
		if err := l.admit(uint64(len(frame))); err != nil {
			return false, err
		}
	}
	return true, l.passOpened(flags, frame)
}

// passOpened makes a frame ready for the library.
func (l *link) passOpened(flags byte, frame []byte) error {
	if len(frame) > eagerFrame {
		l.lim.litter.add(int64(len(frame))) // its box
	}
	l.count(flags, uint64(len(frame)))
	l.ahead = append(l.ahead, plainHead(flags, len(frame)), frame)
	if len(frame) > maxCommand {
		return nil // has been told as it came
	}
	return l.came(len(frame) + curve.Overhead)
}

// readSealed reads a MESSAGE whole: nothing of it can be used before that. Whether a small one is a command, and so no part of a message
// that arrives, is not known yet.
func (l *link) readSealed(size uint64) ([]byte, error) {
	switch {
	case size <= uint64(maxCommand+curve.Overhead):
		message := make([]byte, size)
		_, err := io.ReadFull(l.in, message)
		return message, err
	case size <= eagerFrame || l.signed:
		message := make([]byte, size)
		_, err := io.ReadFull(incoming{l}, message)
		return message, err
	}
	pieces, err := l.readPieces(size)
	if err != nil {
		return nil, err
	}
	message := slices.Concat(pieces...)
	l.lim.litter.add(int64(size)) // the pieces
	return message, nil
}

// plainHead is the header of a frame that is not encrypted.
func plainHead(flags byte, size int) []byte {
	if size > 255 {
		return binary.BigEndian.AppendUint64([]byte{flags | flagLong}, uint64(size))
	}
	return []byte{flags, byte(size)}
}
