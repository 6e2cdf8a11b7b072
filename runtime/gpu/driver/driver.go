// Package driver is the seam between a GPU session and what it runs on: devices, their memory, queues, and the funcs that are
// launched on them. It ends at the words: runtime/gpu/host fills it with the CPU, runtime/gpu/cuda with NVIDIA's driver, and
// runtime/gpu/gputest checks that both mean the same.
package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Driver finds devices of one kind.
type Driver interface {
	// Devices lists what there is. No device is an empty list and an error that says why: no driver, a driver too old.
	Devices(ctx context.Context) ([]Info, error)
	// Open takes the device of that index in the list of Devices.
	Open(ctx context.Context, index int, o Options) (Device, error)
}

// Info is what is known of a device before it is opened.
type Info struct {
	Index      int
	Name       string // as its maker has it: "NVIDIA H100 80GB HBM3"
	UUID       string // the same in every process on the machine: "GPU-5f1c…"; of the CPU "host"
	Capability string // compute capability: "9.0"; "" of the CPU
	Memory     int64  // bytes
	Driver     string // version: "570.86"; "" of the CPU
	Cores      int    // streaming multiprocessors; of the CPU the goroutines that work at once
	BLAS       string // what multiplies matrices: "cuBLAS 12.6", "own", "own AVX-512"; "" before the device is open
	Emulated   bool   // a stand-in on the CPU, for tests: its times say nothing of a GPU
	Users      []User // who computes on it when it is listed, as far as the system tells
}

// Label is the name by which tables and figures say whose numbers they are: of an emulated device it says that.
func (i Info) Label() string {
	if i.Emulated && !strings.Contains(i.Name, "CPU emulation") {
		return i.Name + " (CPU emulation)"
	}
	return i.Name
}

// User is a process that computes on a GPU.
type User struct {
	PID     int
	Program string // "" where it cannot be seen, as from within a container
	Memory  int64  // bytes of the GPU's; 0 where that is not told
}

// Options are settings of an open device. The zero value is sound.
type Options struct {
	Cores int  // goroutines of the CPU that work at once; 0 is GOMAXPROCS. A GPU has no use for it
	TF32  bool // matrix multiplication may round its operands to 10 bits of mantissa (tensor cores of sm_80 on)
}

// Device is an open device. All methods may be called from any goroutine. After one has failed with ErrLost all do.
type Device interface {
	Info() Info
	// Alloc takes memory for n elements; their values are not defined. It fails with ErrOutOfMemory.
	Alloc(t Type, n int) (Memory, error)
	// Free is how much memory in bytes can be had, and how much there is, other processes' use included.
	Free() (free, total int64, err error)
	NewQueue() (Queue, error)
	// Load has the device know the funcs of a library, which are launched by their names as all others from then on. A library that it
	// knows already is left alone; one with a func whose name it knows is refused.
	Load(l *Library) error
	// Close gives everything back, memory and queues that are still open included. Their methods fail with ErrClosed from then on.
	Close() error
}

// Memory is a device's array. Its owner frees it once, when no queued work uses it any more.
type Memory interface {
	Type() Type
	Len() int // elements
	Free() error
}

// Queue runs what is put into it one after another. What different queues run has no order. A queue belongs to one goroutine
// at a time. An error of work that was queued may come from any later call.
type Queue interface {
	// CopyIn writes a slice (of the memory's Type) to dst from element offset on. src may be reused when it has returned.
	CopyIn(dst Memory, offset int, src any) error
	// CopyOut reads as many elements as dst has, from element offset on, and waits for them.
	CopyOut(dst any, src Memory, offset int) error
	// Launch queues a func. Wrong arguments are an error at once.
	Launch(l Launch) error
	// Record marks a point in the queue, to measure between two of them.
	Record() (Event, error)
	// Wait returns when all that was queued has run, or with ctx's cause; the work goes on in that case.
	Wait(ctx context.Context) error
	Close() error
}

// Event is a point in a queue.
type Event interface {
	// Since is the device's time between another point of the same queue, which came before, and this one; it waits until both
	// have been passed.
	Since(earlier Event) (time.Duration, error)
}

// Compiler is a device that takes a user's own funcs, written in CUDA C++.
type Compiler interface {
	// Compile fails with the compiler's own messages, line and column included.
	Compile(ctx context.Context, source string) (Module, error)
}

// Module is compiled source.
type Module interface {
	Funcs() []string // names of the __global__ functions
	Close() error
}

// Pinner is a device that copies faster from and to memory which the system may not move.
type Pinner interface {
	// Pin takes pinned memory of the machine: a slice of t's Go type with n elements, and what gives it back.
	Pin(t Type, n int) (slice any, free func() error, err error)
}

