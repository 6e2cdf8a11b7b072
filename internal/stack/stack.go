// Package stack tells what Go's own packages do not of the calling goroutine: how much of its stack it uses, where that lies, and a number
// for the goroutine itself. It ends there.
package stack

// Max is the largest size of a goroutine's stack, in bytes. Go's limit is 1,000,000,000 (see runtime/debug.SetMaxStack); stacks grow by
// doubling, and 1 GiB would exceed it.
const Max = 512 << 20
