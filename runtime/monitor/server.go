package monitor

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"cancha/internal/running"
	"cancha/internal/secret"
	"cancha/internal/webpage"
	"cancha/runtime/session"
)

// Config says what the page shows and where. A field that is zero has its default.
type Config struct {
	Registry *running.Registry // what runs; nil is the process's
	Host     string            // where the page listens; "" is 127.0.0.1
	Port     int               // 0 is DefaultPort. If it is taken, the next that is free of the sixteen from it on
	Token    string            // at least 16 characters; "" is one by chance
	Name     string            // of the application; "" is "Cancha"
	Version  string            // of the program
	Settings []session.Setting // of the run
	Logger   *slog.Logger      // nil is silent
}

// DefaultPort is that of Spark's UI.
const DefaultPort = 4040

// portTries is how many ports are tried: Spark's spark.port.maxRetries.
const portTries = 16

// Server is the page of a process. Make one with Start.
type Server struct {
	config  Config
	app     application
	guard   *guard
	pull    *puller
	server  *webpage.Server
	address net.Addr
	begun   time.Time
	metrics sync.Once // made when they are asked for
	handler http.Handler
}

// Start listens, tells the registry where, and serves until Close. It takes less than a millisecond: whatever the page needs is made when
// somebody asks for it. Where no port is free the error says so, and the registry too.
func Start(ctx context.Context, c Config) (*Server, error) {
	c.fill()
	err := secret.Check(c.Token)
	var listener net.Listener
	if err == nil {
		listener, err = listen(ctx, c.Host, c.Port)
	}
	if err != nil {
		c.Registry.Announce(running.Page{Off: err.Error()})
		return nil, err
	}
	s := &Server{config: c, begun: time.Now(), address: listener.Addr(), pull: newPuller(c.Registry)}
	s.app = newApplication(c, s.begun)
	s.guard = newGuard(c.Host, c.Token, s.app.ID)
	c.Registry.Announce(s.page())
	s.server = webpage.Serve(listener, s.guard.wrap(s.routes()), c.Logger)
	return s, nil
}

func (c *Config) fill() {
	if c.Registry == nil {
		c.Registry = running.Process()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Token == "" {
		c.Token = rand.Text()
	}
	c.Host, c.Port, c.Name = cmp.Or(c.Host, "127.0.0.1"), cmp.Or(c.Port, DefaultPort), cmp.Or(c.Name, "Cancha")
}

// listen takes the first of the ports that is free.
func listen(ctx context.Context, host string, port int) (net.Listener, error) {
	var first error
	for i := range portTries {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port+i)))
		if err == nil {
			return listener, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, fmt.Errorf("no port from %d to %d of %s is free for the page: %w", port, port+portTries-1, host, first)
}

// page is what the registry is told.
func (s *Server) page() running.Page {
	host, port := s.config.Host, s.address.(*net.TCPAddr).Port
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	address := "http://" + net.JoinHostPort(host, strconv.Itoa(port)) + "/"
	prefix := cmp.Or(os.Getenv("JUPYTERHUB_SERVICE_PREFIX"), "/")
	p := running.Page{URL: address, Proxied: fmt.Sprintf("%sproxy/%d/%s", prefix, port, s.guard.Query()), Port: port}
	if !s.guard.Local {
		p.URL += s.guard.Query()
	}
	return p
}

// URL is the page's address, with the token where one is needed.
func (s *Server) URL() string { return s.page().URL }

// Close ends the page: it takes no more requests, and waits a moment for those that it has.
func (s *Server) Close() error {
	s.config.Registry.Announce(running.Page{Off: "the page has been closed"})
	return s.server.Close(time.Second)
}
