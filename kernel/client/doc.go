// Package client is the other side of the protocol: it starts a kernel process from a command or a kernelspec, runs code in
// it and hands out what the kernel publishes. It speaks to any kernel and knows nothing of notebooks.
//
// [Start] gives a [Kernel], the process; [Kernel.Connect] a [Client], one conversation with it. Several clients may talk to
// one kernel.
package client
