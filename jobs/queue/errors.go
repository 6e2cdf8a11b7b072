package queue

import "errors"

// What a broker answers, besides the error of a context and faults of its own. Errors wrap these.
var (
	// ErrUnknownQueue: no queue of this name has been declared, or it has expired. Nothing was published.
	ErrUnknownQueue = errors.New("there is no such queue; declare it first")
	// ErrInvalid: a name, a priority, a delay or a header is outside what brokers take; the text says which. Nothing was done.
	ErrInvalid = errors.New("not valid")
	// ErrTooLarge: a body is larger than MaxBody. Nothing was published; the caller keeps the data elsewhere, and sends where it is.
	ErrTooLarge = errors.New("too large for a message; keep the data elsewhere, and send where it is")
	// ErrFull: the broker has no room, on its disk or by its limits. Nothing was done; the same call may work when there is room.
	ErrFull = errors.New("the broker has no room; make some, and try again")
	// ErrClosed: the broker, the consumer or the listener was closed, or the consumer stopped, on this side.
	ErrClosed = errors.New("it is closed")
	// ErrLost: the broker has taken a delivery back before it was settled, or may have. It comes again, to any consumer of its queue.
	ErrLost = errors.New("the delivery was taken back; the message comes again")
	// ErrSettled: the delivery has been settled before. Nothing was done.
	ErrSettled = errors.New("the delivery is settled already")
)
