// Package jobstest holds the suites that fillings of the seams of jobs must pass: TestBroker for those of queue.Broker. It knows no broker:
// who runs it brings one that was made for the test, and it ends at what package queue promises.
package jobstest
