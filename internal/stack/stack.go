// Package stack measures the stack of the calling goroutine, which Go's own packages do not report. It ends at that number.
package stack

// Max is the largest size of a goroutine's stack, in bytes. Go's limit is 1,000,000,000 (see runtime/debug.SetMaxStack); stacks grow by
// doubling, and 1 GiB would exceed it.
const Max = 512 << 20
