// Package gputest is the suite that every filling of package driver passes: memory, queues, and each func beside the plain Go that says
// what it means, on random shapes. It ends at the seam: what a session does with devices is tested where sessions are.
package gputest
