// Package store is what a scheduler knows of its jobs, in a file: each job as it is, results until their time is over, keys that tell a job
// which was there before, what has happened of late, and what was measured. It decides nothing: package scheduler does, and hands over what
// has changed.
//
// That an attempt has begun is put down in a second file before Commit has it with all else, so that its worker does not wait for that
// (Begin). Who opens the folder next takes over what the first file does not have.
//
// One process has the folder open. Each time it is opened its epoch grows: who has a lower one is not the scheduler any more.
//
// The file says its format. That of an older version of this program is made the present one when it is opened, whole or not at all; that
// of a newer one is refused, and left as it is.
package store
