// Package kernel answers Jupyter's messages: one file for each. It owns the order of what a client sees (busy, input, output,
// error, reply, idle) and knows no Go semantics: cells go to an [Engine], frames to [Channels], and it ends at both.
//
// The requests of a shell (the main one, and each subshell) are served one after the other by one goroutine, control requests
// by another, so that a kernel answers and can be interrupted while a cell runs. Output of cells arrives by [Kernel.Output] on the engine's goroutine and is
// published under the request that ran the cell, also after that cell has ended.
package kernel
