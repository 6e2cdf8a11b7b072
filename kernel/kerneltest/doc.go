// Package kerneltest speaks the Jupyter protocol to any kernel and checks what comes back. [Run] is the suite: give it a
// command that starts a kernel and [Samples] in that kernel's language. Tests only.
//
// A case whose name begins with a number checks the property of that number, which cases.go names; the table at the end has all. The
// sockets are those of kernel/zmq, or libzmq's, which a Python process lends (bridge.py): those of Jupyter's own clients.
//
// [Engine] is an engine that behaves, for tests of package kernel without Go's compiler: it runs a language of a dozen
// words. test_cancha.py is the reference suite, jupyter_kernel_test, with all its samples filled in for Cancha.
package kerneltest
