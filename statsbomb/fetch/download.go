package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// errNotFound is a file that the server does not have.
var errNotFound = errors.New("not found (404)")

// passing is an error that another try may mend.
type passing struct {
	cause error
	after time.Duration // what the server asked to wait, 0 if it did not
}

func (p *passing) Error() string { return p.cause.Error() }
func (p *passing) Unwrap() error { return p.cause }

// longestWait bounds the time between two tries, whatever a server asks for.
const longestWait = 30 * time.Second

// download reads a file, as often as need be, until it is whole and makes sense.
func (f *fetcher) download(ctx context.Context, one file) ([]byte, error) {
	address := f.Base + "/" + one.name
	for try := 1; ; try++ {
		text, err := f.get(ctx, address)
		if err == nil {
			if err = one.check(text); err == nil {
				return text, nil
			}
			err = &passing{cause: fmt.Errorf("the answer is not what it should be, %d bytes: %w", len(text), err)}
		}
		var p *passing
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("stopped at %s: %w", one.name, context.Cause(ctx))
		case errors.Is(err, errNotFound) && !one.optional:
			return nil, fmt.Errorf("%s: %w; the base address must be that of the folder with competitions.json", address, err)
		case !errors.As(err, &p):
			return nil, fmt.Errorf("%s: %w", address, err)
		case try == f.Tries:
			return nil, fmt.Errorf("%s: gave up after %d tries (run again to go on from here): %w", address, try, hint(err))
		}
		if !sleep(ctx, f.pause(try, p.after)) {
			return nil, fmt.Errorf("stopped at %s: %w", one.name, context.Cause(ctx))
		}
	}
}

// pause is how long to wait after a try: doubled each time, and spread so that parallel downloads do not come back at once.
func (f *fetcher) pause(try int, asked time.Duration) time.Duration {
	wait := f.Wait << min(try-1, 16)
	wait = wait/2 + rand.N(wait/2+1)
	return min(max(wait, asked), longestWait)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// largest bounds an answer: the largest file published has 9 MB.
const largest = 256 << 20

// get reads an address once.
func (f *fetcher) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := f.Client.Do(request)
	if err != nil {
		return nil, &passing{cause: err}
	}
	defer answer.Body.Close()
	if err := status(answer); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, largest+1))
	switch {
	case err != nil:
		return nil, &passing{cause: fmt.Errorf("the answer broke off after %d bytes: %w", len(text), err)}
	case len(text) > largest:
		return nil, fmt.Errorf("the answer is longer than %d bytes", largest)
	}
	return text, nil
}

func status(answer *http.Response) error {
	switch code := answer.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return errNotFound
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // a date counts as nothing asked
		return &passing{cause: fmt.Errorf("the server answered %s", answer.Status), after: time.Duration(seconds) * time.Second}
	default:
		return fmt.Errorf("the server answered %s", answer.Status)
	}
}

// hint adds to an error of the network what a user can do.
func hint(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var u *url.Error
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("no such host, or no network; a proxy is taken from HTTPS_PROXY, a mirror from -base: %w", err)
	case errors.As(err, &op):
		return fmt.Errorf("no connection; check the network, HTTPS_PROXY or -base: %w", err)
	case errors.As(err, &u) && u.Timeout():
		return fmt.Errorf("no answer in time: %w", err)
	}
	return err
}
