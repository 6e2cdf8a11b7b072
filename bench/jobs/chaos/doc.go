// Command chaos has many small jobs run while their processes are killed at random with -9: workers, two schedulers of which one stands by,
// the broker, and broker and schedulers at once. A worker, a scheduler and the broker are stopped for longer than a lease, too. Some jobs
// do not heed their context, end their goroutine, or end their process. In the end each job must be in the store, once, and its results
// must be what they have to be. What was begun twice must be explained by the death of who took part (the worker that had it, the scheduler
// that led, the broker), or by the stop of its worker, between the claim and the moment when its end was put down; and a begin that the
// store and the workers count differently likewise. Workers tell in files of their own what they claim, begin and end, schedulers what they
// have put down, so that nobody has to be believed. Each worker must be there at the end, with as many slots lost as jobs did not heed it
// since it was started, and one that is left.
//
//	go run ./bench/jobs/chaos -jobs 20000 -kills 50
//	scripts/rabbitmq.sh with go run ./bench/jobs/chaos -rabbitmq
//
// It ends with 1 where anything is otherwise.
package main
