package main

import (
	"context"
	"math/rand/v2"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

// slow makes a place or a sink one of a disk that takes its time, up to the longest, before it does something and before it says that it has: a kill
// falls between the two.
type slow struct{ longest time.Duration }

func (s slow) wait(ctx context.Context) { idle(ctx, rand.N(s.longest/2)) }

// slowPlace is a place on such a disk.
type slowPlace struct {
	checkpoint.Place
	slow
}

// List implements checkpoint.Place.
func (p slowPlace) List(ctx context.Context, unit string) ([]int64, error) {
	p.wait(ctx)
	return p.Place.List(ctx, unit)
}

// Read implements checkpoint.Place.
func (p slowPlace) Read(ctx context.Context, unit string, epoch int64) ([]byte, error) {
	p.wait(ctx)
	return p.Place.Read(ctx, unit, epoch)
}

// Write implements checkpoint.Place.
func (p slowPlace) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	p.wait(ctx)
	defer p.wait(ctx)
	return p.Place.Write(ctx, unit, epoch, pieces)
}

// Remove implements checkpoint.Place.
func (p slowPlace) Remove(ctx context.Context, unit string, epoch int64) error {
	p.wait(ctx)
	defer p.wait(ctx)
	return p.Place.Remove(ctx, unit, epoch)
}

// resumable is what all sinks of the trials are.
type resumable interface {
	stream.Sink
	stream.Resumer
	stream.Closer
	String() string
}

// slowSink is a sink on such a disk.
type slowSink struct {
	resumable
	slow
}

// Write implements stream.Sink.
func (s slowSink) Write(ctx context.Context, epoch int64, rows *stream.Rows) error {
	s.wait(ctx)
	defer s.wait(ctx)
	return s.resumable.Write(ctx, epoch, rows)
}

// Revert implements stream.Reverter, where the sink does.
func (s slowSink) Revert(ctx context.Context, unit string) (note string, err error) {
	s.wait(ctx)
	if r, ok := s.resumable.(stream.Reverter); ok {
		return r.Revert(ctx, unit)
	}
	return "", nil
}

// Probe implements stream.Prober, where the sink does.
func (s slowSink) Probe(ctx context.Context, columns []stream.Column, run string) error {
	if p, ok := s.resumable.(stream.Prober); ok {
		return p.Probe(ctx, columns, run)
	}
	return nil
}

// Identity implements stream.Identified.
func (s slowSink) Identity() string {
	if i, ok := s.resumable.(stream.Identified); ok {
		return i.Identity()
	}
	return s.String()
}
