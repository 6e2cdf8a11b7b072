// Package protocol holds the messages of Spark Connect that are sent and understood here, generated of connect.proto. It ends there: who sends them
// when is for package connect, and what a plan means for the rooms that make plans.
//
// The messages have a protobuf package and names of their own, so that a program may hold another client of Spark beside this one: protobuf ends a
// program in which a name exists twice. scripts/spark-protocol.sh makes connect.pb.go anew; with check it also compares every number and type with the
// definitions in Spark's own jar.
package protocol
