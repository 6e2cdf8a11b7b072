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

// What a server may answer instead of a file, beside faults.
var (
	errNotFound  = errors.New("not found (404)")
	errForbidden = errors.New("not for this account (403)")
	errEmpty     = errors.New("an empty list")
)

// passing is an error that another try may mend.
type passing struct {
	cause   error
	crowded bool          // the server has too much to do
	after   time.Duration // what the server asked to wait, 0 if it did not
}

func (p *passing) Error() string { return p.cause.Error() }
func (p *passing) Unwrap() error { return p.cause }

// longestWait bounds the time between two tries where the server asks for none, longestAsked what it may ask for: a fetch that
// waits longer had better end and be called again.
const (
	longestWait  = 30 * time.Second
	longestAsked = 10 * time.Minute
)

// download reads a file, as often as need be, until it is whole and makes sense.
func (f *fetcher) download(ctx context.Context, one file) ([]byte, error) {
	address := f.Base + one.path
	for try := 1; ; try++ {
		text, err := f.try(ctx, address, one)
		var p *passing
		switch {
		case err == nil:
			return text, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("stopped at %s: %w", one.name, context.Cause(ctx))
		case !errors.As(err, &p):
			return nil, f.final(address, one, err)
		case p.after > longestAsked:
			return nil, fmt.Errorf("%s: %w, and asks to wait for %v; run again then to go on from here", address, err, p.after)
		case try == f.Tries:
			return nil, fmt.Errorf("%s: gave up after %d tries (run again to go on from here): %w", address, try, hint(err))
		}
		wait := f.pause(try, p)
		f.warn(fmt.Errorf("%s: %w; next try in %v", address, err, wait.Round(10*time.Millisecond)))
		sleep(ctx, wait)
	}
}

// try reads a file once, when the server may be asked again.
func (f *fetcher) try(ctx context.Context, address string, one file) ([]byte, error) {
	if err := f.rest(ctx); err != nil {
		return nil, err
	}
	text, err := f.get(ctx, address)
	if err != nil {
		return nil, err
	}
	if err = one.check(text); err != nil && !errors.Is(err, errEmpty) {
		err = &passing{cause: fmt.Errorf("the answer is not what it should be, %d bytes: %w", len(text), err)}
	}
	return text, err
}

// final says what no other try mends.
func (f *fetcher) final(address string, one file, err error) error {
	switch {
	case errors.Is(err, ErrRefused), one.optional && isAbsent(err):
		return err
	case errors.Is(err, errForbidden):
		return fmt.Errorf("%w (403 Forbidden): check %s", ErrRefused, f.Account.named)
	case errors.Is(err, errNotFound) && f.Account != nil:
		return fmt.Errorf("%s: %w; check -base and -path", address, err)
	case errors.Is(err, errNotFound):
		return fmt.Errorf("%s: %w; the base address must be that of the folder with competitions.json", address, err)
	}
	return fmt.Errorf("%s: %w", address, err)
}

// pause is how long to wait after a try: doubled each time, and spread so that parallel downloads do not come back at once. A
// crowded server is left alone for longer, by all downloads.
func (f *fetcher) pause(try int, p *passing) time.Duration {
	wait := f.Wait << min(try-1, 16)
	if p.crowded {
		wait *= 8
	}
	wait = min(wait/2+rand.N(wait/2+1), longestWait)
	wait = max(wait, p.after)
	if p.crowded || p.after > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		if until := time.Now().Add(wait); until.After(f.quiet) {
			f.quiet = until
		}
	}
	return wait
}

// rest waits until the server may be asked again. An error is the context's.
func (f *fetcher) rest(ctx context.Context) error {
	for {
		f.mu.Lock()
		left := time.Until(f.quiet)
		f.mu.Unlock()
		if left <= 0 || !sleep(ctx, left) {
			return ctx.Err()
		}
	}
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
		return nil, &passing{cause: reason(err)}
	}
	defer answer.Body.Close()
	if err := f.status(answer); err != nil {
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

// reason is what went wrong, without the address: one that a server redirects to may hold a key in its query.
func reason(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func (f *fetcher) status(answer *http.Response) error {
	code := answer.StatusCode
	said := fmt.Errorf("the server answered %d %s", code, http.StatusText(code))
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNoContent:
		return errEmpty
	case code == http.StatusNotFound || code == http.StatusGone:
		return errNotFound
	case code == http.StatusTooManyRequests:
		return &passing{cause: said, crowded: true, after: retryAfter(answer.Header)}
	case code == http.StatusRequestTimeout || code >= 500:
		return &passing{cause: said, after: retryAfter(answer.Header)}
	case f.Account != nil && (code == http.StatusUnauthorized || code == http.StatusForbidden):
		return f.refusal(answer)
	}
	return said
}

// refusal tells who refuses what: the server the account, or another, to which it sent us, a request that does not show it.
func (f *fetcher) refusal(answer *http.Response) error {
	switch {
	case !sameServer(f.base, answer.Request.URL):
		return fmt.Errorf("the server sent us on to %s, which is not shown the account and answered %d", answer.Request.URL.Host, answer.StatusCode)
	case answer.StatusCode == http.StatusForbidden:
		return errForbidden
	}
	return fmt.Errorf("%w (401 Unauthorized): check %s", ErrRefused, f.Account.named)
}

// retryAfter is how long a server asks to wait, as seconds or until a date; 0 or less if it does not.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(seconds, 1<<30)) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return time.Until(date)
	}
	return 0
}

// hint adds to an error of the network what a user can do.
func hint(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var late net.Error
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("no such host, or no network; a proxy is taken from HTTPS_PROXY, a mirror from -base: %w", err)
	case errors.As(err, &op):
		return fmt.Errorf("no connection; check the network, HTTPS_PROXY or -base: %w", err)
	case errors.As(err, &late) && late.Timeout():
		return fmt.Errorf("no answer in time: %w", err)
	}
	return err
}
