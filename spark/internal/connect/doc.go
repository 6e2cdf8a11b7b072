// Package connect speaks Spark Connect with a server, over one connection and in one session: it executes plans, analyses them, changes settings,
// interrupts and releases. It ends there: what a plan means, and what the bytes of a batch hold, is for others.
//
// Parse reads a connection string as Spark's clients do (target). Dial makes the session and asks for Spark's version (dial). An operation that
// Execute runs survives its response streams: where one breaks, or the server ends it before the result is complete, the next goes on behind the
// last response that was taken in (execute), and the server is told in the background what it may forget (releases). A context that ends has the
// operation interrupted on the server first, since ending a call leaves the work running there (interrupt). A fault that passes is tried again for as
// long as Target.Patience lasts (tries). A server that says nothing, though it is asked, counts as such a fault (line, watch). Whatever is final is an
// Error with Spark's class and, where it is known, what to do (failure).
//
// It is the only door to grpc.
package connect
