package folder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"cancha/jobs/folder"
	"cancha/jobs/job"
	"cancha/jobs/worker"
)

// A job type of one's own that counts the lines of a file, and writes how many there are.
func Example() {
	dir, err := os.MkdirTemp("", "work")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "matches.csv"), []byte("home,away\n2,1\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	lines := func(_ context.Context, t *worker.Task) (any, error) {
		var asked struct{ Data, Out string }
		if err := json.Unmarshal(t.Parameters, &asked); err != nil {
			return nil, worker.Final(err)
		}
		files, err := folder.Open(dir)
		if err != nil {
			return nil, err
		}
		defer files.Close()
		text, err := files.ReadFile(asked.Data)
		if err != nil {
			return nil, err
		}
		n := bytes.Count(text, []byte("\n"))
		return n, files.Write(t.ID, asked.Out, fmt.Appendln(nil, n))
	}
	for _, asked := range []string{`{"data": "matches.csv", "out": "lines.txt"}`, `{"data": "matches.csv", "out": "matches.csv"}`, `{"data": "../matches.csv", "out": "lines.txt"}`} {
		n, err := lines(context.Background(), worker.NewTask(job.Spec{ID: "j1", Parameters: json.RawMessage(asked)}, nil))
		fmt.Println(n, err)
	}
	// Output:
	// 2 <nil>
	// 2 matches.csv is there, and no job has written it; name another file, or move this one away
	// <nil> "../matches.csv" is no file inside the worker's folder
}
