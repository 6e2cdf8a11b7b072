// Package stack measures the calling goroutine's stack, which Go tells nobody. It ends at that number.
package stack

// Max is how many bytes a goroutine's stack can take: Go's limit is 1,000,000,000 (see runtime/debug.SetMaxStack), stacks grow by
// doubling, and 1 GiB is more than that.
const Max = 512 << 20
