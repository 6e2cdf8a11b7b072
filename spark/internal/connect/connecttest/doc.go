// Package connecttest is a Spark Connect server for tests: it keeps sessions and operations as Spark does, has plans answered by the test, and fails
// when it is told to. It knows nothing of Spark's engine, and of the protocol only what happens between client and server.
package connecttest
