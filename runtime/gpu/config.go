package gpu

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"cancha/runtime/gpu/driver"
	"cancha/runtime/session"
)

// Target is where operations are to run.
type Target string

// The targets.
const (
	Auto Target = "auto" // each operation where the cost model expects it to be faster; "" is the same
	CPU  Target = "cpu"
	GPU  Target = "gpu" // all that the GPU can do; where there is none, see Config.Required
)

// Config says what a session may use. The zero value takes the first GPU that there is, or else the CPU.
type Config struct {
	Device     Target
	GPU        string        // UUID, or index, of the GPU to take; "" is the first that nobody holds
	Memory     int64         // bytes of GPU memory that the session may take; 0 is nine tenths of what is free when it starts
	Pinned     int64         // bytes of pinned memory for copies; 0 is none
	Concurrent int           // operations that may run at once; 0 is 1
	Cores      int           // of the CPU; 0 is GOMAXPROCS
	TF32       bool          // see driver.Options
	Required   bool          // without a GPU, or where one runs out of memory, there is an error instead of the CPU
	Wait       time.Duration // for a GPU that another session holds; 0 is not to wait
	Notebook   string        // who holds the GPU, for others that want it; "" is the notebook that Jupyter has started the kernel for
	Explain    string        // which operations Explain tells of: all, which "" is too, not_on_gpu or none

	drivers []driver.Driver // of GPUs; nil is what is linked in
	locks   string          // folder of locks; "" is lockFolder's
}

// Configured returns what a run's settings say of the GPU: the one switch of notebooks, see [session.Configure].
func Configured(c session.Config) Config {
	return Config{
		Device: Target(c.Device), GPU: c.GPU, Memory: c.GPUMemory, Pinned: c.GPUPinned, Concurrent: c.ConcurrentTasks(), Cores: c.Cores,
		TF32: c.TF32, Required: c.GPURequired, Explain: c.Explain,
	}
}

// holder is this process, as others are to know it.
func (c Config) holder() Holder {
	program, _ := os.Executable()
	const notebookVariable = "JPY_SESSION_NAME" // path of the notebook, which Jupyter Server sets
	return Holder{
		PID: os.Getpid(), Program: filepath.Base(program), Notebook: cmp.Or(c.Notebook, os.Getenv(notebookVariable)), Since: time.Now(),
	}
}

func (c Config) validate() error {
	switch {
	case c.Device != "" && c.Device != Auto && c.Device != CPU && c.Device != GPU:
		return fmt.Errorf("gpu: device %q: choose auto, gpu or cpu", c.Device)
	case c.Memory < 0 || c.Pinned < 0 || c.Concurrent < 0 || c.Cores < 0 || c.Wait < 0:
		return fmt.Errorf("gpu: a setting below 0: memory %d, pinned %d, concurrent %d, cores %d, wait %v", c.Memory, c.Pinned, c.Concurrent, c.Cores, c.Wait)
	case c.Required && c.Device == CPU:
		return fmt.Errorf("gpu: a GPU is required, and the device is cpu: leave one of them out")
	}
	return nil
}
