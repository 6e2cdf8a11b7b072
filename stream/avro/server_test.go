package avro_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"cancha/stream"
	"cancha/stream/avro"
)

// registry is a schema registry of the tests. It speaks the part of Confluent's API that readers use, with its errors.
type registry struct {
	*httptest.Server
	user, password string

	mu       sync.Mutex
	schemas  map[int]entry
	versions map[string]entry // by subject/version
	requests []string
	broken   []int // statuses to answer with before it works
	raw      string
}

// entry is a schema as the registry gives it out.
type entry struct {
	Schema     string      `json:"schema"`
	Type       string      `json:"schemaType,omitempty"`
	References []reference `json:"references,omitempty"`
}

type reference struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

func newRegistry(t testing.TB, start func(http.Handler) *httptest.Server) *registry {
	t.Helper()
	r := &registry{schemas: map[int]entry{}, versions: map[string]entry{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /schemas/ids/{id}", r.byID)
	mux.HandleFunc("GET /subjects/{subject}/versions/{version}", r.byVersion)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		failure(w, http.StatusNotFound, 404, "HTTP 404 Not Found")
	})
	r.Server = start(r.guarded(mux))
	t.Cleanup(r.Close)
	return r
}

// guarded counts requests, fails where it is to, and asks for the user.
func (r *registry) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, request.URL.Path)
		if user, password, _ := request.BasicAuth(); user != r.user || password != r.password {
			failure(w, http.StatusUnauthorized, 401, "Unauthorized")
			return
		}
		if len(r.broken) > 0 {
			failure(w, r.broken[0], r.broken[0]*100+1, "Error in the backend datastore")
			r.broken = r.broken[1:]
			return
		}
		if r.raw != "" {
			fmt.Fprint(w, r.raw)
			return
		}
		next.ServeHTTP(w, request)
	})
}

func failure(w http.ResponseWriter, status, code int, message string) {
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"error_code": code, "message": message})
}

func (r *registry) byID(w http.ResponseWriter, request *http.Request) {
	id, err := strconv.Atoi(request.PathValue("id"))
	e, ok := r.schemas[id]
	if err != nil || !ok {
		failure(w, http.StatusNotFound, 40403, "Schema "+request.PathValue("id")+" not found")
		return
	}
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	json.NewEncoder(w).Encode(e)
}

func (r *registry) byVersion(w http.ResponseWriter, request *http.Request) {
	e, ok := r.versions[request.PathValue("subject")+"/"+request.PathValue("version")]
	if !ok {
		failure(w, http.StatusNotFound, 40401, "Subject '"+request.PathValue("subject")+"' not found.")
		return
	}
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	version, _ := strconv.Atoi(request.PathValue("version"))
	json.NewEncoder(w).Encode(struct {
		Subject string `json:"subject"`
		Version int    `json:"version"`
		ID      int    `json:"id"`
		entry
	}{request.PathValue("subject"), version, 1000 + version, e})
}

// asked are the paths that were asked for so far.
func (r *registry) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.requests...)
}

// framed puts the number of a schema before a record.
func framed(id int, record []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), record...)
}

// query is a query of records whose schemas are with r.
func (r *registry) query(source stream.Source, config avro.Config) *stream.Query {
	config.URL = r.URL
	return stream.From(source).Format(avro.Registry(config))
}
