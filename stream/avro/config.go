package avro

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says where a schema registry is and how it is asked. Printing one never shows the password.
type Config struct {
	URL string // of the registry, such as http://registry:8081, with the path below which it is, if any
	// Username and Password are sent with each request (basic authentication); an empty Username: none. Without TLS everybody on the way can read
	// them. Some services call them key and secret.
	Username string
	Password string `json:"-"`
	// TLS is for a URL that begins with https; nil: the certificate authorities of the system, no certificate of one's own. TLSFromFiles of
	// package kafka makes one.
	TLS *tls.Config
	// Timeout is how long the query waits for a schema in all, with everything that it refers to, before it ends with an error: 30 s unless set. One
	// request is given up after a third of it. Between requests there are 0.1 s, twice as much after each, and at most 5 s.
	Timeout time.Duration
}

// DefaultTimeout is how long a registry is waited for.
const DefaultTimeout = 30 * time.Second

// String tells where the registry is, and as whom it is asked, without the password.
func (c Config) String() string {
	where := "an unreadable URL"
	if u, err := url.Parse(c.URL); err == nil && !hidden(u) {
		where = u.Redacted()
	}
	if c.Username != "" {
		where += " as " + c.Username
	}
	return where
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (c Config) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// hidden tells whether a URL may have a password where none is expected: user:password@host has the scheme user.
func hidden(u *url.URL) bool { return u.Host == "" && strings.Contains(u.String(), "@") }

// validate fills gaps and refuses what cannot be meant.
func (c *Config) validate() (*url.URL, error) {
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		return nil, errors.New("no URL of the registry: set Config.URL, such as http://registry:8081")
	case err != nil || hidden(u):
		return nil, errors.New("the registry's URL cannot be read: want one such as http://registry:8081")
	case u.User != nil:
		return nil, fmt.Errorf("the registry's URL %s has a user in it: set Config.Username and Config.Password instead", u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the registry's URL is %q: want one such as http://registry:8081", c.URL)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the registry's URL is %q: want none with ? or #", c.URL)
	case c.TLS != nil && u.Scheme == "http":
		return nil, fmt.Errorf("the registry's URL is %q, which is not encrypted, and Config.TLS is set: want https, or no TLS", c.URL)
	case c.Password != "" && c.Username == "":
		return nil, errors.New("a Password for the registry without a Username")
	case c.Timeout < 0:
		return nil, fmt.Errorf("a Timeout of %v for the registry: want more than 0", c.Timeout)
	case c.Timeout > 0 && c.Timeout < time.Millisecond:
		return nil, fmt.Errorf("a Timeout of %v for the registry: a number alone is nanoseconds; write it with its unit, such as 30 * time.Second", c.Timeout)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	return u, nil
}

// transport asks over connections that are closed after each request: there are few, and none is left behind.
func (c *Config) transport() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if c.TLS != nil {
		t.TLSClientConfig = c.TLS.Clone()
	}
	return t
}
