// Package columns turns Arrow's stream format, in which Spark sends and takes rows, into columns of Go values and back. It is the only door to
// arrow-go, and ends at the values: what a table or a query makes of them is for others.
//
// Nothing is rounded and nothing guessed. What has no Go value here (a variant, an interval of months, a time of day) is an error that names the
// column and its type, and so is a Go value that Spark's type cannot hold whole: a time with nanoseconds, or an integer beyond its range.
//
//	Spark                                   Go
//	boolean                                 bool
//	tinyint, smallint, int, bigint          int64
//	float, double                           float64
//	decimal(p,s)                            Decimal
//	string                                  string
//	binary                                  []byte
//	date, timestamp, timestamp_ntz          time.Time, in UTC
//	interval day to second                  time.Duration
//	array                                   []any
//	struct                                  Struct
//	map                                     Map
//	void                                    nil
package columns
