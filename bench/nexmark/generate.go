package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Kinds of events, as the member "kind" of a record says.
const (
	person  = 0
	auction = 1
	bid     = 2
)

// The proportions and sizes of Nexmark's own generator, as Apache Beam documents them (NexmarkConfiguration): of 50 events one is a person, three
// are auctions and the rest are bids; one bid of two goes to a hot auction, three auctions of four are a hot seller's, and three bids of four a
// hot bidder's.
const (
	perEpoch        = 50
	auctionsAnEpoch = 3
	firstID         = 1000
	firstCategory   = 10
	categories      = 5
	inFlight        = 100  // auctions that bids go to
	active          = 1000 // persons who sell and bid
	lead            = 10   // ids that may be named before their person or auction has come
	hotEvery        = 100  // each hundredth person, and auction, is a hot one
	personBytes     = 200
	auctionBytes    = 500
)

// Generator makes the events of a run. Event n is a function of the generator and of n alone: any part of the events can be made anywhere, in any
// order, and is the same.
type Generator struct {
	Events     int64     // how many; the event at place n is record n/Partitions of partition n%Partitions
	Partitions int       // Events must be a multiple of it
	Seed       uint64    // another seed gives other events of the same kinds and times
	Rate       int64     // events in a second of event time
	Start      time.Time // event time of event 0, in whole milliseconds
	Disorder   int64     // events of each run of so many come in another order, as by outOfOrderGroupSize of the original; 1: all in their order
}

// NewGenerator returns a generator of so many events for four partitions, 10,000 of them in a second of event time, from 2026-03-01 15:00 UTC on.
func NewGenerator(events int64) Generator {
	return Generator{Events: events, Partitions: 4, Seed: 1, Rate: 10_000, Start: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), Disorder: 1}
}

// Check tells what is wrong with the generator's settings.
func (g Generator) Check() error {
	switch {
	case g.Partitions < 1 || g.Events < 1 || g.Rate < 1:
		return fmt.Errorf("%d events in %d partitions, %d a second: want positive numbers", g.Events, g.Partitions, g.Rate)
	case g.Disorder < 1 || time.Duration(g.Disorder)*time.Second/time.Duration(g.Rate) > Lateness:
		return fmt.Errorf("disorder of %d events, %d a second: want at least 1, and not more than come in %v, or events are late", g.Disorder, g.Rate, Lateness)
	case g.Events%int64(g.Partitions) != 0:
		return fmt.Errorf("%d events in %d partitions: want as many in each, such as %d", g.Events, g.Partitions, (g.Events/int64(g.Partitions)+1)*int64(g.Partitions))
	}
	return nil
}

// stride is prime, so that steps of it reach each place of a run whose length it does not divide.
const stride = 953

// at is the number of the event that comes at a place. The last run, if it is short, is in order.
func (g Generator) at(place int64) int64 {
	run := place / g.Disorder * g.Disorder
	if run+g.Disorder > g.Events || g.Disorder%stride == 0 {
		return place
	}
	return run + (place-run)*stride%g.Disorder
}

// kindOf is the kind of event n.
func kindOf(n int64) int {
	switch offset := n % perEpoch; {
	case offset == 0:
		return person
	case offset <= auctionsAnEpoch:
		return auction
	}
	return bid
}

// Append appends event n as a JSON object, without a line break.
func (g Generator) Append(dst []byte, n int64) []byte {
	r := draws{g.Seed*0x9e3779b97f4a7c15 ^ uint64(n)*0xd1342543de82ef95}
	from := len(dst)
	switch kindOf(n) {
	case person:
		return extra(g.person(dst, n, &r), from, personBytes, &r)
	case auction:
		return extra(g.auction(dst, n, &r), from, auctionBytes, &r)
	}
	return append(g.bid(dst, n, &r), '}')
}

func (g Generator) person(dst []byte, n int64, r *draws) []byte {
	first, last := firstNames[r.below(int64(len(firstNames)))], lastNames[r.below(int64(len(lastNames)))]
	place := places[r.below(int64(len(places)))]
	dst = number(append(dst, `{"kind":0`...), "id", firstID+n/perEpoch)
	dst = text(dst, "name", first, " ", last)
	dst = text(dst, "email", last, strconv.FormatInt(r.below(1e6), 10), "@example.com")
	dst = text(dst, "card", r.digits(), " ", r.digits(), " ", r.digits(), " ", r.digits())
	dst = text(text(dst, "city", place[0]), "state", place[1])
	return g.time(dst, "ts", g.millis(n))
}

