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

// A scheduler on one machine, with its page; a program submits a job with the address and the token.
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
	const token = "openssl rand -hex 16 makes one"
	page, err := server.Start(ctx, server.Config{Scheduler: jobs, Broker: broker, Address: "127.0.0.1:0", Token: token}) // usually :8000
	if err != nil {
		log.Fatal(err)
	}
	defer page.Close()

	body := strings.NewReader(`{"job_type": "matrix_multiply", "job_id": "a-1", "parameters": {"size": 1024}}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, page.Address()+"jobs", body)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Status)
	fmt.Print(string(said))
	// Output:
	// 202 Accepted
	// {"job_id":"a-1","job_type":"matrix_multiply"}
}
