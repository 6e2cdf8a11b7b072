// Package file reads files of records as a stream.Source and writes rows into files as a stream.Sink: JSON lines and CSV, plain or
// compressed. It ends at the record: what a line of JSON or a row of CSV means is for package stream. Parquet is package parquet's.
//
// A source is one file, a glob or a folder (find). Each file is a partition, read in order by one goroutine at a time; as many files are
// read side by side as Go may use processors (source). A file is read in large pieces, unpacked if it is packed (input), and cut into lines or
// rows (partition, rows): lines are handed over as they lie in memory, rows of CSV become JSON objects.
//
// What does not hold by accident:
//   - Nothing is left out in silence. A file that is damaged, cut short, replaced, too strange to be read, or that has a line beyond the limit
//     ends the run with an error that names it and the place, after the records before that place have been handed over.
//   - An offset is the ordinal of a record in its file: lines without anything in them are no records and have none.
//   - Where files are followed, a record is handed over when its last line is complete, never before.
package file
