package avro

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cancha/stream"
)

// network is what stands between a client and a registry, on a clock of the test.
type network func(request *http.Request) (status int, body string, err error)

// RoundTrip implements http.RoundTripper.
func (n network) RoundTrip(request *http.Request) (*http.Response, error) {
	status, body, err := n(request)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
}

func clientOver(t *testing.T, n network) *client {
	t.Helper()
	c, err := newClient(Config{URL: "http://registry"})
	if err != nil {
		t.Fatal(err)
	}
	c.http = &http.Client{Transport: n}
	return c
}

// A registry that refuses connections is asked with longer and longer pauses, for 30 s in all.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		c := clientOver(t, func(*http.Request) (int, string, error) {
			at = append(at, time.Since(began))
			return 0, "", errors.New("connection refused")
		})
		_, err := c.schema(t.Context(), 1)
		if want := "schema registry http://registry was asked 11 times in 30s and is of no help"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %v, want an error with %q and the cause", err, want)
		}
		if got, want := time.Since(began), DefaultTimeout; got != want {
			t.Errorf("it took %v, want %v", got, want)
		}
		want := "[0s 100ms 300ms 700ms 1.5s 3.1s 6.3s 11.3s 16.3s 21.3s 26.3s]"
		if got := fmt.Sprint(at); got != want {
			t.Errorf("asked at %v, want %v", got, want)
		}
	})
}

// A registry that takes requests and never answers is given up in the same time.
func TestSilentRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, tries := time.Now(), 0
		c := clientOver(t, func(request *http.Request) (int, string, error) {
			tries++
			<-request.Context().Done()
			return 0, "", request.Context().Err()
		})
		_, err := c.schema(t.Context(), 1)
		if want := "no answer in time"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if got := time.Since(began); got != DefaultTimeout || tries != 3 {
			t.Errorf("it took %v and %d tries, want %v and 3", got, tries, DefaultTimeout)
		}
	})
}

// A number that was unknown is asked for again after a minute, not before; a schema never.
func TestUnknownIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, exists := 0, false
		c := clientOver(t, func(*http.Request) (int, string, error) {
			if tries++; exists {
				return 200, `{"schema":"{\"type\":\"record\",\"name\":\"R\",\"fields\":[]}"}`, nil
			}
			return 404, `{"error_code":40403,"message":"Schema 1 not found"}`, nil
		})
		ask := func() answer {
			a, err := c.schema(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		for range 3 {
			if got, want := ask().reason, "schema 1 is not known to the registry"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		exists = true
		time.Sleep(unknownFor - time.Second)
		if a := ask(); a.schema != nil || tries != 1 {
			t.Errorf("asked %d times before the minute was over, want once", tries)
		}
		time.Sleep(2 * time.Second)
		if a := ask(); a.schema == nil || tries != 2 {
			t.Errorf("after a minute: got %q and %d tries, want a schema and 2", a.reason, tries)
		}
		time.Sleep(24 * time.Hour)
		if a := ask(); a.schema == nil || tries != 2 {
			t.Errorf("after a day: got %q and %d tries, want a schema and still 2", a.reason, tries)
		}
	})
}

// A decoder looks at a number that was unknown again after a minute, and reads its records then.
func TestDecoderAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exists := false
		c := clientOver(t, func(*http.Request) (int, string, error) {
			if exists {
				return 200, `{"schema":"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"x\",\"type\":\"int\"}]}"}`, nil
			}
			return 404, `{"error_code":40403,"message":"Schema 1 not found"}`, nil
		})
		d, err := RegistryFormat{client: c}.Decoder([]stream.Slot{{Path: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		record, row := []byte{0, 0, 0, 0, 1, 14}, make([]stream.Value, 1)
		for _, step := range []struct {
			after  time.Duration
			exists bool
			reason string
		}{
			{0, false, "schema 1 is not known to the registry"},
			{unknownFor - time.Second, true, "schema 1 is not known to the registry"},
			{2 * time.Second, true, ""},
		} {
			time.Sleep(step.after)
			exists = step.exists
			if err := d.(stream.Preparer).Prepare(t.Context(), []stream.Record{{Value: record}}); err != nil {
				t.Fatal(err)
			}
			if reason := d.Decode(record, row); reason != step.reason {
				t.Errorf("%v later: got %q, want %q", step.after, reason, step.reason)
			}
		}
		if got := row[0].Int(); got != 7 {
			t.Errorf("got %d, want 7", got)
		}
	})
}

// A record whose schema was never fetched is no row of absent values.
func TestDecodeUnprepared(t *testing.T) {
	d, err := Registry(Config{URL: "http://registry"}).Decoder([]stream.Slot{{Path: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if reason := d.Decode([]byte{0, 0, 0, 0, 1, 14}, make([]stream.Value, 1)); reason == "" {
		t.Error("it is read without its schema")
	}
}

// Who waits while another asks can be stopped.
func TestWaitingForTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clientOver(t, func(request *http.Request) (int, string, error) {
			<-request.Context().Done()
			return 0, "", request.Context().Err()
		})
		both, stop := context.WithCancelCause(t.Context())
		ends := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := c.schema(both, 1)
				ends <- err
			}()
		}
		synctest.Wait()
		stopped := errors.New("stopped")
		stop(stopped)
		for range 2 {
			if err := <-ends; !errors.Is(err, stopped) {
				t.Errorf("got %v, want %v", err, stopped)
			}
		}
	})
}
