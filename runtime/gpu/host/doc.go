// Package host is the CPU as a device of a GPU session: its memory is the machine's, its queues run what they are given at once, and
// its funcs work on all cores. It ends at the seam: which device an operation goes to is the session's choice.
package host
