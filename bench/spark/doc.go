// Command spark runs one plan over one topic of a real Kafka on the local engine and on a Spark Connect server through our own client, in turns on
// one machine, and prints what each took: time, processor seconds and memory, of this process and of the server's JVM. scripts/bench-spark.sh starts
// both servers. It ends there: what other engines take for such queries is in bench/peers.
package main
