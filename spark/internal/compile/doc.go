// Package compile turns a query of package stream, as its plan, into what Spark runs: relations of Spark Connect and the start of a streaming
// query. It ends at the message: nothing is sent. What Spark cannot do as the local engine does it is refused here, by the name of the
// operator and with what to write instead, before anything has started.
//
// Expressions become Spark's SQL (expr), of columns whose kinds are known as the local engine knows them (layout). What is known to be one
// kind has a type of Spark's: BOOLEAN, BIGINT, DOUBLE, STRING, TIMESTAMP. A column of any value, such as a field that is given out as it is,
// is a STRING that holds the JSON of the value, in one form for each: it can be compared, grouped and joined by, which Spark's VARIANT cannot,
// and 7 and "7" stay apart.
//
// A record is parsed once, its members as VARIANTs, and each path is read out of them with the kind of what is there (reads): so a text where
// a number is wanted makes a record bad, as it does here, where from_json with the types that are wanted would read it as absent. Bad records
// are left out, and counted as an observation of the query.
//
// What does not hold by accident:
//   - Absent is NULL, and every condition is true or false, never NULL: Not of a comparison with an absent value is true.
//   - A filter behind the watermark asks for the event time too (held): Spark would else move it in front of the watermark, which would then
//     follow the rows that pass, and another set of rows would be late.
//   - So does Explode leave rows without elements out itself, behind the explode.
//   - A session ends when a gap has passed without a row. Spark's sessions take a row in that comes exactly a gap later, so theirs are told
//     a gap of a microsecond less, and the end is put right.
//   - In append mode a share and a Top are aggregations of an aggregation, since Spark's streams know no ranks and no sums over groups.
//   - Regular expressions are written anew for Java from how Go reads them (pattern), so that . and $ and \b mean the same.
//
// What is not the same on Spark, and is neither refused nor noted (Compiled.Notes): times are of microseconds; the watermark is one for all
// partitions, that of the latest event of the batch before, whichever (no IdleAfter, no MaxAhead); CountDistinct and Quantile are exact, and
// keep all that they count; JSON of objects that are given out has its members in another order; NaN in a record makes it bad; a number beyond
// what a DOUBLE holds is Infinity where it is given out as it is; of a path and its flattened spelling in one record the path counts, not the
// later; to Require, 2.0 is the integer 2 except at a path of a record itself; a row that Deduplicate's watermark has passed is dropped, also
// within the delay; a row without a key of GroupBy is left out and not counted as bad, and of an exploded array Require counts each element that it
// refuses, not the record once; of a record whose envelope is neither an object nor null nothing is read; OrElse and If, of a number and a path,
// round its integers beyond 2^53; -0 is printed as 0, and what overflows as Infinity.
package compile
