// Command chaos has many small jobs run while their processes are killed at random with -9: workers, and the one process that is broker and scheduler. One
// worker and that process are stopped for longer than a lease, too. In the end each job must be in the store, once, as it had to end; and what was begun twice must be
// explained by a fault of the process that had it. Workers tell in files of their own what they begin and end, so that nobody has to be believed.
//
//	go run ./bench/jobs/chaos -jobs 20000 -kills 50
//
// It ends with 1 where anything is otherwise.
package main
