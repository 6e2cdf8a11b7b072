package lastwill

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMain lets this program be the executor of its own wills.
func TestMain(m *testing.M) {
	if os.Getenv("LASTWILL_TEST") == "" {
		os.Exit(m.Run())
	}
	if err := Execute(context.Background(), os.Stdin); err != nil {
		os.Exit(1)
	}
}

// answers is a server that gives one status after another, code and text, and the last again and again.
type answers struct {
	*httptest.Server
	mu       sync.Mutex
	statuses [][2]string
	calls    []*http.Request
	bodies   []string
}

func serve(t *testing.T, secure bool, statuses ...[2]string) *answers {
	t.Helper()
	a := &answers{statuses: statuses}
	a.Server = httptest.NewUnstartedServer(a)
	if secure {
		a.EnableHTTP2 = true
		a.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that does not trust it is wanted
		a.StartTLS()
	} else {
		a.Config.Protocols = new(http.Protocols)
		a.Config.Protocols.SetUnencryptedHTTP2(true)
		a.Start()
	}
	t.Cleanup(a.Close)
	return a
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what is missing fails the comparison
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls, a.bodies = append(a.calls, r), append(a.bodies, string(body))
	status := a.statuses[0]
	if len(a.statuses) > 1 {
		a.statuses = a.statuses[1:]
	}
	w.Header().Set("Content-Type", "application/grpc")
	if status[0] != "0" { // as gRPC does it where there is no message
		w.Header().Set("Grpc-Status", status[0])
		w.Header().Set("Grpc-Message", status[1])
		return
	}
	w.Header().Set("Trailer", "Grpc-Status")
	w.Write([]byte{0, 0, 0, 0, 0})
	w.Header().Set("Grpc-Status", "0")
}

func (a *answers) heard() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.calls)
}

func orders(t *testing.T, all ...order) io.Reader {
	t.Helper()
	var text bytes.Buffer
	for _, o := range all {
		if err := json.NewEncoder(&text).Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	return &text
}

func TestExecute(t *testing.T) {
	for _, test := range []struct {
		name     string
		statuses [][2]string
		calls    int
		want     string // of the error; "" for none
	}{
		{"done", [][2]string{{"0", ""}}, 1, ""},
		{"busy at first", [][2]string{{"14", "starting"}, {"0", ""}}, 2, ""},
		{"gone already", [][2]string{{"13", "[SESSION.UNKNOWN] no such%20session"}}, 1, ""},
		{"refused", [][2]string{{"16", "no%20token"}}, 1, "refuses: code 16, no token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, false, test.statuses...)
			file := filepath.Join(t.TempDir(), "session.json")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			will := Will{URL: s.URL + "/a.Service/Release", Headers: map[string]string{"authorization": "Bearer secret"}, Message: []byte("message"),
				Gone: []string{"SESSION.UNKNOWN"}, File: file}
			err := Execute(t.Context(), orders(t, order{"a", &Will{URL: "http://nowhere"}}, order{Key: "a"}, order{"b", &will}))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			if got := s.heard(); got != test.calls {
				t.Fatalf("it was called %d times, want %d", got, test.calls)
			}
			r := s.calls[0]
			if r.ProtoMajor != 2 || r.URL.Path != "/a.Service/Release" || r.Header.Get("Authorization") != "Bearer secret" || s.bodies[0] != "\x00\x00\x00\x00\x07message" {
				t.Errorf("the call was %s %s with %v and %q", r.Proto, r.URL, r.Header, s.bodies[0])
			}
			if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) != (test.want == "") {
				t.Errorf("its file: %v", err)
			}
		})
	}
}

func TestExecuteTLS(t *testing.T) {
	s := serve(t, true, [2]string{"0", ""})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Execute(t.Context(), orders(t, order{"a", &Will{URL: s.URL, CAFile: ca}})); err != nil || s.heard() != 1 {
		t.Errorf("%d calls, %v", s.heard(), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), firstWait/2)
	defer cancel()
	if err := Execute(ctx, orders(t, order{"a", &Will{URL: s.URL}})); err == nil || s.heard() != 1 {
		t.Errorf("an authority that is not trusted: %d calls, %v", s.heard(), err)
	}
}

// TestHalf: who is killed while he tells his will has left the ones before.
func TestHalf(t *testing.T) {
	s := serve(t, false, [2]string{"0", ""})
	in := io.MultiReader(orders(t, order{"a", &Will{URL: s.URL}}), strings.NewReader(`{"key":"a`))
	if err := Execute(t.Context(), in); err != nil || s.heard() != 1 {
		t.Errorf("%d calls, %v", s.heard(), err)
	}
}

// executor is the command of one: this program.
func executor() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LASTWILL_TEST=executor")
	return cmd
}

func TestTestator(t *testing.T) {
	s := serve(t, false, [2]string{"0", ""})
	will := func(name string) Will { return Will{URL: s.URL + "/" + name} }
	var e Testator
	if err := e.Leave("a", will("a")); !errors.Is(err, ErrNobody) {
		t.Errorf("without an executor: %v", err)
	}
	e.By(executor)
	for _, key := range []string{"a", "b"} {
		if err := e.Leave(key, will(key)); err != nil {
			t.Fatal(err)
		}
	}
	e.Revoke("a")
	if e.cmd == nil || e.cmd.SysProcAttr == nil || !e.cmd.SysProcAttr.Setsid {
		t.Fatalf("with a will there is the executor %v", e.cmd)
	}
	e.cmd.Process.Kill() // somebody did; b is left anew
	e.cmd.Process.Wait()
	if err := e.Leave("c", will("c")); err != nil {
		t.Fatal(err)
	}
	e.Revoke("c")
	if s.heard() != 0 {
		t.Errorf("%d calls while the process lives", s.heard())
	}
	e.dismiss() // as the end of the process does
	if s.heard() != 1 || s.calls[0].URL.Path != "/b" {
		t.Errorf("%d calls: %v", s.heard(), fmt.Sprint(s.calls))
	}
	if err := e.Leave("d", will("d")); err != nil {
		t.Fatal(err)
	}
	e.Revoke("d")
	e.Revoke("b")
	if e.cmd != nil || s.heard() != 1 {
		t.Errorf("without wills there is the executor %v, and %d calls", e.cmd, s.heard())
	}
}
