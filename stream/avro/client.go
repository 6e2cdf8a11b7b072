package avro

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/twmb/avro"
)

const (
	maxAnswer  = 8 << 20     // bytes of one answer of the registry
	maxMessage = 200         // bytes of its own words in an error
	maxParts   = 200         // schemas that one schema may refer to, in all
	unknownFor = time.Minute // after which a number that was unknown is asked for again
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// client asks a schema registry, and remembers its answers.
type client struct {
	Config
	base  *url.URL
	http  *http.Client
	turn  chan struct{} // holds one value while somebody asks, who alone uses known
	known map[uint32]answer
}

// answer is what a number stands for: a schema, or the reason why it is none that can be read.
type answer struct {
	schema *schema
	reason string
	until  time.Time // when the reason may have gone; zero: never
}

func newClient(c Config) (*client, error) {
	base, err := c.validate()
	if err != nil {
		return nil, err
	}
	return &client{Config: c, base: base, http: &http.Client{Transport: c.transport()}, turn: make(chan struct{}, 1), known: map[uint32]answer{}}, nil
}

// schema returns what a number stands for. Partitions that ask at the same time take turns, so that a schema is fetched once.
func (c *client) schema(ctx context.Context, id uint32) (answer, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
	defer func() { <-c.turn }()
	if a, ok := c.known[id]; ok && (a.until.IsZero() || time.Now().Before(a.until)) {
		return a, nil
	}
	a, err := c.fetch(ctx, id)
	if err != nil {
		return answer{}, err
	}
	if len(c.known) >= maxReaders {
		clear(c.known)
	}
	c.known[id] = a
	return a, nil
}

// document is a schema as the registry gives it.
type document struct {
	Schema     *string `json:"schema"`
	Type       string  `json:"schemaType"` // empty: AVRO
	References []struct {
		Name    string `json:"name"`
		Subject string `json:"subject"`
		Version int    `json:"version"`
	} `json:"references"`
}

// unusable is the error for a schema that makes records bad and does not end the query.
type unusable struct {
	reason string
	absent bool // the registry does not have it, so far
}

func (u unusable) Error() string { return u.reason }

// fetch asks for a schema, for what it refers to, and reads them.
func (c *client) fetch(ctx context.Context, id uint32) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, errPatience)
	defer cancel()
	s, err := c.assemble(ctx, id)
	if bad := (unusable{}); errors.As(err, &bad) {
		a := answer{reason: fmt.Sprintf("schema %d %s", id, bad.reason)}
		if bad.absent {
			a.until = time.Now().Add(unknownFor)
		}
		return a, nil
	}
	return answer{schema: s}, err
}

func (c *client) assemble(ctx context.Context, id uint32) (*schema, error) {
	d, err := c.get(ctx, fmt.Sprintf("/schemas/ids/%d", id))
	if err != nil {
		return nil, err
	}
	var known avro.SchemaCache
	left := maxParts
	if err := c.gather(ctx, &known, d, &left, map[string]bool{}); err != nil {
		return nil, err
	}
	s, err := parse(&known, *d.Schema)
	if err == nil {
		err = s.isRecord()
	}
	if err != nil {
		return nil, unusable{reason: "cannot be read: " + short(err.Error())}
	}
	return s, nil
}

// gather has the schemas parsed that a schema refers to, those first that others need.
func (c *client) gather(ctx context.Context, known *avro.SchemaCache, d document, left *int, done map[string]bool) error {
	if d.Type != "" && d.Type != "AVRO" {
		return unusable{reason: fmt.Sprintf("is of type %s, not AVRO", short(d.Type))}
	}
	for _, r := range d.References {
		path := fmt.Sprintf("/subjects/%s/versions/%d", url.PathEscape(r.Subject), r.Version)
		if done[path] {
			continue
		}
		done[path] = true
		if *left--; *left < 0 {
			return unusable{reason: fmt.Sprintf("refers to more than %d others", maxParts)}
		}
		part, err := c.get(ctx, path)
		if bad := (unusable{}); errors.As(err, &bad) {
			return unusable{reason: fmt.Sprintf("refers to version %d of %s, which %s", r.Version, short(r.Subject), bad.reason), absent: bad.absent}
		}
		if err != nil {
			return err
		}
		if err := c.gather(ctx, known, part, left, done); err != nil {
			return err
		}
		if _, err := known.Parse(*part.Schema); err != nil {
			return unusable{reason: fmt.Sprintf("refers to version %d of %s, which cannot be read: %s", r.Version, short(r.Subject), short(err.Error()))}
		}
	}
	return nil
}

