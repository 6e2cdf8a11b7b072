package server

import (
	"mime"
	"net/http"

	"cancha/internal/webpage"
)

// healthPath is what everybody may ask.
const healthPath = "/health"

// guard decides who is answered: whoever has the token, wherever the server listens, for each account of a machine reaches its loopback,
// and who submits a job has something run as the worker's user. A browser that has the token is answered, too, where another page makes it
// ask:
//   - A page of another origin gets nothing, as webpage.Guard has it. To follow a link to the page is allowed.
//   - A browser that tells no origin can be made to POST a form. A form has no Content-Type application/json, and a script of another
//     origin has none without asking before, which is refused.
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
		return http.StatusForbidden, "this needs the token, as Authorization: Bearer … or ?token=…: that of $CANCHA_JOBS_TOKEN where the scheduler has it, or else what stands in the file token of its folder, which is its user's alone"
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