func (g Generator) auction(dst []byte, n int64, r *draws) []byte {
	initial, now := r.price(), g.millis(n)
	dst = number(append(dst, `{"kind":1`...), "id", firstID+lastAuction(n))
	dst = letters(append(dst, `,"item":"`...), 20, r)
	dst = letters(append(dst, `","description":"`...), 100, r)
	dst = number(append(dst, '"'), "initial", initial)
	dst = number(dst, "reserve", initial+r.price())
	dst = g.time(g.time(dst, "ts", now), "expires", now+g.life(n, r))
	dst = number(dst, "seller", firstID+seller(n, r))
	return number(dst, "category", firstCategory+r.below(categories))
}

func (g Generator) bid(dst []byte, n int64, r *draws) []byte {
	dst = number(append(dst, `{"kind":2`...), "auction", firstID+wanted(n, r))
	dst = number(dst, "bidder", firstID+bidder(n, r))
	dst = number(dst, "price", r.price())
	dst = text(dst, "channel", "channel-", strconv.FormatInt(r.below(8), 10))
	dst = text(dst, "url", "https://www.nexmark.com/", strconv.FormatInt(r.below(1e6), 10))
	return g.time(dst, "ts", g.millis(n))
}

// millis is the event time of event n behind Start, in milliseconds.
func (g Generator) millis(n int64) int64 { return n * 1000 / g.Rate }

// life is for how long an auction of event n is open, in milliseconds: at most twice as long as so many others come that bids leave it for them.
func (g Generator) life(n int64, r *draws) int64 {
	return 1 + r.below(max(1, 2*(g.millis(n+inFlight*perEpoch/auctionsAnEpoch)-g.millis(n))))
}

// MaxLife is a bound on how long an auction is open.
func (g Generator) MaxLife() time.Duration {
	return time.Duration(2*(inFlight*perEpoch/auctionsAnEpoch*1000/g.Rate+1)) * time.Millisecond
}

// lastAuction is the number of the last auction up to event n, from 0 on; -1 before the first.
func lastAuction(n int64) int64 {
	return n/perEpoch*auctionsAnEpoch + min(n%perEpoch, auctionsAnEpoch) - 1
}

// someone is the number of one of the active persons, or of one who is yet to come.
func someone(n int64, r *draws) int64 {
	persons := n/perEpoch + 1
	among := min(persons, active)
	return persons - among + r.below(among+lead)
}

func seller(n int64, r *draws) int64 {
	if r.below(4) > 0 {
		return n / perEpoch / hotEvery * hotEvery
	}
	return someone(n, r)
}

func bidder(n int64, r *draws) int64 {
	if r.below(4) > 0 {
		return n/perEpoch/hotEvery*hotEvery + 1
	}
	return someone(n, r)
}

// wanted is the number of the auction that a bid goes to.
func wanted(n int64, r *draws) int64 {
	last := lastAuction(n)
	if r.below(2) > 0 {
		return last / hotEvery * hotEvery
	}
	least := max(0, last-inFlight)
	return least + r.below(last-least+1+lead)
}

// time appends a member with a time so many milliseconds behind Start.
func (g Generator) time(dst []byte, name string, millis int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	dst = g.Start.Add(time.Duration(millis)*time.Millisecond).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	return append(dst, '"')
}

func number(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(append(append(dst, `,"`...), name...), `":`...), n, 10)
}

// text appends a member that is a text of parts without characters that JSON would escape.
func text(dst []byte, name string, parts ...string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	for _, part := range parts {
		dst = append(dst, part...)
	}
	return append(dst, '"')
}

// extra ends a record that begins at from with as many letters as make it about bytes long: four fifths to six fifths of that.
func extra(dst []byte, from, bytes int, r *draws) []byte {
	n := int64(bytes*4/5) + r.below(int64(bytes*2/5)) - int64(len(dst)-from+len(`,"extra":""}`))
	dst = letters(append(dst, `,"extra":"`...), max(0, int(n)), r)
	return append(dst, `"}`...)
}

func letters(dst []byte, n int, r *draws) []byte {
	for i := 0; i < n; i += 8 {
		bits := r.next()
		for range min(8, n-i) {
			dst = append(dst, 'a'+byte(bits&31)%26)
			bits >>= 5
		}
	}
	return dst
}

// draws is random numbers from a seed: SplitMix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014).
type draws struct{ state uint64 }

func (r *draws) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1. That 2^64 is no multiple of n does not matter for numbers as small as these.
func (r *draws) below(n int64) int64 { return int64(r.next() % uint64(n)) }

// price is from 1 to 1,000,000 in hundredths, as many of each order of magnitude.
func (r *draws) price() int64 {
	u := float64(r.next()>>11) / (1 << 53)
	return int64(math.Round(math.Pow(10, u*6) * 100))
}

func (r *draws) digits() string { return strconv.FormatInt(1000+r.below(9000), 10) }
