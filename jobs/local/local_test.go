package local_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cancha/jobs/jobstest"
	"cancha/jobs/local"
	"cancha/jobs/queue"
)

// long has the tests kill more, and try over each kind of connection what waits for seconds: make jobs-local.
const long = "CANCHA_JOBS_LONG"

// TestMain lets more tests run at a time than there are processors: they wait for disks and clocks.
func TestMain(m *testing.M) {
	flag.Parse()
	if fuzz := flag.Lookup("test.fuzz").Value.String(); fuzz == "" {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// opened opens a folder; the test's clean-up closes it.
func opened(t testing.TB, folder string, o local.Options) *local.Broker {
	t.Helper()
	b, err := local.Open(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// inProcess is a broker in this process: there is one connection to it, itself.
type inProcess struct {
	folder string
	*local.Broker
}

func (p *inProcess) Connect(testing.TB) queue.Broker { return p.Broker }

// Restart goes on with a copy of the file, which is what a kill at this moment would leave.
func (p *inProcess) Restart(t testing.TB) {
	p.folder = copied(t, p.folder)
	p.Broker = opened(t, p.folder, local.Options{})
}

func copied(t testing.TB, folder string) string {
	t.Helper()
	from, err := os.Open(filepath.Join(folder, "queues.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	folder = t.TempDir()
	to, err := os.Create(filepath.Join(folder, "queues.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestInProcess(t *testing.T) {
	jobstest.TestBroker(t, func(t *testing.T) jobstest.Bench {
		folder := t.TempDir()
		return &inProcess{folder, opened(t, folder, local.Options{})}
	}, nil)
}

func BenchmarkInProcess(b *testing.B) {
	for _, inFlight := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("%d in flight", inFlight), func(b *testing.B) { jobstest.BenchmarkBroker(b, opened(b, b.TempDir(), local.Options{}), inFlight) })
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	jobstest.TestJobs(t, func(t *testing.T) jobstest.Bench { return &inProcess{"", opened(t, t.TempDir(), local.Options{})} })
}

// BenchmarkJobs tells also how many jobs end in the time of one commit, which is the disk's: jobs a second of two machines cannot be
// compared otherwise.
func BenchmarkJobs(b *testing.B) {
	for _, inFlight := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("%d in flight", inFlight), func(b *testing.B) {
			commit := commitTime(b)
			jobstest.BenchmarkJobs(b, &inProcess{"", opened(b, b.TempDir(), local.Options{})}, 2, inFlight)
			b.ReportMetric(commit.Seconds()*1e3, "commit-ms")
			b.ReportMetric(float64(b.N)*commit.Seconds()/b.Elapsed().Seconds(), "jobs/commit")
		})
	}
}

// commitTime is the usual time of a commit that nothing shares.
func commitTime(b *testing.B) time.Duration {
	b.Helper()
	broker := opened(b, b.TempDir(), local.Options{})
	if _, err := broker.Declare(b.Context(), queue.Spec{Name: "q"}); err != nil {
		b.Fatal(err)
	}
	took := make([]time.Duration, 100)
	for i := range took {
		begun := time.Now()
		if err := broker.Publish(b.Context(), "q", queue.Message{Body: []byte("{}")}); err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[len(took)/2]
}
