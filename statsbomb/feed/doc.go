// Package feed gives a notebook records to read, whatever there is. With a cluster named (KAFKA_BROKERS) it is that cluster's
// topic, which somebody else fills. Without one the process gets a broker of its own on a free loopback port and matches are
// played into it: from a folder, or simulated. Either way a Feed hands out sources, and the code that reads is the same.
//
// It wires packages broker, kafka, replay and statsbomb together and ends there.
package feed
