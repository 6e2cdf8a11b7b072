//go:build nvidia && linux

package emulated_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/emulated"
)

// process is what a second process of this test does.
func process(what string) (code int) {
	ctx := context.Background()
	var err error
	switch what {
	case "discover":
		fmt.Println(gpu.Discover(ctx))
	case "open":
		_, err = cuda.Driver{}.Open(ctx, 0, driver.Options{})
		fmt.Println(err, errors.Is(err, driver.ErrNoDevice))
		return 0
	case "capture":
		err = captureAndPin(ctx)
	case "hold":
		err = hold(ctx)
	default:
		err = errors.New("no such process: " + what)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// captureAndPin says what a driver answers that has neither graphs nor pinned memory, and whether it works otherwise.
func captureAndPin(ctx context.Context) error {
	d, err := cuda.Driver{}.Open(ctx, 0, driver.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	q, err := d.NewQueue()
	if err != nil {
		return err
	}
	_, err = q.(driver.Capturer).Capture(func() error { return errors.New("something was kept") })
	fmt.Println(err)
	_, _, err = d.(driver.Pinner).Pin(driver.Float32, 1)
	fmt.Println(err)
	m, err := d.Alloc(driver.Float32, 1)
	if err != nil {
		return err
	}
	if err := q.Launch(driver.Launch{Func: "fill", Args: []driver.Arg{driver.At(m, 0), driver.Float(7), driver.Int(1)}}); err != nil {
		return err
	}
	got := make([]float32, 1)
	err = q.CopyOut(got, m, 0)
	fmt.Println(got)
	return err
}

// hold holds the GPU until the standard input ends.
func hold(ctx context.Context) error {
	s, err := gpu.NewSession(ctx, gpu.Config{Device: gpu.GPU, Required: true, Wait: 5 * time.Minute, Notebook: "a.ipynb"})
	if err != nil {
		return err
	}
	fmt.Println(os.Getpid(), "held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println(os.Getpid(), "released") // said before: what follows is another's
	return s.Close()
}

// start makes a process of this test, with more settings of the environment.
func start(t *testing.T, what string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), processVariable+"="+what), env...)
	return cmd
}

// TestMissing: a program with the CUDA driver linked in starts where there is none, or none that works, and says why.
func TestMissing(t *testing.T) {
	lacking, err := emulated.Library(t.Context(), "cuMemAlloc_v2")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ what, setting, want string }{
		"no driver":         {"discover", libraryVariable + "=/nowhere/libcuda.so.1", "no GPU: no NVIDIA driver: CANCHA_LIBCUDA: /nowhere/libcuda.so.1: cannot open shared object file"},
		"no library":        {"discover", libraryVariable + "=" + os.Args[0] + ".go", "no GPU: no NVIDIA driver: "},
		"mismatch":          {"discover", faultVariable + "=init=803", "error 803, system has unsupported display driver / cuda driver combination: libcuda and the system's kernel module are of different versions"},
		"no device":         {"discover", faultVariable + "=init=100", "error 100, no CUDA-capable device is detected: no GPU is given to this machine or container"},
		"unknown error":     {"discover", faultVariable + "=init=12345", "the NVIDIA driver does not start: error 12345"},
		"empty list":        {"discover", faultVariable + "=devices=0", "the NVIDIA driver lists no GPU"},
		"symbol is missing": {"discover", libraryVariable + "=" + lacking, "the NVIDIA driver is too old: it has no cuMemAlloc_v2"},
		"old driver":        {"discover", faultVariable + "=version=11040", "it knows CUDA 11.4, and 11.8 is wanted, which driver 520 brings"},
		"old GPU":           {"open", faultVariable + "=capability=75", "has compute capability 7.5, and 8.0 is the least that our funcs take: no device true"},
		"all well":          {"discover", faultVariable + "=", "0: CPU emulation of a GPU (GPU-43505520-656d-756c-6174-696f6e000001, 2.1 GB, compute capability 8.0, driver CPU emulation)"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := start(t, c.what, c.setting).CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("got %q, %v, want that it has %q", out, err, c.want)
			}
		})
	}
}

// TestLacksGraphs: what a driver lacks that not everything needs is an error where it is used.
func TestLacksGraphs(t *testing.T) {
	library, err := emulated.Library(t.Context(), "cuStreamBeginCapture_v2", "cuMemHostAlloc")
	if err != nil {
		t.Fatal(err)
	}
	out, err := start(t, "capture", libraryVariable+"="+library).CombinedOutput()
	want := "capture: begin: CUDA error 801: not supported\npin 1 float32: CUDA error 801: not supported\n[7]\n"
	if err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}
