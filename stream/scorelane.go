package stream

import (
	"fmt"
	"math"
	"time"

	"cancha/statsbomb"
)

// scorePlan is what a scoring reads of the envelope; the event itself is decoded whole.
type scorePlan struct {
	projection
	eventTimes           [2]int
	producerTime, source int
	homeID, homeName     int
	awayID, awayName     int
}

func (p *scorePlan) build() error {
	for _, each := range []struct {
		slot *int
		path string
		kind kind
	}{
		{&p.eventTimes[0], "metadata.event_time", kindTime}, {&p.eventTimes[1], "event_time", kindTime},
		{&p.producerTime, "metadata.producer_timestamp", kindTime}, {&p.source, "metadata.source", kindKey},
		{&p.homeID, "metadata.home_team.id", kindKey}, {&p.homeName, "metadata.home_team.name", kindKey},
		{&p.awayID, "metadata.away_team.id", kindKey}, {&p.awayName, "metadata.away_team.name", kindKey},
	} {
		var err error
		if *each.slot, err = p.add(each.path, each.kind); err != nil {
			return err
		}
	}
	return nil
}

// scoreLane scores the records of one partition.
type scoreLane struct {
	running   *RunningScore
	partition int
	decoder   *decoder
	events    statsbomb.Decoder
	pending   []MatchEvent
	first     time.Time     // when the first pending event was read
	decoding  time.Duration // of the pending events
	failure   error
	watermark int64
	done      workReport
}

func newScoreLane(r *RunningScore, partition int) *scoreLane {
	return &scoreLane{running: r, partition: partition, decoder: newDecoder(&r.plan.projection, r.dict), watermark: noWatermark, done: noTimes()}
}

// handle decodes a record, and has the model called once enough of them wait.
func (l *scoreLane) handle(r *Record) (reason string) {
	start := time.Now()
	if len(l.pending) == 0 {
		l.first, l.decoding = start, 0
	}
	e, reason := l.decode(r)
	if reason != "" {
		return reason
	}
	l.pending = append(l.pending, e)
	t := e.EventTime.UnixNano()
	l.done.minTime, l.done.maxTime = min(l.done.minTime, t), max(l.done.maxTime, t)
	l.watermark = max(l.watermark, t-int64(scoreDelay))
	now := time.Now()
	l.decoding += now.Sub(start)
	if len(l.pending) >= l.running.scoring.batch || now.Sub(l.first) >= l.running.scoring.wait {
		l.score()
	}
	return ""
}

func (l *scoreLane) decode(r *Record) (e MatchEvent, reason string) {
	d, p := l.decoder, l.running.plan
	if reason := d.decode(r.Value); reason != "" {
		return e, reason
	}
	text := r.Value
	if d.inEvent {
		text = text[d.event.start:d.event.end]
	}
	event, err := l.events.Decode(text)
	if err != nil {
		return e, err.Error()
	}
	e = MatchEvent{Event: event, Partition: r.Partition, Offset: r.Offset, Home: l.team(p.homeID, p.homeName),
		Away: l.team(p.awayID, p.awayName), SourceKind: l.text(p.source)}
	switch {
	case event.MatchID == 0:
		return e, "no match_id"
	case e.Home.ID == 0 || e.Away.ID == 0:
		return e, "no home_team or away_team: the envelope's metadata must tell which team is at home"
	}
	t, ok := firstTime(d, p.eventTimes[:])
	if !ok {
		return e, noEventTime
	}
	e.EventTime = instant(t)
	if d.present&(1<<p.producerTime) != 0 {
		e.ProducerTime = instant(d.key[p.producerTime])
	}
	return e, ""
}

func (l *scoreLane) team(id, name int) statsbomb.Ref {
	if l.decoder.present&(1<<id) == 0 {
		return statsbomb.Ref{}
	}
	key := l.running.dict.key(l.decoder.key[id])
	return statsbomb.Ref{ID: int(key.ID), Name: l.text(name)}
}

func (l *scoreLane) text(slot int) string {
	if l.decoder.present&(1<<slot) == 0 {
		return ""
	}
	return l.running.dict.key(l.decoder.key[slot]).Text
}

// flush scores what is left of a batch of records.
func (l *scoreLane) flush() error {
	if len(l.pending) > 0 {
		l.score()
	}
	return l.failure
}

// score hands the pending events to the model. After a failure nothing is scored any more.
func (l *scoreLane) score() {
	if l.failure == nil {
		var took time.Duration
		took, l.failure = l.running.score(l.pending, l.decoding)
		l.done.scoring += took
	}
	l.done.decoding += l.decoding
	clear(l.pending) // lets go of what the events hold
	l.pending = l.pending[:0]
}

// scoreDelay is how far a scoring's watermark stays behind, as that of MinuteStatistics. No window waits for it and nothing is
// dropped by it: it tells how far the matches of the stream have come.
const scoreDelay = 30 * time.Second

func (l *scoreLane) advanced() int64 { return l.watermark }

func (l *scoreLane) report() workReport {
	r := l.done
	l.done = noTimes()
	return r
}

// checkProbabilities makes sure that a model's answer is one.
func checkProbabilities(p []float64) error {
	sum := 0.0
	for _, v := range p {
		if math.IsNaN(v) || v < 0 {
			return fmt.Errorf("the model gave %v: a probability is not negative and a number", p)
		}
		sum += v
	}
	if math.Abs(sum-1) > 1e-9 {
		return fmt.Errorf("the model gave %v: probabilities sum to 1, not to %v", p, sum)
	}
	return nil
}
