package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cancha/jobs/jobstest"
	"cancha/jobs/local"
	"cancha/jobs/queue"
)

// served is a broker that is reached by Dial.
type served struct {
	broker *local.Broker
	server *local.Server
	token  string
}

func newServed(t testing.TB, address, token string) *served {
	t.Helper()
	s := &served{broker: opened(t, t.TempDir(), local.Options{}), token: token}
	s.serve(t, address)
	t.Cleanup(func() {
		if err := s.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *served) serve(t testing.TB, address string) {
	t.Helper()
	server, err := local.Serve(s.broker, address, s.token)
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
}

func (s *served) Connect(t testing.TB) queue.Broker {
	t.Helper()
	r, err := local.Dial(t.Context(), s.server.Address(), s.token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (s *served) Break(t testing.TB) {
	if err := s.server.Close(); err != nil {
		t.Error(err)
	}
}

func (s *served) Mend(t testing.TB) { s.serve(t, s.server.Address()) }

// socket is an address in a folder whose path is short enough.
func socket(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return "unix:" + filepath.Join(folder, "socket")
}

// lacks is what is left out of the suite over a connection, unless all is asked for: time passes there as in one process (TestInProcess).
func lacks() map[string]string {
	if os.Getenv(long) != "" {
		return nil
	}
	return map[string]string{"expires": "takes 2.5 s; " + long + "=1 tries it here, too"}
}

func TestUnixSocket(t *testing.T) {
	jobstest.TestBroker(t, func(t *testing.T) jobstest.Bench { return newServed(t, socket(t), "") }, lacks())
}

// TestLoopback: one broker for all.
func TestLoopback(t *testing.T) {
	s := newServed(t, "127.0.0.1:0", "0123456789secret")
	jobstest.TestBroker(t, func(*testing.T) jobstest.Bench { return s }, lacks())
}

func BenchmarkUnixSocket(b *testing.B) {
	for _, inFlight := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("%d in flight", inFlight), func(b *testing.B) { jobstest.BenchmarkBroker(b, newServed(b, socket(b), "").Connect(b), inFlight) })
	}
}
