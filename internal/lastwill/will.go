// Package lastwill has calls made to servers when this process has ended, however it did: by kill -9 too. What a server keeps for a client it keeps on
// although the client is gone, and a query goes on there. A message that is sent at a client's sudden end is its last will in MQTT's words. The package
// ends at the call: what is in it is the business of who leaves it.
//
// A process that has left a will has another one beside it, the executor, of the same program. It is told the wills by a pipe, where a token is
// nobody else's to read, and the pipe's end tells it that the process is no more. It then makes the calls that were not taken back, and ends.
// It is in a session of its own, so that what ends the process, its group or its terminal leaves the executor alone. What ends all processes of
// a container or of a machine ends the executor too.
package lastwill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"cancha/internal/cellio"
)

// Will is a unary call of gRPC.
type Will struct {
	URL     string            `json:"url"` // http://host:port/service/Method, or https
	Headers map[string]string `json:"headers,omitempty"`
	CAFile  string            `json:"ca,omitempty"` // PEM, of the authorities that are trusted, from the root on; "": the system's
	Message []byte            `json:"message"`      // the request, in protobuf
	// Gone are texts of which an error of the server has one if there is nothing left to do, such as that it does not know the session.
	Gone []string `json:"gone,omitempty"`
	// File is removed when the server has done it; "" for none.
	File string `json:"file,omitempty"`
}

// order is what the executor is told: a will, or that it is taken back.
type order struct {
	Key  string `json:"key"`
	Will *Will  `json:"will,omitempty"`
}

// ErrNobody reports that nothing carries out wills here: this process is no engine.
var ErrNobody = errors.New("lastwill: no executor")

// Testator is who leaves wills: a process. The zero value has no executor. Its methods may be called from any goroutine.
type Testator struct {
	mu      sync.Mutex // held while the executor is written to: it reads at once
	command func() *exec.Cmd
	wills   map[string]Will
	cmd     *exec.Cmd // nil while there are no wills
	pipe    io.WriteCloser
}

// Process is the testator of this process.
func Process() *Testator { return cellio.Resident(func() *Testator { return &Testator{} }) }

// By sets the command of an executor, a program that calls [Execute] with its standard input. nil takes it away.
func (t *Testator) By(command func() *exec.Cmd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.command = command
}

// Leave leaves a will under a key, in place of one that is there. The executor is started with the first. The error is ErrNobody outside of engines, or
// says why there is no executor.
func (t *Testator) Leave(key string, w Will) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.command == nil {
		return ErrNobody
	}
	if t.wills == nil {
		t.wills = map[string]Will{}
	}
	t.wills[key] = w
	if t.cmd != nil && t.tell(order{key, &w}) == nil {
		return nil
	}
	t.dismiss() // one that somebody has killed
	if err := t.appoint(); err != nil {
		delete(t.wills, key)
		return fmt.Errorf("lastwill: start an executor: %w", err)
	}
	return nil
}

// Revoke takes a will back; one that there is not is none. The executor ends with the last, and is waited for.
func (t *Testator) Revoke(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.wills[key]; !ok {
		return
	}
	delete(t.wills, key)
	if t.cmd == nil {
		return
	}
	if err := t.tell(order{Key: key}); err != nil || len(t.wills) == 0 {
		t.dismiss()
	}
}

// appoint starts an executor and tells it all wills.
func (t *Testator) appoint() error {
	cmd := t.command()
	cmd.SysProcAttr = apart()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, pipe.Close())
	}
	t.cmd, t.pipe = cmd, pipe
	for key, w := range t.wills {
		if err := t.tell(order{key, &w}); err != nil {
			t.dismiss()
			return err
		}
	}
	return nil
}

func (t *Testator) tell(o order) error { return json.NewEncoder(t.pipe).Encode(o) }

// dismissal is how long an executor without wills may take to end.
const dismissal = 2 * time.Second

// dismiss ends the executor. If it has wills, it carries them out.
func (t *Testator) dismiss() {
	if t.cmd == nil {
		return
	}
	t.pipe.Close()
	kill := time.AfterFunc(dismissal, func() { t.cmd.Process.Kill() })
	t.cmd.Wait()
	kill.Stop()
	t.cmd, t.pipe = nil, nil
}
