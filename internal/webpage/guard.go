// Package webpage is what the pages of this house have in common, that of a session (runtime/monitor) and that of the jobs (jobs/server): who may ask, what every
// answer tells a browser, and the colours. What is asked, and how it is refused, is each page's own business.
package webpage

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// tokenParameter is where the token stands in an address.
const tokenParameter = "token"

// Guard tells who asks. It is safe for concurrent use.
//
// A browser can be made to send requests here by any page that it shows:
//   - A host name of the attacker's that resolves to 127.0.0.1 (DNS rebinding) makes its page one of the same origin. So a name that is not loopback's needs
//     the token, which it does not know.
//   - A proxy may rewrite the name to that of loopback, as nginx does unless told otherwise. Whom it has a request from is not known: so one that carries a
//     proxy's header needs the token, too. A proxy or a port forwarder that adds none lets everybody in whom it lets through.
//   - A page of another origin is told by Sec-Fetch-Site and Origin.
type Guard struct {
	Local   bool // it listens on loopback, and its names need no token there
	token   string
	origins *http.CrossOriginProtection
}

// NewGuard is that of a page that listens on a host: a name, or an address without a port. Others than programs of this machine need the token, which is not
// to be empty.
func NewGuard(host, token string) *Guard {
	return &Guard{isLoopback(host), token, http.NewCrossOriginProtection()}
}

// NewStrictGuard is that of a page whose every request needs the token, wherever it listens: each account of a machine reaches its loopback.
func NewStrictGuard(token string) *Guard {
	return &Guard{false, token, http.NewCrossOriginProtection()}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Knows tells whether a request comes under a name of loopback and by no proxy, where the page listens there only, or has the token: in its address, or as
// Authorization: Bearer.
func (g *Guard) Knows(r *http.Request) bool {
	if g.Local && isLoopback(hostOf(r.Host)) && !proxied(r.Header) {
		return true
	}
	return g.inAddress(r) || Same(bearer(r.Header.Get("Authorization")), g.token)
}

// bearer is the token of an Authorization header, whose scheme is of any case (RFC 9110, section 11.1); "": it has another scheme, or none.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}

func (g *Guard) inAddress(r *http.Request) bool {
	return Same(r.URL.Query().Get(tokenParameter), g.token)
}

// Query is what an address ends with that has the token: "?token=…". A token that somebody has set may have any characters.
func (g *Guard) Query() string { return "?" + tokenParameter + "=" + url.QueryEscape(g.token) }

// QueryOf is Query where a request's address has the token, so that links keep it, and "" where it has none, or a wrong one.
func (g *Guard) QueryOf(r *http.Request) string {
	if !g.inAddress(r) {
		return ""
	}
	return g.Query()
}

// Foreign tells whether a page of another origin makes the browser send a request, also one that only reads, other than by a link that somebody has followed.
func (g *Guard) Foreign(r *http.Request) bool {
	asChange := *r
	asChange.Method = http.MethodPost // of what only reads, Check says nothing
	if g.origins.Check(&asChange) == nil {
		return false
	}
	link := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !link
}

// proxied tells whether a proxy says that it has passed a request on.
func proxied(h http.Header) bool {
	for name := range h {
		if name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}

// hostOf is the whole of a Host header without its port; "": it is none. What stands behind a colon is a port only where it is a
// number: of localhost:80.evil.example nothing is localhost.
func hostOf(hostport string) string {
	host, port := hostport, ""
	if i := strings.LastIndexByte(hostport, ':'); i >= 0 && !strings.HasSuffix(hostport, "]") {
		host, port = hostport[:i], hostport[i+1:]
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return ""
		}
	}
	if inner, is := strings.CutPrefix(host, "["); is {
		inner, is = strings.CutSuffix(inner, "]")
		if !is || !strings.Contains(inner, ":") {
			return ""
		}
		return inner
	}
	if strings.Contains(host, ":") { // an address of IPv6 stands in brackets
		return ""
	}
	return host
}

// Same compares secrets in a time that tells nothing of them.
func Same(got, want string) bool { return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1 }

// Secure sets what every answer tells a browser: to run nothing but the page's own files, to lend it to no other page, to guess no type, to keep nothing.
func Secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer") // an address may have the token
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}
