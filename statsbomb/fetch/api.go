package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// API is the address of StatsBomb's API, which serves customers.
const API = "https://data.statsbombservices.com"

// AccountTerms is what everyone who uses an account's data must know.
const AccountTerms = "Data: StatsBomb, under the contract of your account."

// ErrNoAccount comes from AccountFrom where the environment names none, and from Run for the zero Account. ErrRefused comes from Run when the server takes neither
// user nor password, or lets the account see no list of competitions; nothing more is asked then.
var (
	ErrNoAccount = errors.New("no account: set STATSBOMB_USER and STATSBOMB_PASSWORD, or SB_USERNAME and SB_PASSWORD")
	ErrRefused   = errors.New("the server refuses the account")
)

// Account is a customer's access to the API. Its user and password are in a function and nowhere else: however an Account, or
// what holds it, is printed or encoded, neither is seen. The zero Account is none.
type Account struct {
	sign  func(*http.Request)
	named string // the variables that it is from, for an error
}

// AccountFrom takes the account from the environment that getenv, such as os.Getenv, reads: the pair STATSBOMB_USER and
// STATSBOMB_PASSWORD, else the pair SB_USERNAME and SB_PASSWORD that statsbombpy reads. ErrNoAccount tells that all are unset or
// empty; half a pair is an error.
func AccountFrom(getenv func(string) string) (*Account, error) {
	for _, pair := range [][2]string{{"STATSBOMB_USER", "STATSBOMB_PASSWORD"}, {"SB_USERNAME", "SB_PASSWORD"}} {
		user, password := getenv(pair[0]), getenv(pair[1])
		switch {
		case user == "" && password == "":
			continue
		case user == "":
			return nil, fmt.Errorf("%s is set, but not %s", pair[1], pair[0])
		case password == "":
			return nil, fmt.Errorf("%s is set, but not %s", pair[0], pair[1])
		case strings.Contains(user, ":"):
			return nil, fmt.Errorf("%s holds a colon, which no user of Basic authentication can have", pair[0]) // RFC 7617
		}
		return &Account{func(r *http.Request) { r.SetBasicAuth(user, password) }, pair[0] + " and " + pair[1]}, nil
	}
	return nil, ErrNoAccount
}

// signer adds the account to requests to one server, and to no other. Requests get it here rather than from their maker because
// http.Client would pass on a header of theirs in a redirect to another port or a subdomain, and to http from https.
type signer struct {
	account *Account
	base    *url.URL
	next    http.RoundTripper
}

func (s *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	if sameServer(s.base, r.URL) {
		r = r.Clone(r.Context()) // a RoundTripper must not change what it is given
		s.account.sign(r)
	}
	return s.next.RoundTrip(r)
}

func sameServer(a, b *url.URL) bool { return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) }

// signed returns a client that shows the account to the server at base.
func (a *Account) signed(c *http.Client, base *url.URL) *http.Client {
	with := *c
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	with.Transport = &signer{a, base, next}
	return &with
}

// parseBase reads the base address. Its errors do not repeat the address, which may hold a password.
func parseBase(base string, account bool) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the base address must be one such as " + API)
	case u.User != nil: // it would be in each message
		return nil, errors.New("the base address must hold no user and password; they come from the environment")
	case account && u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, errors.New("the base address must begin with https, for the password would be readable on the way")
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
