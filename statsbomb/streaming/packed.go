package streaming

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"cancha/statsbomb"
)

// appendCalls writes when calls of the model were and of how many events, and then what it said; types and teams, of which there are few, once.
func appendCalls(dst []byte, calls []call) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(calls)))
	for _, c := range calls {
		dst = binary.AppendUvarint(binary.AppendVarint(dst, c.at), uint64(len(c.list)))
	}
	return appendPredictions(dst, calls)
}

func appendPredictions(dst []byte, calls []call) []byte {
	known := map[statsbomb.Ref]uint64{}
	ref := func(r statsbomb.Ref) {
		at, old := known[r]
		if !old {
			at = uint64(len(known))
			known[r] = at
		}
		if dst = binary.AppendUvarint(dst, at); !old {
			dst = binary.AppendVarint(dst, int64(r.ID))
			dst = append(binary.AppendUvarint(dst, uint64(len(r.Name))), r.Name...)
		}
	}
	one := func(p *Prediction) {
		for _, n := range p.numbers() {
			dst = binary.AppendVarint(dst, n)
		}
		for _, x := range []float64{p.Home, p.Draw, p.Away} {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
		ref(p.Type)
		ref(p.Team)
		ref(p.HomeTeam)
		ref(p.AwayTeam)
	}
	for _, c := range calls {
		for i := range c.list {
			one(&c.list[i])
		}
	}
	return dst
}

// numbers are the whole numbers of a prediction, in the order in which they are written.
func (p *Prediction) numbers() [10]int64 {
	flags := int64(0)
	if p.Goal {
		flags |= 1
	}
	if p.Red {
		flags |= 2
	}
	return [...]int64{p.MatchID, p.EventTime.UnixNano(), int64(p.Period), int64(p.Timestamp), int64(p.Minute), int64(p.Second), int64(p.Index), flags,
		int64(p.HomeGoals), int64(p.AwayGoals)}
}

func (p *Prediction) set(n [10]int64) {
	p.MatchID, p.EventTime, p.Period, p.Timestamp, p.Minute, p.Second = n[0], instant(n[1]), int(n[2]), time.Duration(n[3]), int(n[4]), int(n[5])
	p.Index, p.Goal, p.Red, p.HomeGoals, p.AwayGoals = int(n[6]), n[7]&1 != 0, n[7]&2 != 0, int(n[8]), int(n[9])
}

// errPredictions tells of bytes that are no predictions.
var errPredictions = errors.New("streaming: these are no predictions")

// readCalls reads what appendCalls has written.
func readCalls(b []byte) ([]call, error) {
	r := packed{rest: b}
	const least = 2 // bytes of a call
	calls := make([]call, r.count(least))
	sizes := make([]int, len(calls))
	for i := range calls {
		calls[i].at, sizes[i] = r.number(), r.count(leastPrediction)
	}
	for i := range calls {
		if sizes[i] == 0 || sizes[i] > len(r.rest)/leastPrediction {
			return nil, errPredictions
		}
		calls[i].list = make([]Prediction, sizes[i])
		for k := range calls[i].list {
			r.prediction(&calls[i].list[k])
		}
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errPredictions
	}
	return calls, nil
}

// leastPrediction is how many bytes a prediction takes at least.
const leastPrediction = 10 + 3*8 + 4

// packed reads numbers and texts one after another. After something that is not there it gives zero values.
type packed struct {
	rest  []byte
	known []statsbomb.Ref
	bad   bool
}

func (r *packed) take(n int) []byte {
	if n <= 0 || n > len(r.rest) || r.bad {
		r.bad, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *packed) number() int64 {
	n, k := binary.Varint(r.rest)
	r.take(k)
	return n
}

func (r *packed) unsigned() uint64 {
	n, k := binary.Uvarint(r.rest)
	r.take(k)
	return n
}

// count reads how many things follow, each of which takes so many bytes at least.
func (r *packed) count(least int) int {
	n := r.unsigned()
	if n > uint64(len(r.rest)/least) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *packed) prediction(p *Prediction) {
	var n [10]int64
	for k := range n {
		n[k] = r.number()
	}
	p.set(n)
	p.Home, p.Draw, p.Away = r.float(), r.float(), r.float()
	p.Type, p.Team, p.HomeTeam, p.AwayTeam = r.ref(), r.ref(), r.ref(), r.ref()
}

func (r *packed) float() float64 {
	if eight := r.take(8); eight != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(eight))
	}
	return 0
}

func (r *packed) ref() statsbomb.Ref {
	at := r.unsigned()
	if at < uint64(len(r.known)) {
		return r.known[at]
	}
	of := statsbomb.Ref{ID: int(r.number())}
	if size := r.unsigned(); size > 0 && size <= uint64(len(r.rest)) {
		of.Name = string(r.take(int(size)))
	} else if size > 0 {
		r.bad = true
	}
	r.known = append(r.known, of)
	return of
}
