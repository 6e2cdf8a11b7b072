//go:build nvidia && linux

package emulated_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/runtime/gpu"
)

// TestHolder: a second process that wants the GPU is refused with the holder's name, or waits for it; a killed holder holds nothing.
func TestHolder(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	holder := start(t, "hold")
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	defer holder.Process.Kill()
	if said, err := bufio.NewReader(out).ReadString('\n'); said != fmt.Sprintln(holder.Process.Pid, "held") {
		t.Fatalf("got %q, %v", said, err)
	}
	want := fmt.Sprintf("held by process %d (%s, notebook a.ipynb)", holder.Process.Pid, filepath.Base(os.Args[0]))
	_, err = gpu.NewSession(t.Context(), gpu.Config{Required: true})
	if !errors.Is(err, gpu.ErrHeld) || !strings.Contains(err.Error(), want) {
		t.Errorf("required: got %v, want that it is %s", err, want)
	}
	s, err := gpu.NewSession(t.Context(), gpu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if missing := s.Explain().Missing; !strings.Contains(missing, want) {
		t.Errorf("not required: got %q, want that it is %s", missing, want)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = holder.Process.Kill() })
	s, err = gpu.NewSession(t.Context(), gpu.Config{Required: true, Wait: time.Minute})
	if err != nil {
		t.Fatalf("after kill -9 of the holder: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestNeverTwoHolders starts and kills processes that want the GPU, in any order. They all speak through one pipe, which keeps the order of
// what they do: who says that it holds the GPU does so after all that held it before have said that they release it, or were killed.
func TestNeverTwoHolders(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	t.Setenv("GOMAXPROCS", "1")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var mu sync.Mutex
	held, over := map[int]bool{}, map[int]bool{} // by process: holds or held the GPU; has released it, or was killed
	var reader sync.WaitGroup
	reader.Go(func() {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			var pid int
			var said string
			if _, err := fmt.Sscan(lines.Text(), &pid, &said); err != nil {
				t.Error(lines.Text())
				continue
			}
			mu.Lock()
			if said == "released" {
				over[pid] = true
			} else {
				for other := range held {
					if !over[other] {
						t.Errorf("processes %d and %d hold the GPU", other, pid)
					}
				}
				held[pid] = true
			}
			mu.Unlock()
		}
	})
	type one struct {
		end  func() error // of its standard input
		kill func() error
		pid  int
		wait func() error
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 8))
	var alive, all []one
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	for range rounds {
		cmd := start(t, "hold")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p := one{in.Close, cmd.Process.Kill, cmd.Process.Pid, cmd.Wait}
		alive, all = append(alive, p), append(all, p)
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond) // some are killed before they come to anything, some later
		for len(alive) > random.IntN(4) {
			i := random.IntN(len(alive))
			p := alive[i]
			alive = append(alive[:i], alive[i+1:]...)
			if random.IntN(2) == 0 {
				_ = p.end()
				continue
			}
			mu.Lock()
			over[p.pid] = true
			mu.Unlock()
			_ = p.kill()
		}
	}
	for _, p := range alive {
		_ = p.end()
	}
	for _, p := range all {
		_ = p.wait()
	}
	_ = w.Close()
	reader.Wait()
	if len(held) < rounds/10 {
		t.Errorf("%d of %d processes ever held the GPU: too few to tell", len(held), rounds)
	}
	t.Logf("%d of %d processes held the GPU (seed %d)", len(held), rounds, seed)
}
