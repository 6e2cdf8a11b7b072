package monitor

import (
	"crypto/rand"
	"net/http"

	"cancha/internal/webpage"
)

// csrfHeader is where a change has the page's own secret.
const csrfHeader = "X-Cancha-Page"

// guard decides who may see the page and who may change something.
//
// A page that a browser shows, and that is another's, must neither read an answer nor stop a query:
//   - One of another name or origin, or one that comes through a proxy, gets nothing without the token, as webpage.Guard has it. To follow a link to the page is
//     allowed.
//   - What changes something is a POST with a header that only the page knows the value of, which a form cannot send.
type guard struct {
	*webpage.Guard
	csrf string
	app  string // which application answers: a page that was loaded from the one before sees it
}

func newGuard(host, token, app string) *guard {
	return &guard{webpage.NewGuard(host, token), rand.Text(), app}
}

// wrap lets those requests through that are allowed.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		webpage.Secure(w.Header())
		w.Header().Set("X-Cancha-Application", g.app)
		if status, why := g.refuse(r); status != 0 {
			http.Error(w, why, status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse tells why a request is not answered; status 0: it is.
func (g *guard) refuse(r *http.Request) (status int, why string) {
	switch {
	case !g.Knows(r) && g.Local:
		return http.StatusForbidden, "This page is for programs of its machine. Under another name than 127.0.0.1 or localhost, and through a proxy, its address needs the token: session.UI() shows it."
	case !g.Knows(r):
		return http.StatusForbidden, "The address of this page needs the token: session.UI() shows it."
	case g.Foreign(r):
		return http.StatusForbidden, "A page of another origin gets nothing from here."
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return 0, ""
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "Only GET and POST are known here."
	case !webpage.Same(r.Header.Get(csrfHeader), g.csrf):
		return http.StatusForbidden, "A change has to come from the page itself: reload it, and try again."
	}
	return 0, ""
}