// Keeper is a device that keeps freed memory for later allocations.
type Keeper interface {
	// Keep bounds what is allocated and what is kept, together, in bytes: for what would be more, what is kept is given back.
	Keep(most int64)
}

// Wrapper is a device on whose memory the process works itself: the CPU.
type Wrapper interface {
	// Wrap makes a slice memory of the device. Freeing it leaves the slice alone.
	Wrap(slice any) (Memory, error)
}

// Viewer is memory on which the process works itself.
type Viewer interface {
	View() any // slice of its elements, not a copy; nothing may be queued that uses it
}

// Sensor is a device that can be asked what it feels, at any time and from any goroutine.
type Sensor interface {
	Read() (Reading, error)
}

// Reading is what a device senses at one time, of the work of all processes. What it does not tell is NaN.
type Reading struct {
	Utilization float64 // share of the last moments in which any func ran, 0 to 1
	Memory      float64 // bytes in use
	Power       float64 // W
	Temperature float64 // °C
}

// Capturer is a queue that can keep a sequence of launches, to run it again at the cost of one.
type Capturer interface {
	// Capture calls f, which queues launches on the queue, and keeps them instead of running them. It fails with ErrNotSupported where
	// the driver keeps none: then launch one by one.
	Capture(f func() error) (Graph, error)
}

// Graph is a kept sequence of launches.
type Graph interface {
	Launch(q Queue) error
	Close() error
}

// Launch is one run of a func over a grid.
type Launch struct {
	Module Module // nil: Func is one of this package's, or of a library that the device has loaded
	Func   string
	Grid   [3]int // blocks; the zero value has the device choose, which it can do for funcs of no Module only
	Block  [3]int // threads of a block
	Shared int    // bytes of shared memory a block, beyond what the func declares
	Args   []Arg
}

// Arg is an argument of a launch: memory from an element on, or a number. Make it with At, Int, Float, Long or Double.
type Arg struct {
	Memory Memory
	Offset int // elements into Memory
	Int    int32
	Float  float32
	Long   int64
	Double float64
	Kind   ArgKind
}

// ArgKind tells which field of an Arg counts.
type ArgKind uint8

// The kinds of arguments.
const (
	MemoryArg ArgKind = iota + 1
	IntArg
	FloatArg
	LongArg
	DoubleArg
)

// At is memory from an element on.
func At(m Memory, offset int) Arg { return Arg{Kind: MemoryArg, Memory: m, Offset: offset} }

// Int is a C int.
func Int(n int) Arg { return Arg{Kind: IntArg, Int: int32(n)} }

// Float is a C float.
func Float(f float32) Arg { return Arg{Kind: FloatArg, Float: f} }

// Long is a C long long.
func Long(n int64) Arg { return Arg{Kind: LongArg, Long: n} }

// Double is a C double.
func Double(f float64) Arg { return Arg{Kind: DoubleArg, Double: f} }

// Type is the type of memory's elements.
type Type uint8

// The types that memory can have.
const (
	Float32 Type = iota + 1
	Float64
	Int32
	Uint8
	Uint16
	Uint32
	Int64
)

// Size is the size of an element in bytes; 0 of what is no type.
func (t Type) Size() int {
	if int(t) >= len(elements) {
		return 0
	}
	return elements[t].size
}

func (t Type) String() string {
	if int(t) < len(elements) && t > 0 {
		return elements[t].name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// What a device's methods fail with. Errors wrap them; their text names what was being done.
var (
	// ErrNoDevice: there is nothing to open. The text says why.
	ErrNoDevice = errors.New("no device")
	// ErrOutOfMemory: the device has no room for an allocation. Free memory, or work on the CPU.
	ErrOutOfMemory = errors.New("out of device memory")
	// ErrLaunch: a launch was refused: no such func, arguments that do not fit, a grid beyond the device's. The device stays usable.
	ErrLaunch = errors.New("launch refused")
	// ErrNotSupported: the device or its driver cannot do this, which is optional. The device stays usable.
	ErrNotSupported = errors.New("not supported")
	// ErrLost: a func has gone wrong on the device, or the device is gone. All its memory is lost; close it and open it again.
	ErrLost = errors.New("device lost")
	// ErrClosed: what was used has been closed.
	ErrClosed = errors.New("closed")
)

// NoDevice returns an [ErrNoDevice] that reads as why does, which it wraps: the text is shown to people, as the reason why the CPU works.
func NoDevice(why error) error { return noDevice{why} }

type noDevice struct{ error }

func (n noDevice) Unwrap() error { return n.error }

func (noDevice) Is(target error) bool { return target == ErrNoDevice }
