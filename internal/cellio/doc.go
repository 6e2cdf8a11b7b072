// Package cellio is the hall between the two wings of the house: the format in which a running cell speaks to
// the kernel. It ends at the frame: what a Jupyter message looks like is the kernel's business, and what a value
// looks like is the display's.
//
// An engine process holds one [Conn] (a socket pair inherited from the kernel) and one [Outlet] that orders
// everything its cells say. Each execution of a cell is a [Run]; every goroutine that a run starts, in cell text
// or in compiled code, belongs to that run, so its output appears under the cell that started it.
//
// A frame on the wire is
//
//	uint32 big endian: bytes that follow
//	uint32 big endian: bytes of the header
//	header, JSON: {"kind":…,"cell":…,"seq":…,"sizes":[body, buffer 0, buffer 1, …]}
//	body, JSON; then the buffers, raw
package cellio
