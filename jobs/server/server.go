package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"cancha/internal/secret"
	"cancha/internal/webpage"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
)

// DefaultAddress is where it listens unless it is told otherwise.
const DefaultAddress = "127.0.0.1:8000"

// Config says what is shown and where. Scheduler and Broker are needed; both stay the caller's, who closes them after the server.
type Config struct {
	Scheduler *scheduler.Scheduler
	Broker    queue.Broker // the scheduler's: jobs are submitted to it, and its queues are counted
	Address   string       // host and port; "" is DefaultAddress, port 0 is any that is free
	Token     string       // whoever asks has to show it; at least 16 characters, and "" is one by chance, which URL tells
	Name      string       // the page's heading; "" is "Cancha jobs"
	Version   string       // of the program
	// Absent are workers that could be started, one for each device: work that waits for a device of which there is none is then seen in the demand.
	Absent []placement.Worker
	Logger *slog.Logger // nil is silent
}

// Server is one that answers. Start makes it; Close ends it.
type Server struct {
	config      Config
	guard       guard
	asker       *asker
	metrics     http.Handler
	http        *webpage.Server
	address     net.Addr
	ctx         context.Context // ends with Close, and with it what goes on for as long as somebody looks
	end         context.CancelFunc
	streams     chan struct{} // one for each that is open, with room for mostStreams
	submissions submissions
	searches    chan struct{} // one for each list that is searched for, with room for mostSearches
}

// Start listens, and answers until Close. The context is for the call alone.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Scheduler == nil || c.Broker == nil {
		return nil, errors.New("jobs/server: start: a Config without a Scheduler, or without a Broker; give it both")
	}
	c.fill()
	if err := secret.Check(c.Token); err != nil {
		return nil, fmt.Errorf("jobs/server: start: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Address)
	if err != nil {
		return nil, fmt.Errorf("jobs/server: start: %w; end what listens there, or give another address", err)
	}
	s := &Server{config: c, guard: guard{webpage.NewStrictGuard(c.Token)}, address: listener.Addr(),
		streams: make(chan struct{}, mostStreams), searches: make(chan struct{}, mostSearches)}
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.asker = newAsker(c)
	s.metrics = newMetrics(s.asker, c.Version)
	s.http = webpage.Serve(listener, s.guard.wrap(s.routes()), c.Logger)
	return s, nil
}

func (c *Config) fill() {
	c.Address, c.Name, c.Token = cmp.Or(c.Address, DefaultAddress), cmp.Or(c.Name, "Cancha jobs"), cmp.Or(c.Token, rand.Text())
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// URL is the page's address with the token, for a person's browser. It is no text for a log: see Address.
func (s *Server) URL() string { return s.Address() + s.guard.Query() }

// Address is the page's address without the token. Programs put a route behind it, and send the token as Authorization: Bearer.
func (s *Server) Address() string {
	host, port, _ := net.SplitHostPort(s.address.String())
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}

// Close ends streams of events, takes no more requests, and waits a moment for those that it has.
func (s *Server) Close() error {
	s.end()
	if err := s.http.Close(2 * time.Second); err != nil {
		return fmt.Errorf("jobs/server: close: %w", err)
	}
	return nil
}

// routes are what is answered.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET "+healthPath, s.health)
	m.Handle("GET /metrics", s.metrics)
	m.HandleFunc("GET /jobs", s.listJobs)
	m.HandleFunc("POST /jobs", s.submit)
	m.HandleFunc("GET /jobs/{id}", s.showJob)
	m.HandleFunc("POST /jobs/{id}/cancel", s.change(s.config.Scheduler.Cancel))
	m.HandleFunc("POST /jobs/{id}/replay", s.change(s.config.Scheduler.Replay))
	m.HandleFunc("GET /queues", s.listQueues)
	m.HandleFunc("GET /workers", s.listWorkers)
	m.HandleFunc("GET /stats", s.stats)
	m.HandleFunc("GET /events", s.events)
	s.pageRoutes(m)
	return inJSON(m)
}

// inJSON answers in JSON, as all else, where no route is: under an address that there is not, or by another method.
func inJSON(m *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := m.Handler(r)
		if pattern != "" {
			m.ServeHTTP(w, r)
			return
		}
		status := statusOnly{header: w.Header()}
		h.ServeHTTP(&status, r)
		why := fmt.Sprintf("there is no %.200q here; see go doc cancha/jobs/server for what there is", r.URL.Path)
		if allowed := w.Header().Get("Allow"); allowed != "" {
			why = fmt.Sprintf("%.200q takes %s", r.URL.Path, allowed)
		}
		writeJSON(w, cmp.Or(status.code, http.StatusNotFound), failure{why})
	})
}

// statusOnly keeps of an answer its status, and its header, but not its text.
type statusOnly struct {
	header http.Header
	code   int
}

func (s *statusOnly) Header() http.Header            { return s.header }
func (s *statusOnly) Write(text []byte) (int, error) { return len(text), nil }
func (s *statusOnly) WriteHeader(code int)           { s.code = code }
