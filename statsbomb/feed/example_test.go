package feed_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"cancha/statsbomb/feed"
	"cancha/stream"
)

// counter counts what it is given.
type counter struct{ records int }

func (*counter) Assigned([]stream.Partition) {}
func (*counter) Retry(error, time.Duration)  {}
func (c *counter) Batch(_ context.Context, b stream.Batch) error {
	c.records += len(b.Records)
	return nil
}

// A feed without a cluster: four simulated matches through a broker of the process itself.
func ExampleOpen() {
	os.Unsetenv(feed.BrokersVariable)
	ctx := context.Background()
	f, err := feed.Open(ctx, feed.Config{Matches: 4, Partitions: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	c := &counter{}
	if err := f.Source("").Run(ctx, c); err != nil { // ends with the feed
		fmt.Println(err)
	}
	p := f.Progress()
	fmt.Println(p.Matches, "matches, all read:", p.Sent == int64(c.records), f.Err())
	// Output:
	// 4 matches, all read: true <nil>
}
