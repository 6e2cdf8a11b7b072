package local_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"cancha/jobs/local"
	"cancha/jobs/queue"
)

// A program has its queues in a folder. What is published is on the disk; what is not acknowledged comes again.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()

	b, err := local.Open(folder, local.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Declare(ctx, queue.Spec{Name: "cpu_queue", MaxDeliveries: 3}); err != nil {
		log.Fatal(err)
	}
	if err := b.Publish(ctx, "cpu_queue", queue.Message{ID: "job-1", Body: []byte(`{"size": 1000}`)}); err != nil {
		log.Fatal(err)
	}
	c, err := b.Consume(ctx, "cpu_queue", 1)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		d, err := c.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s, delivery %d\n", d.ID, d.Body, d.Count)
		if d.Count == 1 {
			err = d.Retry(ctx, 10*time.Millisecond)
		} else {
			err = d.Ack(ctx)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// job-1 {"size": 1000}, delivery 1
	// job-1 {"size": 1000}, delivery 2
}

// One process has the file and serves it, others of the machine dial. A message on a topic reaches all who listen.
func ExampleServe() {
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()

	b, err := local.Open(folder, local.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	s, err := local.Serve(b, local.Socket(folder), "")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	worker, err := local.Dial(ctx, local.Socket(folder), "") // in another process
	if err != nil {
		log.Fatal(err)
	}
	defer worker.Close()
	cancelled, err := worker.Listen(ctx, "cancha.cancel")
	if err != nil {
		log.Fatal(err)
	}
	if err := b.Announce(ctx, "cancha.cancel", queue.Message{ID: "job-1"}); err != nil {
		log.Fatal(err)
	}
	m, err := cancelled.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("cancel", m.ID)
	// Output: cancel job-1
}
