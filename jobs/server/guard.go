package server

import (
	"mime"
	"net/http"

	"cancha/internal/webpage"
)

// healthPath is what everybody may ask.
const healthPath = "/health"

// guard decides who is answered.
//
// Programs of this machine are, and need no token: a foreign one submits a job with no more than its address. A browser of this machine is not, when another
// page makes it ask:
//   - A page of another name or origin, or one that comes through a proxy, gets nothing without the token, as webpage.Guard has it. To follow a link to the page
//     is allowed.
//   - A browser that tells no origin can be made to POST a form. A form has no Content-Type application/json, and a script of another origin has none without
//     asking before, which is refused.
type guard struct{ *webpage.Guard }

// wrap lets those requests through that are allowed.
func (g guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		webpage.Secure(w.Header())
		if status, why := g.refuse(r); status != 0 {
			writeJSON(w, status, failure{why})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse tells why a request is not answered; status 0: it is.
func (g guard) refuse(r *http.Request) (status int, why string) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case reads && r.URL.Path == healthPath:
		return 0, ""
	case !g.Knows(r):
		return http.StatusForbidden, "this needs the token, as ?token=… or Authorization: Bearer …; without it there are programs of this machine, under 127.0.0.1 or localhost, and no proxy, where it listens there only"
	case g.Foreign(r):
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
