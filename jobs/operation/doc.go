// Package operation runs the four types of jobs that every worker knows, in a session of runtime/gpu: on its GPU or on the CPU's cores.
// What they compute on is pseudo-random, by the job's seed, so that jobs are small and their results can be compared; what they return is
// small, too. Beside them it grows forests on files of a worker's folder.
package operation
