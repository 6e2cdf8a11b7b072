package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"cancha/stream/broker"
)

// server is a broker that can be killed with -9 and started again on what it has written.
type server interface {
	kill() error
	start() error
}

// ownBroker is an embedded broker in a process of its own. It ends with the process that has started it, because its standard input does.
type ownBroker struct {
	program, folder string
	addr            string // empty before the first start, which takes a free port
	process         *process
	hold            io.Closer // its standard input
}

func (b *ownBroker) start() error {
	r := role{Query: "broker", Folder: b.folder, Brokers: []string{b.addr}}
	c, err := r.command(b.program)
	if err != nil {
		return err
	}
	if b.hold, err = c.StdinPipe(); err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if b.process, err = begin(c); err != nil {
		return err
	}
	if b.addr, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("the broker has not started: %w", errors.Join(err, b.process.wait()))
	}
	b.addr = strings.TrimSpace(b.addr)
	return nil
}

func (b *ownBroker) kill() error {
	b.process.kill()
	return nil
}

// close lets the broker end in order.
func (b *ownBroker) close() error {
	b.hold.Close() // an error says that it has ended already, and why does wait
	return b.process.wait()
}

// serve is the process of an embedded broker. It tells where it listens.
func (r role) serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b, err := broker.Start(broker.Config{Dir: r.Folder, Addr: r.Brokers[0], Partitions: partitions, RetentionBytes: 16 << 30})
	if err != nil {
		return err
	}
	fmt.Println(b.Addr())
	go func() { // ends with the process
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	<-ctx.Done()
	return b.Close()
}

// embed starts an embedded broker.
func (f *field) embed() error {
	dir, err := os.MkdirTemp("", "chaos-broker-*")
	if err != nil {
		return err
	}
	f.own = &ownBroker{program: f.program, folder: dir}
	if err := f.own.start(); err != nil {
		return err
	}
	f.brokers, f.server = []string{f.own.addr}, f.own
	return nil
}

func (f *field) close() error {
	if f.own == nil {
		return nil
	}
	return errors.Join(f.own.close(), os.RemoveAll(f.own.folder))
}

// apacheKafka is the one that scripts/kafka.sh has started.
type apacheKafka struct{ script string }

func (k apacheKafka) kill() error  { return k.run("kill") }
func (k apacheKafka) start() error { return k.run("start") }

func (k apacheKafka) run(what string) error {
	c := exec.Command(k.script, what)
	c.WaitDelay = time.Second // what it starts may hold its output
	if out, err := c.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s %s: %w: %s", k.script, what, err, out)
	}
	return nil
}
