package gpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/runtime/gpu/driver"
)

// holdVariable names the folder of locks, and makes the test binary a process that holds a GPU until its standard input ends.
const holdVariable = "GPU_TEST_HOLD"

func TestMain(m *testing.M) {
	if folder := os.Getenv(holdVariable); folder != "" {
		os.Exit(hold(folder))
	}
	os.Exit(m.Run())
}

func hold(folder string) (code int) {
	l, err := acquire(context.Background(), folder, "GPU-1", me("a.ipynb"), time.Minute)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(os.Getpid(), "held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println(os.Getpid(), "released") // said before: what follows is another's
	_ = l.release()
	return 0
}

func me(notebook string) Holder {
	return Holder{PID: os.Getpid(), Program: "test", Notebook: notebook, Since: time.Now()}
}

// process is one that holds a GPU, or waits for it.
type process struct {
	cmd *exec.Cmd
	end io.Closer
}

// start starts a process that says on out when it holds the GPU, and when it is about to release it.
func start(t *testing.T, folder string, out *os.File) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdVariable+"="+folder)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &process{cmd, in}
}

// TestHeld: who comes second is refused with the holder's name, or waits; a killed holder holds nothing.
func TestHeld(t *testing.T) {
	folder := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	p := start(t, folder, w)
	if said, err := bufio.NewReader(r).ReadString('\n'); said != fmt.Sprintln(p.cmd.Process.Pid, "held") {
		t.Fatalf("got %q, %v", said, err)
	}
	t.Setenv("CANCHA_LOCKS", folder)
	if h, held := (Device{Info: driver.Info{UUID: "GPU-1"}}).HeldBy(); !held || h.PID != p.cmd.Process.Pid || h.Notebook != "a.ipynb" {
		t.Errorf("it is held by %v, %v", h, held)
	}
	if h, held := (Device{Info: driver.Info{UUID: "GPU-2"}}).HeldBy(); held {
		t.Errorf("one that nobody has asked for is held by %v", h)
	}
	_, err = acquire(t.Context(), folder, "GPU-1", me("b.ipynb"), 0)
	if want := fmt.Sprintf("held by process %d (test, notebook a.ipynb) since ", p.cmd.Process.Pid); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want that it is %s", err, want)
	}
	other, err := acquire(t.Context(), folder, "GPU-2", me(""), 0)
	if err != nil {
		t.Fatalf("another GPU: %v", err)
	}
	defer other.release()
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := acquire(ctx, folder, "GPU-1", me(""), time.Minute); !errors.Is(err, stop) {
		t.Errorf("a wait that was ended: got %v", err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	l, err := acquire(t.Context(), folder, "GPU-1", me(""), 10*time.Second)
	if err != nil {
		t.Fatalf("after kill -9 of the holder: %v", err)
	}
	if h, held := (Device{Info: driver.Info{UUID: "GPU-1"}}).HeldBy(); !held || h.PID != os.Getpid() {
		t.Errorf("it is held by %v, %v", h, held)
	}
	defer l.release()
	if _, err := acquire(t.Context(), folder, "GPU-1", me(""), 0); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("a second time in one process: got %v", err)
	}
}

// TestLockFolder: a process with a folder of its own for temporary files locks the same file.
func TestLockFolder(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", "")
	t.Setenv("TMPDIR", t.TempDir())
	if got := lockFolder(""); got != "/tmp" {
		t.Errorf("got %q", got)
	}
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	l, err := acquire(t.Context(), "", "GPU-1", me(""), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.release()
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := acquire(t.Context(), "", "GPU-1", me(""), 0); !errors.Is(err, ErrHeld) {
		t.Errorf("got %v", err)
	}
}

// TestRemovedLock: a lock whose file somebody has removed is not the lock of those who come later.
func TestRemovedLock(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "cancha-gpu-GPU-1.lock")
	f, err := openShared(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !isAt(path, f) {
		t.Error("the file is not at its path")
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	l, err := acquire(t.Context(), folder, "GPU-1", me(""), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.release()
	if isAt(path, f) {
		t.Error("a file that was moved away is still taken for the lock")
	}
}

// TestNeverTwoHolders starts and kills processes that want one GPU, in any order. They all speak through one pipe, which keeps the order
// of what they do: who says that it holds the GPU does so after all that held it before have said that they release it, or were killed.
func TestNeverTwoHolders(t *testing.T) {
	folder := t.TempDir()
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
	random := rand.New(rand.NewPCG(8, 8))
	var alive []*process
	for range 200 {
		alive = append(alive, start(t, folder, w))
		time.Sleep(time.Duration(random.IntN(8)) * time.Millisecond) // some are killed before they come to anything, some later
		for len(alive) > random.IntN(6) {
			i := random.IntN(len(alive))
			p := alive[i]
			alive = append(alive[:i], alive[i+1:]...)
			if random.IntN(2) == 0 {
				_ = p.end.Close()
				continue
			}
			mu.Lock()
			over[p.cmd.Process.Pid] = true
			mu.Unlock()
			_ = p.cmd.Process.Kill()
		}
	}
	for _, p := range alive {
		_ = p.end.Close()
	}
	_ = w.Close() // the reader's end is that of the last process
	reader.Wait()
	if len(held) < 50 {
		t.Errorf("%d of 200 processes ever held the GPU: too few to tell", len(held))
	}
}
