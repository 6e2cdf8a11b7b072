// Package conf reads files of settings, in the syntax of Spark's spark-defaults.conf, and finds in them what contradicts itself or the
// machine: what costs a cluster its executors. It ends there: what a run does with a setting is the run's business.
package conf
