// Package parquet reads the columns of a Parquet file that lies in memory, of any origin: what is damaged, or means harm, is an error that says
// what and where, never a panic, and takes little memory beyond the file's own size. It ends at columns of one level of lists: it knows nothing
// of models, and writes nothing.
//
// The format is that of https://github.com/apache/parquet-format, as Spark's parquet-mr writes it and others may: pages of versions 1 and 2,
// several groups of rows, values that are plain or in a dictionary, pages as they are or packed by Snappy, gzip or Zstandard. Other encodings
// and codecs are refused by their names. Checksums of pages are verified where they are written.
//
// A footer says which columns there are and where (compact, footer); a column is read page by page, entry by entry (page, hybrid, column), and
// nothing of it is kept.
package parquet
