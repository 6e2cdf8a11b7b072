// Package parquet writes the rows of a query as Parquet files, which pyarrow and DuckDB read (scripts/parquet.sh has them do so). It ends
// there: it reads no files, and which rows there are is for package stream.
//
// Sink writes one file, which is there when the query has ended. Folder writes a folder of files, a new one as soon as there are enough rows or
// enough time has passed: that is for queries that go on. In one with a checkpoint each epoch is a file, and each row there once (exact). A file has
// its name only once it is whole and on the disk (sink, part).
// What a column of a kind becomes, and which values fit into it, is in one place (column).
//
// The room is one of its own, which no other imports, because of the library behind it: who writes no Parquet does not compile it.
package parquet
