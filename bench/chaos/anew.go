package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"cancha/stream/kafka"
)

// anewRecords is how many records a topic has each time that it is made.
const anewRecords = 4000

// anew has a query follow a topic that is deleted and made anew again and again, while it runs, while it does not, and as it is killed. Of
// each topic each partition's records must be there from the first on, without a gap, and once; and of the last one all.
func (f *field) anew(ctx context.Context, r role, _ int, p *plan) (*outcome, error) {
	began := time.Now()
	r.Topics, r.Live = []string{f.topic("anew-" + r.Sink)}, true
	t := &trial{role: r, plan: p, program: f.program}
	if err := os.MkdirAll(r.Folder, 0o777); err != nil {
		return nil, err
	}
	p.kinds = []string{"anew"}
	o, round := &outcome{faults: map[string]int{}}, 0
	if err := t.make(ctx, round); err != nil {
		return o, err
	}
	for fault, more := t.next(); more; fault, more = t.next() {
		process, err := t.start(t.role)
		if err != nil {
			return o, err
		}
		if !process.lives(fault.life) {
			return o, fmt.Errorf("it has ended by itself: %w", process.wait())
		}
		if fault.seed%3 == 0 {
			process.kill()
		}
		round++
		err = t.make(ctx, round)
		if err == nil && fault.seed%3 == 1 {
			process.lives(time.Duration(fault.size * float64(3*time.Second))) // a while in which it may notice
		}
		process.kill()
		if err != nil {
			return o, err
		}
		o.count(fault)
	}
	last := t.role
	last.Live = false
	if err := t.calm(last); err != nil {
		return o, fmt.Errorf("after the faults: %w", err)
	}
	got, err := rows(last)
	if err != nil {
		return o, err
	}
	err = o.whole(got, round)
	o.took = time.Since(began)
	return o, err
}

// make deletes the topic, if there is one, makes it and fills it with the records of a round.
func (t *trial) make(ctx context.Context, round int) error {
	topic := kafka.TopicConfig{Brokers: t.Brokers, Topic: t.Topics[0], Partitions: partitions}
	if err := kafka.DeleteTopic(ctx, topic); err != nil {
		return err
	}
	if _, err := kafka.CreateTopic(ctx, topic); err != nil {
		return err
	}
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: t.Brokers, Topic: t.Topics[0], Partitions: partitions})
	if err != nil {
		return err
	}
	of := keysOf()
	for i := range anewRecords {
		part := i % partitions
		if err := p.Send(ctx, []byte(of[part]), fmt.Appendf(nil, `{"round":%d,"part":%d,"id":%d}`, round, part, i/partitions)); err != nil {
			return err
		}
	}
	return p.Close(ctx)
}

// keysOf is a key of each partition.
func keysOf() (keys [partitions]string) {
	for i, found := 0, 0; found < partitions; i++ {
		key := fmt.Sprint("k", i)
		if p := kafka.PartitionOf([]byte(key), partitions); keys[p] == "" {
			keys[p] = key
			found++
		}
	}
	return keys
}

var numbers = regexp.MustCompile(`\d+`)

// whole counts what is wrong with rows of several rounds.
func (o *outcome) whole(got map[string]int, last int) error {
	type half struct{ round, part int }
	count, most := map[half]int{}, map[half]int{}
	for part := range partitions {
		most[half{last, part}] = anewRecords / partitions
	}
	for line, n := range got {
		var is [3]int
		words := numbers.FindAllString(line, -1)
		if len(words) != len(is) {
			return fmt.Errorf("a row %q", line)
		}
		for i, word := range words {
			is[i], _ = strconv.Atoi(word) // they are digits
		}
		at := half{is[0], is[1]}
		o.rows += n
		o.many += n - 1
		count[at]++
		most[at] = max(most[at], is[2]+1)
	}
	for at, n := range most {
		o.lost += n - count[at]
	}
	return nil
}
