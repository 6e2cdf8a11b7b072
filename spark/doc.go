// Package spark runs work on an Apache Spark 4 cluster over Spark Connect, from Go: SQL, tables, data frames, streaming queries, training and models
// stay on the server, and what comes back are tables. It ends at the client: it starts no cluster, and no Go function ever runs there. A query of
// package stream that is made of expressions alone runs on either: here by its Start, and there with On([Engine]).
//
//	s, err := spark.Connect(ctx, "sc://host:15002")
//	defer s.Close()
//	df, err := s.SQL(ctx, "SELECT city, sum(price) AS total FROM orders WHERE day >= ? GROUP BY city", since)
//	rows, err := df.Sort("total DESC").Limit(20).Collect(ctx)
//
// A DataFrame is what would be computed. Its methods without a context only describe: what is wrong with such a description is told by the first
// method that has one. Methods with a context call the server, and a context that ends interrupts the work there too. So does an interrupt of the
// cell that has called one, whatever its context.
//
// A session keeps views, settings, cached frames, models and streaming queries on the server. Close releases them. So does the end of a notebook's
// engine, however it ends: a process beside it sees to that. What any other program leaves behind that is killed, the next Connect to the same server
// releases, by a file that each session has while it is open (remembered).
package spark
