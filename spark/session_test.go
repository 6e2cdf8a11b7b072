package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/spark/internal/connect"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

func TestConnectRefuses(t *testing.T) {
	own(t)
	for master, want := range map[string]string{
		"":                             `master "" is no address of Spark Connect; write sc://host:15002`,
		"local[2]":                     "write sc://host:15002",
		"spark://host:7077":            "spark://…, yarn and local[…] are what that server is started with",
		"host:15002/;token=verysecret": `master "host:15002/…" is no address`,
		"sc://":                        "sc://host:15002",
		"databricks://token:verysecret@host?http_path=x": `master "databricks://…" is no address`,
		"ana:verysecret@host":                            `master "…" is no address`,
		"host/;token=verysecret;url=http://a@b":          `master "host/…" is no address`,
		"x://ana:very?secret;verysecret@host/":           `master "x://…" is no address`,
	} {
		s, err := Connect(t.Context(), master)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "verysecret") {
			t.Errorf("%q: session %v, error %v, want %q in it", master, s, err, want)
		}
	}
}

// TestSecret: no verb prints what stands behind the address.
func TestSecret(t *testing.T) {
	c := Config{Master: "sc://host:15002/;token=verysecret"}
	fake := connecttest.Start(t, connecttest.Config{Token: "verysecret"})
	own(t)
	s, err := Connect(t.Context(), fake.URL("token=verysecret"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, of := range []any{c, &c, engine{config: c, name: "Spark"}, s, s.Range(0, 1), &Model{session: s}} {
			if text := fmt.Sprintf(verb, of); strings.Contains(text, "verysecret") {
				t.Errorf("%s of a %T: %s", verb, of, text)
			}
		}
	}
	if text := fmt.Sprint(Config{Master: "sc://ana:verysecret@host"}); text != "spark.Config{sc://…}" {
		t.Errorf("with a password in front of the host it is %s", text)
	}
	if text := fmt.Sprint(Config{Master: "sc://host:15002/;user_id=ana@corp"}); text != "spark.Config{sc://host:15002/…}" {
		t.Errorf("with an @ behind the host it is %s", text)
	}
	if text := fmt.Sprint(c); text != "spark.Config{sc://host:15002/…}" {
		t.Errorf("it is %s", text)
	}
}

func TestPlace(t *testing.T) {
	for master, want := range map[string]string{"sc://[::1]": "[::1]:15002", "sc://host:1/;token=x": "host:1"} {
		if at, err := address(master); err != nil || place(at) != want {
			t.Errorf("%s is at %s, %v, want %s", master, place(at), err, want)
		}
	}
}

func TestSettings(t *testing.T) {
	s := start(t, Config{Settings: map[string]string{"spark.sql.shuffle.partitions": "7"}}, connecttest.Config{Settings: map[string]string{"spark.app.name": "shop"}}, nil)
	if got := s.Settings(s.ID()); got["spark.sql.shuffle.partitions"] != "7" || got[timeZone] != "UTC" {
		t.Errorf("the session has %v, want 7 partitions and UTC", got)
	}
	if err := s.Set(t.Context(), "spark.sql.ansi.enabled", "false"); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"spark.sql.ansi.enabled": "false", "spark.app.name": "shop", "spark.none": ""} {
		if got, ok, err := s.Get(t.Context(), key); got != want || ok != (want != "") || err != nil {
			t.Errorf("%s is %q, %v, %v, want %q", key, got, ok, err, want)
		}
	}
	if want := "Spark 4.0.0 at 127.0.0.1:"; !strings.HasPrefix(s.String(), want) {
		t.Errorf("it is %q, want %q first", s, want)
	}
}

