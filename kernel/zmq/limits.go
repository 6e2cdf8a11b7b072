package zmq

import "time"

// Limits bounds what one peer can cost. The zero value means the defaults.
type Limits struct {
	Handshake   time.Duration // greeting and READY take longer: dropped (5 s)
	Handshaking int           // peers in handshake at once; one more drops the oldest (64)
	Peers       int           // peers after the handshake; one more drops the middle one of them (256)
	Message     int64         // bytes in one message (256 MB; 64 kB where only subscriptions and heartbeats come)
	Arriving    int64         // bytes of large messages that have not been taken yet, of all strangers; above it the one that stood still longest is dropped. A Router has as much again for its clients, who wait for each other (256 MB)
	Parts       int           // frames in one message (1024)
	Topics      int           // subscriptions of one peer (64, of at most 256 bytes)
	Queue       int           // bytes that wait to be written to one peer, and what keeping them costs (16 MB): above it must make progress, above twice it is dropped; a message larger than that may wait
	FullWait    time.Duration // a full queue must make progress (Rate) within this time, or its peer is dropped (1 s)
	Rate        int64         // bytes that count as progress in FullWait (1 MB)
	Stall       time.Duration // less than 256 kB taken, or come of a large message, in so long: dropped (30 s)
	Linger      time.Duration // Close waits so long for what is queued (500 ms)

	strangers *strangers // whom Arriving bounds; sockets with the same one are bounded together
	litter    *litter
}

// maxCommand bounds ZMTP commands: READY with its metadata, PING, SUBSCRIBE. maxSmall bounds messages where nobody has reason to
// send a large one: subscriptions and heartbeats. maxTopic bounds what a peer subscribes to: every message is compared with it.
const (
	maxCommand = 8 << 10
	maxSmall   = 64 << 10
	maxTopic   = 256
)

// small returns l for a socket that gets small messages only.
func (l Limits) small() Limits {
	l = l.withDefaults()
	l.Message = min(l.Message, maxSmall)
	return l
}

func (l Limits) withDefaults() Limits {
	fill(&l.Handshake, 5*time.Second)
	fill(&l.Handshaking, 64)
	fill(&l.Peers, 256)
	fill(&l.Message, 256<<20)
	fill(&l.Arriving, 256<<20)
	fill(&l.Parts, 1024)
	fill(&l.Topics, 64)
	fill(&l.Queue, 16<<20)
	fill(&l.FullWait, time.Second)
	fill(&l.Rate, 1<<20)
	fill(&l.Stall, 30*time.Second)
	fill(&l.Linger, 500*time.Millisecond)
	if l.strangers == nil {
		l.strangers = &strangers{arrivals{limit: l.Arriving}}
	}
	if l.litter == nil {
		l.litter = &litter{}
	}
	return l
}

func fill[T ~int | ~int64](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}
