// Package broker is a Kafka broker inside the process, so that a notebook streams without anything to install. Any Kafka
// client speaks to it: topics with partitions, consumer groups, idempotent and transactional producers, compression.
//
// It ends where a cluster begins: one node, no replication, no quotas, no tiered storage. With a directory it is durable
// as a Kafka broker is by default: what it has acknowledged survives the death of the process (kill -9), and with Sync
// also that of the machine. On a full disk it refuses what it would have to write, and says so in its log. Without a
// directory it holds the latest records in memory.
//
// It wraps franz-go's kfake, whose interface may change with any version; nothing of it shows here.
package broker
