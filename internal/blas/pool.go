package blas

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool is how many goroutines work at once. The zero Pool has one for each processor that Go uses.
type Pool struct{ Cores int }

// cores is how many goroutines work at once on n pieces.
func (p Pool) cores(n int) int {
	cores := p.Cores
	if cores <= 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	return min(cores, n)
}

// Do calls f for 0 to n-1, several at once and in no order, and returns when all have returned. worker, below the number of cores,
// tells f whose scratch memory to use.
func (p Pool) Do(n int, f func(worker, i int)) {
	cores := p.cores(n)
	var next atomic.Int64
	work := func(worker int) {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			f(worker, int(i))
		}
	}
	var others sync.WaitGroup
	for worker := 1; worker < cores; worker++ {
		others.Go(func() { work(worker) })
	}
	work(0)
	others.Wait()
}
