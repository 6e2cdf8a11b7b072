package monitor

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// tokenParameter is where the token stands in an address, and csrfHeader where a change has the page's own secret.
const (
	tokenParameter = "token"
	csrfHeader     = "X-Cancha-Page"
)

// guard decides who may see the page and who may change something.
//
// A browser can be made to send requests here by any page that it shows. Such a page must neither read an answer nor stop a query:
//   - A host name of the attacker's that resolves to 127.0.0.1 (DNS rebinding) makes its page one of the same origin. So a name that is not
//     loopback's needs the token, which it does not know.
//   - A proxy may rewrite the name to that of loopback, as nginx does unless told otherwise. Whom it has a request from is not known: so one that
//     carries a proxy's header needs the token too. A proxy or a port forwarder that adds none lets everybody in whom it lets through.
//   - A request from another origin carries Origin or Sec-Fetch-Site, and is refused, except for following a link to the page.
//   - What changes something is a POST with a header that only the page knows the value of, which a form cannot send.
type guard struct {
	local bool   // listens on loopback: its names need no token
	token string // for all others
	csrf  string
	app   string // which application answers: a page that was loaded from the one before sees it
}

func newGuard(host, token, app string) *guard {
	return &guard{local: isLoopback(host), token: token, csrf: rand.Text(), app: app}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// wrap lets those requests through that are allowed.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		w.Header().Set("X-Cancha-Application", g.app)
		if status, why := g.refuse(r); status != 0 {
			http.Error(w, why, status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// secure sets what every answer tells a browser: to run nothing but the page's own files, to lend it to no other page, to guess no type.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer") // an address may have the token
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}

// refuse tells why a request is not answered; status 0: it is.
func (g *guard) refuse(r *http.Request) (status int, why string) {
	switch {
	case !g.knows(r) && g.local:
		return http.StatusForbidden, "This page is for programs of its machine. Under another name than 127.0.0.1 or localhost, and through a proxy, its address needs the token: session.UI() shows it."
	case !g.knows(r):
		return http.StatusForbidden, "The address of this page needs the token: session.UI() shows it."
	case foreign(r):
		return http.StatusForbidden, "A page of another origin gets nothing from here."
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return 0, ""
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "Only GET and POST are known here."
	case !same(r.Header.Get(csrfHeader), g.csrf):
		return http.StatusForbidden, "A change has to come from the page itself: reload it, and try again."
	}
	return 0, ""
}

// knows tells whether a request comes under a name of loopback and by no proxy, where the page listens there only, or has the token.
func (g *guard) knows(r *http.Request) bool {
	if g.local && isLoopback(hostOf(r.Host)) && !proxied(r.Header) {
		return true
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return same(r.URL.Query().Get(tokenParameter), g.token) || same(bearer, g.token)
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

// hostOf is a host without its port.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// foreign tells whether a page of another origin makes the browser send a request, other than by a link that somebody has followed.
func foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		link := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		return !link
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}

// same compares secrets in a time that tells nothing of them.
func same(got, want string) bool { return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1 }
