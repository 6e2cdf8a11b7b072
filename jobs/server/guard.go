package server

import (
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"strings"
)

// tokenParameter is where the token stands in an address, and healthPath what everybody may ask.
const (
	tokenParameter = "token"
	healthPath     = "/health"
)

// guard decides who is answered.
//
// Programs of this machine are, and need no token: a foreign one submits a job with no more than its address. A browser of this machine is not, when another
// page makes it ask:
//   - A host name of the attacker's that resolves to 127.0.0.1 (DNS rebinding) makes its page one of the same origin. So a name that is not loopback's needs
//     the token, and so does a request with a proxy's header, for a proxy may rewrite the name.
//   - A page of another origin is told by Sec-Fetch-Site and Origin, as net/http's CrossOriginProtection has it, here for what only reads, too. To follow a link
//     to the page is allowed.
//   - A browser that sends neither can be made to POST a form. A form has no Content-Type application/json, and a script of another origin has none without
//     asking before, which is refused.
type guard struct {
	local   bool   // it listens on loopback: its names need no token
	token   string // for all others
	origins *http.CrossOriginProtection
}

func newGuard(host, token string) *guard {
	return &guard{isLoopback(host), token, http.NewCrossOriginProtection()}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// wrap lets those requests through that are allowed.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if status, why := g.refuse(r); status != 0 {
			writeJSON(w, status, failure{why})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// secure sets what every answer tells a browser: to run nothing but the page's own files, to lend it to no other page, to guess no type.
func secure(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Referrer-Policy":              "no-referrer", // an address may have the token
		"X-Content-Type-Options":       "nosniff",
		"Cache-Control":                "no-store",
	} {
		h.Set(name, value)
	}
}

// refuse tells why a request is not answered; status 0: it is.
func (g *guard) refuse(r *http.Request) (status int, why string) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case reads && r.URL.Path == healthPath:
		return 0, ""
	case !g.knows(r):
		return http.StatusForbidden, "this needs the token, as ?token=… or Authorization: Bearer …; without it there are programs of this machine, under 127.0.0.1 or localhost, and no proxy, where it listens there only"
	case g.foreign(r):
		return http.StatusForbidden, "a page of another origin gets nothing from here"
	case reads:
		return 0, ""
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "only GET and POST are known here"
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, "send the header Content-Type: application/json, also where there is no body: no form of another page can"
	}
	return 0, ""
}

// knows tells whether a request comes under a name of loopback and by no proxy, where the server listens there only, or has the token.
func (g *guard) knows(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	return g.local && isLoopback(host) && !proxied(r.Header) || g.hasToken(r)
}

func (g *guard) hasToken(r *http.Request) bool {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return g.isToken(r.URL.Query().Get(tokenParameter)) || g.isToken(bearer)
}

// isToken compares in a time that tells nothing.
func (g *guard) isToken(s string) bool {
	return subtle.ConstantTimeCompare([]byte(s), []byte(g.token)) == 1
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

// foreign tells whether a page of another origin makes the browser send a request, other than by a link that somebody has followed.
func (g *guard) foreign(r *http.Request) bool {
	asChange := *r
	asChange.Method = http.MethodPost // of what only reads, Check says nothing
	if g.origins.Check(&asChange) == nil {
		return false
	}
	link := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !link
}
