package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"cancha/stream"
	"cancha/stream/file"
)

// printer prints what it is given.
type printer struct{}

func (printer) Assigned(partitions []stream.Partition) { fmt.Println("partitions", partitions) }
func (printer) Retry(error, time.Duration)             {}
func (printer) Batch(_ context.Context, b stream.Batch) error {
	for _, r := range b.Records {
		fmt.Printf("%s: record %d of file %d: %s\n", b.Topic, r.Offset, r.Partition, r.Value)
	}
	return nil
}

func ExampleSource() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	goals := "minute,player,note\n17,Ada,\n44,Grace,\"from 30 m,\nin off the post\"\n"
	if err := os.WriteFile(filepath.Join(dir, "goals.csv"), []byte(goals), 0o644); err != nil {
		fmt.Println(err)
	}
	if err := file.Source(filepath.Join(dir, "*.csv")).Run(context.Background(), printer{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// partitions [{*.csv 0}]
	// *.csv: record 0 of file 0: {"minute":"17","player":"Ada","note":""}
	// *.csv: record 1 of file 0: {"minute":"44","player":"Grace","note":"from 30 m,\nin off the post"}
}
