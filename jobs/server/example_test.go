package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	"cancha/jobs/local"
	"cancha/jobs/scheduler"
	"cancha/jobs/server"
	"cancha/jobs/store"
)

// A scheduler on one machine, with its page; a program submits a job with no more than the address.
func ExampleStart() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	broker, err := local.Open(folder+"/queues", local.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer broker.Close()
	kept, err := store.Open(folder + "/jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer kept.Close()
	jobs, err := scheduler.Start(ctx, broker, kept, scheduler.Settings{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer jobs.Close()
	page, err := server.Start(ctx, server.Config{Scheduler: jobs, Broker: broker, Address: "127.0.0.1:0"}) // usually :8000
	if err != nil {
		log.Fatal(err)
	}
	defer page.Close()

	answer, err := http.Post(page.URL()+"jobs", "application/json", strings.NewReader(`{"job_type": "matrix_multiply", "job_id": "a-1", "parameters": {"size": 1024}}`))
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Status)
	fmt.Print(string(body))
	// Output:
	// 202 Accepted
	// {"job_id":"a-1","job_type":"matrix_multiply"}
}