// errPatience is why a request ends that would take the client beyond its Timeout.
var errPatience = errors.New("no answer in time")

// passing is an error that may be gone when the registry is asked again.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

// get asks for a document until there is an answer that will not change, or the time of ctx is over.
func (c *client) get(ctx context.Context, path string) (document, error) {
	pause := firstPause
	var last error
	for tries := 1; ; tries++ {
		d, err := c.try(ctx, path)
		if !errors.As(err, new(passing)) {
			return d, err
		}
		if last == nil || !errors.Is(err, errPatience) {
			last = err // what it was before the time was over tells more
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return document{}, c.gaveUp(ctx, tries, last)
		}
		pause = min(2*pause, lastPause)
	}
}

func (c *client) gaveUp(ctx context.Context, tries int, last error) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errPatience) {
		return cause // the query was stopped
	}
	return fmt.Errorf("avro: schema registry %s was asked %d times in %v and is of no help: %w; is it running, and is Config.URL right?",
		c.base, tries, c.Timeout, last)
}

// try asks once.
func (c *client) try(ctx context.Context, path string) (d document, err error) {
	once, cancel := context.WithTimeoutCause(ctx, c.Timeout/3, errPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(once, http.MethodGet, strings.TrimSuffix(c.base.String(), "/")+path, nil)
	if err != nil {
		return d, fmt.Errorf("avro: %w", err)
	}
	request.Header.Set("Accept", "application/vnd.schemaregistry.v1+json, application/json")
	if c.Username != "" {
		request.SetBasicAuth(c.Username, c.Password)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return d, c.unanswered(once, err)
	}
	defer response.Body.Close() // nothing was written: no error of it matters
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return d, c.unanswered(once, err)
	case len(body) > maxAnswer:
		return d, fmt.Errorf("avro: schema registry %s answers %s with more than %d MiB", c.base, path, maxAnswer>>20)
	case response.StatusCode != http.StatusOK:
		return d, c.refused(response, path, body)
	}
	if json.Unmarshal(body, &d) != nil || d.Schema == nil {
		return d, fmt.Errorf("avro: %s answers %s with something other than a schema: is it a schema registry? It begins %q", c.base, path, short(string(body)))
	}
	return d, nil
}

// unanswered tells apart who can be asked again.
func (c *client) unanswered(ctx context.Context, err error) error {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case errors.As(err, &certificate), errors.As(err, new(x509.UnknownAuthorityError)):
		return fmt.Errorf("avro: schema registry %s: %w; Config.TLS says which authorities to believe", c.base, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("avro: schema registry %s: %w; does Config.URL begin with http?", c.base, err)
	case errors.As(err, &alert):
		return fmt.Errorf("avro: schema registry %s: %w; it may ask for a certificate of one's own, which Config.TLS has", c.base, err)
	case ctx.Err() != nil:
		return passing{context.Cause(ctx)}
	}
	return passing{err}
}

// refused reads an answer that is not a schema.
func (c *client) refused(response *http.Response, path string, body []byte) error {
	var own struct {
		Code    int    `json:"error_code"`
		Message string `json:"message"`
	}
	isJSON := json.Unmarshal(body, &own) == nil && own.Code != 0
	status := response.Status
	if own.Message != "" {
		status += ": " + short(own.Message)
	}
	switch code := response.StatusCode; {
	case code == http.StatusNotFound && isJSON && own.Code != http.StatusNotFound:
		return unusable{reason: "is not known to the registry", absent: true}
	case code == http.StatusNotFound:
		return fmt.Errorf("avro: %s answers %s with %s, not as a schema registry does: is Config.URL right?", c.base, path, status)
	case code == http.StatusUnauthorized && c.Username == "":
		return fmt.Errorf("avro: schema registry %s wants a user (%s): set Config.Username and Config.Password", c.base, status)
	case code == http.StatusUnauthorized:
		return fmt.Errorf("avro: schema registry %s refuses user %q or the password (%s)", c.base, c.Username, status)
	case code == http.StatusForbidden:
		return fmt.Errorf("avro: schema registry %s does not let user %q read %s (%s)", c.base, c.Username, path, status)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return passing{fmt.Errorf("it answers %s", status)}
	}
	return fmt.Errorf("avro: schema registry %s answers %s with %s", c.base, path, status)
}

// short bounds words of others in an error.
func short(words string) string {
	words = strings.ToValidUTF8(strings.Join(strings.Fields(words[:min(len(words), 4*maxMessage)]), " "), "\uFFFD")
	if len(words) > maxMessage {
		words = strings.ToValidUTF8(words[:maxMessage], "") + "…"
	}
	return words
}
