package connecttest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"cancha/spark/internal/protocol"
)

// Config says what a Server answers. The zero value is a Spark 4.0.0 that gives no responses.
type Config struct {
	// Execute gives the responses of a plan, by send, which fills in their ids. It runs once for each operation, also if the client comes back for the
	// responses several times. ctx ends when the operation is interrupted or released, and with the server. Its error ends the operation: see Failure.
	Execute func(ctx context.Context, r *protocol.ExecuteRequest, send func(*protocol.ExecuteResponse)) error
	// Analyze answers whatever does not ask for the version.
	Analyze func(*protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error)
	// Version is Spark's, default 4.0.0.
	Version string
	// Token is what every call must bring as its bearer, unless it is empty.
	Token string
	// Certificate makes the server speak TLS: see Certify.
	Certificate *tls.Certificate
	// Settings are those that each session begins with.
	Settings map[string]string
}

// Server is a Spark Connect server on a port of this machine. Its methods may be called at any time.
type Server struct {
	t    testing.TB
	c    Config
	grpc *grpc.Server
	line *line
	stop context.CancelFunc // ends what the plans do
	ctx  context.Context
	runs sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*session
	breaks   []fault // of the response streams to come
	refusals int     // of ExecutePlan
	calls    map[string]int
	errors   map[string]*protocol.ErrorResponse
	headers  metadata.MD // of the last call
	renewed  int
}

// Start starts one, which stops at the end of the test.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, c: c, line: newLine(listener), sessions: map[string]*session{}, calls: map[string]int{}, errors: map[string]*protocol.ErrorResponse{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	options := []grpc.ServerOption{grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream)}
	if c.Certificate != nil {
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(c.Certificate)))
	}
	s.grpc = grpc.NewServer(append(options, grpc.MaxRecvMsgSize(128<<20))...) // as Spark's
	s.grpc.RegisterService(s.service(), s)
	s.runs.Go(func() { s.grpc.Serve(s.line) })
	t.Cleanup(s.Stop)
	return s
}

// Addr is host:port.
func (s *Server) Addr() string { return s.line.Addr().String() }

// URL is a connection string for this server, with key=value pairs behind it, whose values are escaped here.
func (s *Server) URL(pairs ...string) string {
	text := "sc://" + s.Addr() + "/"
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		text += ";" + key + "=" + strings.ReplaceAll(url.PathEscape(value), ";", "%3B")
	}
	return text
}

// Stop ends the server, as kill -9 does: connections break off. It may be called twice.
func (s *Server) Stop() {
	s.line.Thaw()
	s.stop()
	s.grpc.Stop()
	s.runs.Wait()
}

// Freeze stops reading and writing on all connections, as a machine does that has no power and a process that was stopped, until Thaw.
func (s *Server) Freeze() { s.line.Freeze() }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.line.Thaw() }

// Drop breaks all connections off. New ones may be made.
func (s *Server) Drop() { s.line.Drop() }

// Cut breaks response streams to come off: the first after n[0] responses, the next one after n[1], and so on.
func (s *Server) Cut(n ...int) { s.add(n, status.Error(codes.Unavailable, "connecttest: cut")) }

// Refuse lets n calls of ExecutePlan to come fail before the server knows their operations.
func (s *Server) Refuse(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals += n
}

// End ends response streams to come without an error, but also without the end of the result, as Spark does after two minutes.
func (s *Server) End(n ...int) { s.add(n, nil) }

// Preempt ends response streams to come as Spark does when another call takes the operation over.
func (s *Server) Preempt(n ...int) {
	s.add(n, Failure(codes.Internal, "INVALID_CURSOR.DISCONNECTED", "HY109", "The cursor has been disconnected."))
}

type fault struct {
	after int
	err   error
}

func (s *Server) add(n []int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, after := range n {
		s.breaks = append(s.breaks, fault{after, err})
	}
}

// fault takes the one of the next response stream.
func (s *Server) fault() *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.breaks) == 0 {
		return nil
	}
	f := s.breaks[0]
	s.breaks = s.breaks[1:]
	return &f
}

// Renew breaks all connections off and forgets all sessions and what runs in them: as if the server were killed, and started anew on the same port.
func (s *Server) Renew() {
	s.mu.Lock()
	s.line.Drop() // nobody hears how the operations end
	old := s.sessions
	s.sessions = map[string]*session{}
	s.renewed++
	s.mu.Unlock()
	for _, x := range old {
		x.end()
	}
}

// Expire closes all sessions, as Spark does with those that were idle for an hour.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		x.closed = true
	}
}

// Calls tells how often a method was called, as ReattachExecute.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Header returns what the last call brought under a name, "" for nothing.
func (s *Server) Header(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.headers.Get(name), ",")
}

// Explain keeps what FetchErrorDetails answers for an error's id.
func (s *Server) Explain(id string, r *protocol.ErrorResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors[id] = r
}

// Settings returns those of a session as they are; nil if there is none.
func (s *Server) Settings(id string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil {
		return clone(x.settings)
	}
	return nil
}

// Closed tells whether a session was released.
func (s *Server) Closed(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id] != nil && s.sessions[id].closed
}

// enter counts a call, and refuses one without the token.
func (s *Server) enter(ctx context.Context, method string) error {
	head, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	s.calls[method[strings.LastIndex(method, "/")+1:]]++
	s.headers = head
	s.mu.Unlock()
	if bearer := strings.Join(head.Get("authorization"), ","); s.c.Token != "" && bearer != "Bearer "+s.c.Token {
		return status.Error(codes.Unauthenticated, "Invalid or missing bearer token")
	}
	return nil
}

func (s *Server) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := s.enter(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return next(ctx, request)
}

func (s *Server) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := s.enter(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return next(server, stream)
}

// serverID is what the server calls its side of a session.
func (s *Server) serverID(id string) string { return fmt.Sprintf("server-%d-%s", s.renewed, id) }
