// Package kafka reads and writes topics of a Kafka cluster, be it Apache Kafka or the broker of package broker.
//
// Source gives topics, by their names or by a pattern, to a stream query: batches of records in offset order, none twice and none left out within one run,
// across lost connections, killed brokers and rebalances. Producer writes records in order and once, also when the broker
// goes away and comes back; Sink does so with the rows of a query. Security is what a cluster asks for: TLS, a user, both.
// A broker that is away is waited for; one that refuses this client is an error that says why and what to do. Lag and CreateTopic are the little administration that notebooks need. The package ends there:
// what a record means, and what time it has, is for package stream and its callers.
//
// It is, with package broker, the only place that knows a Kafka client library. Metadata and offsets are kafka-go's. Groups are franz-go's: it moves
// the partitions that have to move, and knows members by name. A reader of a partition asks for records over a connection of
// its own, and franz-go takes the answers apart. Writing is franz-go, because kafka-go has no idempotent producer: after a lost acknowledgement it can only
// choose between losing a batch and writing it twice.
package kafka
