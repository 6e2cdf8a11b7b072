package spark

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cancha/internal/lastwill"
	"cancha/spark/internal/connect/connecttest"
)

// TestLastWill: when an engine is killed, its session is released by the process beside it, with the token, over TLS too. This program is all three.
func TestLastWill(t *testing.T) {
	part := func(name string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLastWill$")
		cmd.Env = append(os.Environ(), "CANCHA_SPARK_PART="+name)
		return cmd
	}
	switch os.Getenv("CANCHA_SPARK_PART") {
	case "executor":
		if err := lastwill.Execute(context.Background(), os.Stdin); err != nil {
			t.Error(err)
		}
		return
	case "engine":
		lastwill.Process().By(func() *exec.Cmd { return part("executor") })
		s, err := Connect(t.Context(), os.Getenv("CANCHA_MASTER"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(s.ID())
		io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	certificate, ca := connecttest.Certify(t, "127.0.0.1", time.Now().Add(time.Hour))
	for name, test := range map[string]struct {
		fake connecttest.Config
		keys []string
	}{
		"plain": {connecttest.Config{Token: "t"}, []string{"token=t"}},
		"TLS":   {connecttest.Config{Token: "t", Certificate: certificate}, []string{"token=t", "ca=" + ca}},
	} {
		t.Run(name, func(t *testing.T) {
			own(t)
			fake := connecttest.Start(t, test.fake)
			engine := part("engine")
			engine.Env = append(engine.Env, "CANCHA_MASTER="+fake.URL(test.keys...))
			if _, err := engine.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			out, err := engine.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := engine.Start(); err != nil {
				t.Fatal(err)
			}
			id, err := bufio.NewReader(out).ReadString('\n')
			id = strings.TrimSpace(id)
			if err != nil || fake.Closed(id) {
				t.Fatalf("while the engine lives its session %q is closed, or unknown: %v", id, err)
			}
			if err := errors.Join(engine.Process.Kill(), engine.Wait()); err == nil {
				t.Fatal("it ended before it was killed")
			}
			for end := time.Now().Add(10 * time.Second); !fake.Closed(id) || len(remembering(t)) > 0; time.Sleep(5 * time.Millisecond) { // nobody tells
				if time.Now().After(end) {
					t.Fatalf("after 10 s the session is closed: %v, its files: %v", fake.Closed(id), remembering(t))
				}
			}
		})
	}
}
