// Package disk keeps buckets of keys and values in a file, of which nothing is lost that was written, whatever ends the process; and it
// tells which process has a folder. It is the only door to bbolt, and ends at the buckets: what lies in them is the business of jobs/local
// and jobs/store.
//
// A transaction is in the file whole or not at all, and durable when Write returns. bbolt itself panics where a file is damaged, and leaves open what
// of a failed commit is there; here a damaged file is an error, and after a commit that failed the file is opened anew, and a number in it tells.
package disk
