package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"cancha/stream"
	"cancha/stream/kafka"
)

var (
	live  = flag.Duration("live", 0, "instead of trials: so long a group of members gives out what a producer sends meanwhile, and one of them is killed each -every")
	every = flag.Duration("every", 5*time.Second, "between two kills of -live")
	rate  = flag.Int("rate", 4096, "records a second of -live")
)

// group is a trial whose processes read what comes, and are started again when they have been killed.
type group struct {
	trial
	dice      *rand.Rand
	processes []*process
}

// liveTrial has members of a group count each second's records of each key, kills one after another, and looks at the rows: when they come,
// and, in the end, whether they are what one process without a break gives out.
func liveTrial(ctx context.Context, f *field, dir string, out io.Writer) error {
	topic := f.topic("live")
	name := "live_kafka"
	t := &group{trial: trial{program: f.program, members: *members, role: f.role("seconds", "kafka", name, filepath.Join(dir, name), true)},
		dice: rand.New(rand.NewPCG(*seed, 5))}
	t.Topics = []string{topic}
	began := time.Now()
	gaps, o, err := t.play(ctx, topic)
	if err != nil {
		return err
	}
	if err := t.compare(o); err != nil {
		return err
	}
	o.took = time.Since(began)
	fmt.Fprintf(out, "seconds → kafka %d at once, one killed each %v for %v: %v; longest gap in the output %v, of one partition %v\n",
		t.members, *every, *live, o,
		gaps.all.Round(time.Millisecond), gaps.longest().Round(time.Millisecond))
	if !o.ok() {
		return errors.New("the rows are not the same")
	}
	return nil
}

// play is the time in which the producer sends and members are killed.
func (t *group) play(ctx context.Context, topic string) (*arrivals, *outcome, error) {
	o := &outcome{faults: map[string]int{}}
	ctx, end := context.WithTimeout(ctx, *live)
	defer end()
	gaps := &arrivals{began: time.Now()}
	var beside sync.WaitGroup
	var sent, watched error
	beside.Go(func() { sent = send(ctx, t.Brokers, topic, *rate) })
	beside.Go(func() { watched = gaps.watch(ctx, t.role) })
	err := t.kill(ctx, o)
	gaps.end()
	end()
	beside.Wait()
	for _, p := range t.processes {
		if p != nil {
			p.kill()
		}
	}
	return gaps, o, errors.Join(err, sent, watched, t.last())
}

// kill starts the members and kills one after another until ctx ends. Each has a name in the group.
func (t *group) kill(ctx context.Context, o *outcome) error {
	t.processes = make([]*process, t.members)
	for i := range t.processes {
		if err := t.begin(i); err != nil {
			return err
		}
	}
	tick := time.NewTicker(*every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		i := t.dice.IntN(t.members)
		if !t.processes[i].lives(0) {
			return fmt.Errorf("member %d has ended by itself: %w", i, t.processes[i].wait())
		}
		t.processes[i].kill()
		o.count(fault{kind: "kill"})
		if err := t.begin(i); err != nil {
			return err
		}
	}
}

// begin starts a member.
func (t *group) begin(i int) (err error) {
	r := t.role
	r.Live, r.Instance = true, fmt.Sprint("member-", i)
	t.processes[i], err = t.start(r)
	return err
}

// compare runs the query undisturbed and compares.
func (t *group) compare(o *outcome) error {
	calm := t.role
	calm.Folder, calm.Output, calm.Group = calm.Folder+"-calm", calm.Output+"_calm", ""
	if err := t.calm(calm); err != nil {
		return fmt.Errorf("undisturbed: %w", err)
	}
	want, err := rows(calm)
	if err != nil {
		return err
	}
	got, err := rows(t.role)
	o.compare(got, want)
	return err
}

// send sends records of now, so many a second, until ctx ends.
func send(ctx context.Context, brokers []string, topic string, rate int) error {
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: topic, Partitions: partitions})
	if err != nil {
		return err
	}
	dice, tick := rand.New(rand.NewPCG(7, 17)), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for i := 0; ctx.Err() == nil; {
		for due := int(time.Since(began).Seconds() * float64(rate)); i < due; i++ {
			key := fmt.Sprintf("k%d", dice.IntN(200))
			value := fmt.Sprintf(`{"k":%q,"id":%d,"x":%.3f,"ts":%d}`, key, i, dice.NormFloat64(), time.Now().UnixMilli())
			if err := p.Send(context.WithoutCancel(ctx), []byte(key), []byte(value)); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return p.Close(context.WithoutCancel(ctx))
}

// arrivals measures how long no rows come: at all, and of the keys of each partition of the input. It does from the beginning of the load
// to its end, so that one that falls silent and stays so, or never comes, is not left out.
type arrivals struct {
	mutex
	last, all time.Duration // since began; the longest gap
	of        [partitions]struct{ last, longest time.Duration }
	began     time.Time
	over      bool
}

// watch reads the rows as they are committed, until ctx ends.
func (a *arrivals) watch(ctx context.Context, r role) error {
	topic := kafka.TopicConfig{Brokers: r.Brokers, Topic: r.Output, Partitions: 1}
	if _, err := kafka.CreateTopic(ctx, topic); err != nil {
		return err
	}
	return kafka.Source(kafka.Config{Brokers: r.Brokers, Topic: r.Output, Committed: true, IdleInterval: 20 * time.Millisecond}).Run(ctx, a)
}

// Assigned implements stream.Handler.
func (a *arrivals) Assigned([]stream.Partition) {}

// Retry implements stream.Handler.
func (a *arrivals) Retry(error, time.Duration) {}

// Batch implements stream.Handler.
func (a *arrivals) Batch(_ context.Context, b stream.Batch) error {
	a.Lock()
	defer a.Unlock()
	if a.over {
		return nil
	}
	for i := range b.Records {
		var row struct{ K string }
		if err := json.Unmarshal(b.Records[i].Value, &row); err != nil {
			return err
		}
		now, of := time.Since(a.began), &a.of[kafka.PartitionOf([]byte(row.K), partitions)]
		a.all, a.last = max(a.all, now-a.last), now
		of.longest, of.last = max(of.longest, now-of.last), now
	}
	return nil
}

// end ends the measure: how long nothing has come by now is a gap, too.
func (a *arrivals) end() {
	a.Lock()
	defer a.Unlock()
	now := time.Since(a.began)
	a.all, a.over = max(a.all, now-a.last), true
	for i := range a.of {
		a.of[i].longest = max(a.of[i].longest, now-a.of[i].last)
	}
}

// longest is the longest gap of a partition.
func (a *arrivals) longest() (d time.Duration) {
	for _, of := range a.of {
		d = max(d, of.longest)
	}
	return d
}