func TestGPU(t *testing.T) {
	without := start(t, Config{}, connecttest.Config{}, nil)
	if err := without.UseGPU(t.Context(), true); !errors.Is(err, ErrNoGPU) {
		t.Errorf("on without the plugin: %v, want ErrNoGPU", err)
	}
	if err := without.UseGPU(t.Context(), false); err != nil {
		t.Errorf("off without the plugin: %v, want nothing", err)
	}
	if on, err := without.GPU(t.Context()); on || err != nil {
		t.Errorf("without the plugin it is on: %v, %v", on, err)
	}
	with := start(t, Config{}, connecttest.Config{Settings: map[string]string{plugins: "org.other.Plugin,com.nvidia.spark.SQLPlugin"}}, nil)
	for _, want := range []bool{true, false, true} {
		if on, err := with.GPU(t.Context()); on != want || err != nil {
			t.Errorf("it is on: %v, %v, want %v", on, err, want)
		}
		if err := with.UseGPU(t.Context(), !want); err != nil {
			t.Error(err)
		}
	}
}

// TestClose: what is closed is released on the server, its file is gone, and it says so when it is used again.
func TestClose(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	if files := remembering(t); len(files) != 1 {
		t.Errorf("while it is open there are the files %v, want one", files)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !s.Closed(s.ID()) {
		t.Error("the server still has the session")
	}
	if files := remembering(t); len(files) != 0 {
		t.Errorf("when it is closed there are the files %v, want none", files)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	_, collected := s.Range(0, 1).Collect(t.Context())
	_, _, got := s.Get(t.Context(), timeZone)
	for _, err := range []error{collected, got} {
		if err == nil || !strings.Contains(err.Error(), "the session was closed; connect again") {
			t.Errorf("of a closed session: %v", err)
		}
	}
}

// remembering lists the files of sessions.
func remembering(t *testing.T) []string {
	t.Helper()
	folder, err := sessionsFolder()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestReleaseDead: of the sessions that the cache names, those of dead processes of this machine and user on this server are released, and no others.
func TestReleaseDead(t *testing.T) {
	own(t)
	fake := connecttest.Start(t, connecttest.Config{})
	target, err := connect.Parse(fake.URL())
	if err != nil {
		t.Fatal(err)
	}
	folder, err := sessionsFolder()
	if err != nil {
		t.Fatal(err)
	}
	me, other := processOf(os.Getpid()), target
	other.Port++
	ids := map[string]string{}
	leave := func(what string, at connect.Target, change func(*remembered)) {
		c, err := connect.Dial(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		ids[what] = c.Session()
		c.Close()
		r, err := write(folder, ids[what], at)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
	}
	leave("alive", target, func(*remembered) {})
	leave("dead", target, func(r *remembered) { r.Engine = process{PID: endedProcess(t), Began: "then"} })
	leave("number used again", target, func(r *remembered) { r.Engine = process{me.PID, me.Began + "0"} })
	leave("another machine", target, func(r *remembered) { r.Engine, r.Machine = process{endedProcess(t), "then"}, "elsewhere" })
	leave("another server", other, func(r *remembered) { r.Engine = process{endedProcess(t), "then"} })
	leave("another user", target, func(r *remembered) { r.Engine, r.User = process{endedProcess(t), "then"}, "somebody" })
	damaged := filepath.Join(folder, "damaged.json")
	if err := os.WriteFile(damaged, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}

	s, err := Connect(t.Context(), fake.URL())
	if err != nil {
		t.Fatal(err)
	}
	released := []string{"dead", "number used again"}
	for range 500 { // it happens in the background
		if fake.Closed(ids[released[0]]) && fake.Closed(ids[released[1]]) && len(remembering(t)) == 5 {
			break
		}
		select {
		case <-t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	for what, id := range ids {
		_, err := os.Stat(filepath.Join(folder, id+".json"))
		if want := slices.Contains(released, what); fake.Closed(id) != want || os.IsNotExist(err) != want {
			t.Errorf("%s: released %v, its file is gone %v, want %v", what, fake.Closed(id), os.IsNotExist(err), want)
		}
	}
	if _, err := os.Stat(damaged); !os.IsNotExist(err) {
		t.Errorf("a damaged file is still there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestLeft: a session that could not be released when it was closed is as one of a dead process.
func TestLeft(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	s.Stop()
	if err := s.Close(); err == nil {
		t.Error("a session was closed on a server that is gone")
	}
	folder, err := sessionsFolder()
	if err != nil {
		t.Fatal(err)
	}
	if all := deadIn(folder, s.master, s.remembered.User); len(all) != 1 || all[0].Session != s.ID() {
		t.Errorf("to be released: %v, want the session", all)
	}
}

// TestRemembered: the file is the user's alone, and has no token.
func TestRemembered(t *testing.T) {
	own(t)
	fake := connecttest.Start(t, connecttest.Config{Token: "verysecret"})
	s, err := Connect(t.Context(), fake.URL("token=verysecret", "user_id=ana"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	path := remembering(t)[0]
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v, want 0600", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "verysecret") || !strings.Contains(string(text), `"ana"`) {
		t.Errorf("it is %s, %v, want the user in it and not the token", text, err)
	}
	r, err := read(path)
	if err != nil || !r.Engine.lives() || !r.Kernel.lives() || r.Engine.PID != os.Getpid() {
		t.Errorf("read as %+v, %v, want this process, alive", r, err)
	}
}

func TestInterrupt(t *testing.T) {
	begun := make(chan struct{})
	s := start(t, Config{}, connecttest.Config{}, blocking(begun))
	failed := make(chan error, 1)
	go func() {
		_, err := s.Range(0, 1).Collect(context.WithoutCancel(t.Context()))
		failed <- err
	}()
	<-begun
	if n, err := s.Interrupt(t.Context()); n != 1 || err != nil {
		t.Errorf("%d operations were ended, %v, want 1", n, err)
	}
	var e *Error
	if err := <-failed; !errors.As(err, &e) || e.Class != "OPERATION_CANCELED" {
		t.Errorf("it ended with %v, want OPERATION_CANCELED", err)
	}
}

// endedProcess is the number of a process that has ended.
func endedProcess(t *testing.T) int {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^$")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid
}

// TestConnectAgain: a cell that is run again closes the session that it has made before, and no other.
func TestConnectAgain(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	connected := func(number int64, origin string) (made *Session) {
		run := cellio.NewRun(number)
		run.Origin = origin
		run.Do(func() {
			var err error
			if made, err = Connect(t.Context(), s.URL("patience=2s")); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(func() { made.Close() })
		return made
	}
	first, other := connected(1, "a"), connected(2, "b")
	again := connected(3, "a")
	for name, is := range map[string]struct {
		*Session
		closed bool
	}{"the first": {first, true}, "another cell's": {other, false}, "the new one": {again, false}, "one outside of cells": {s.Session, false}} {
		if got := s.Closed(is.ID()); got != is.closed {
			t.Errorf("%s: closed %v, want %v", name, got, is.closed)
		}
	}
}

// TestConnectByID: a cell that goes on in a session by its id does so when it is run again.
func TestConnectByID(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	for number := range int64(2) {
		run := cellio.NewRun(number)
		run.Origin = "a"
		run.Do(func() {
			same, err := Connect(t.Context(), s.URL("patience=2s", "session_id="+s.ID()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { same.Close() })
			if _, _, err := same.Get(t.Context(), timeZone); err != nil || same.ID() != s.ID() {
				t.Errorf("execution %d: session %s, %v, want %s", number, same.ID(), err, s.ID())
			}
		})
	}
}

// TestAlone: an engine and a trainer release the sessions that they work in, and so take none by its id; the session goes on.
func TestAlone(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	at := s.URL("patience=2s", "session_id="+s.ID())
	_, engine := Engine(t.Context(), at)
	_, trainer := Trainer(t.Context(), at)
	for _, err := range []error{engine, trainer} {
		if err == nil || !strings.Contains(err.Error(), "leave session_id out") || s.Closed(s.ID()) {
			t.Errorf("got error %v, and the session is closed: %v", err, s.Closed(s.ID()))
		}
	}
}

// TestCellInterrupted: an interrupt of the cell ends what it has begun there, also with a context that does not end; what follows a query goes on.
func TestCellInterrupted(t *testing.T) {
	run := cellio.NewAside(7)
	begun := make(chan struct{}, 1)
	s := start(t, Config{}, connecttest.Config{}, func(ctx context.Context, p *protocol.Plan, _ func(*protocol.ExecuteResponse)) error {
		if p.GetRoot() == nil {
			return nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	ended := make(chan error, 1)
	go run.Do(func() { _, err := s.Range(0, 1).Collect(context.Background()); ended <- err })
	<-begun
	run.Interrupt()
	if err := <-ended; !errors.Is(err, cellio.ErrInterrupted) {
		t.Errorf("it ended with %v", err)
	}
	for _, op := range s.Operations(s.ID()) {
		if op.Running {
			t.Errorf("the server goes on with %+v", op)
		}
	}
	run.Do(func() {
		if ctx, _ := joined(context.WithValue(t.Context(), besideCells{}, true)); ctx.Err() != nil {
			t.Errorf("what goes on beside the cell ended: %v", context.Cause(ctx))
		}
	})
}

// TestCatchUpInterrupted: so it does where a query is waited for, which goes on.
func TestCatchUpInterrupted(t *testing.T) {
	run := cellio.NewAside(8)
	begun := make(chan struct{})
	q := &streams{t: t}
	s := start(t, Config{}, connecttest.Config{}, func(ctx context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		if !p.GetCommand().GetQuery().GetProcessAllAvailable() {
			return q.answer(ctx, p, send)
		}
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	query, err := s.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Name: "endless"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go run.Do(func() { ended <- query.CatchUp(ctx) })
	<-begun
	run.Interrupt()
	if err := <-ended; !errors.Is(err, cellio.ErrInterrupted) || !query.Active() {
		t.Errorf("it ended with %v, and the query is active: %v", err, query.Active())
	}
}

// TestFileOfSettings: what spark-defaults.conf says and a session can have is set at its start, below what the program says, and of the rest it is told
// once what the server has otherwise, without what is secret.
func TestFileOfSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spark-defaults.conf")
	if err := os.WriteFile(file, []byte(`spark.remote sc://elsewhere/;token=verysecret
spark.sql.shuffle.partitions 64
spark.sql.ansi.enabled false
spark.sql.shuffle.partitions 12
spark.rapids.sql.enabled true
spark.rapids.sql.concurrentGpuTasks 2
spark.sql.warehouse.dir /here
spark.driver.memory 4g
spark.executor.memory 8g
spark.executor.instances 4
spark.ssl.keyPassword verysecret
spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net verysecret
spark.driver.extraJavaOptions -Dstore.password=verysecret
cancha.cores 2
`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CANCHA_CONF", file)
	s := start(t, Config{Settings: map[string]string{"spark.sql.ansi.enabled": "true"}}, connecttest.Config{Settings: map[string]string{
		"spark.driver.memory": "4096m", "spark.executor.memory": "1g", "spark.sql.warehouse.dir": "/there"}}, nil)
	has := s.Settings(s.ID())
	for key, want := range map[string]string{"spark.sql.shuffle.partitions": "12", "spark.sql.ansi.enabled": "true", "spark.rapids.sql.enabled": "true",
		timeZone: "UTC", "spark.sql.warehouse.dir": "/there", "spark.executor.memory": "1g", "spark.executor.instances": "", "spark.remote": ""} {
		if has[key] != want {
			t.Errorf("the session has %s %q, want %q", key, has[key], want)
		}
	}
	const want = "spark.rapids.sql.concurrentGpuTasks 2 (not set there); spark.sql.warehouse.dir /here (/there there); spark.executor.memory 8g (1g there); " +
		"spark.executor.instances 4 (not set there); spark.ssl.keyPassword (not set there); " +
		"spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net (not set there); " +
		"spark.driver.extraJavaOptions (not set there)."
	if notes := s.Notes(); len(notes) != 1 || !strings.HasSuffix(notes[0], want) || strings.Contains(notes[0], "verysecret") {
		t.Errorf("notes %q, want one that ends with %q", notes, want)
	}
	t.Setenv("CANCHA_CONF", filepath.Join(t.TempDir(), "none.conf"))
	if _, err := Connect(t.Context(), s.URL("patience=2s")); err == nil || !strings.Contains(err.Error(), "CANCHA_CONF names the file of settings") {
		t.Errorf("a file that is not there: %v", err)
	}
}
