//go:build nvidia && linux

package shim

// #include <stddef.h>
// int cuMemHostAlloc(void **, size_t, unsigned);
// int cuMemFreeHost(void *);
// int cuStreamBeginCapture_v2(void *, int);
// int cuStreamEndCapture(void *, void **);
// int cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
// int cuGraphLaunch(void *, void *);
// int cuGraphExecDestroy(void *);
// int cuGraphDestroy(void *);
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Pin takes memory of the machine that the system does not move, which the device copies from and to without help.
func Pin(bytes int) (p unsafe.Pointer, err error) {
	const portable = 1 // pinned for all contexts
	err = result(C.cuMemHostAlloc(&p, C.size_t(bytes), portable))
	return p, err
}

// Unpin gives pinned memory back.
func Unpin(p unsafe.Pointer) error { return result(C.cuMemFreeHost(p)) }

// handle is what cu's Stream holds.
func handle(s cu.Stream) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&s)) }

// BeginCapture has a stream keep what is queued on it, until EndCapture on the same thread.
func BeginCapture(s cu.Stream) error {
	const threadLocal = 1 // what other threads call at the same time neither joins the graph nor breaks it
	return result(C.cuStreamBeginCapture_v2(handle(s), threadLocal))
}

// EndCapture makes what the stream has kept a graph.
func EndCapture(s cu.Stream) (*Graph, error) {
	var graph, exec unsafe.Pointer
	err := result(C.cuStreamEndCapture(handle(s), &graph))
	if graph != nil {
		defer C.cuGraphDestroy(graph)
	}
	if err != nil {
		return nil, err
	}
	if err := result(C.cuGraphInstantiateWithFlags(&exec, graph, 0)); err != nil {
		return nil, err
	}
	return &Graph{exec}, nil
}

// Graph is a sequence of launches, ready to run.
type Graph struct{ exec unsafe.Pointer }

// Launch queues the sequence.
func (g *Graph) Launch(s cu.Stream) error { return result(C.cuGraphLaunch(g.exec, handle(s))) }

// Close gives the graph back; once.
func (g *Graph) Close() error { return result(C.cuGraphExecDestroy(g.exec)) }
