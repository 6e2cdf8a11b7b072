// Package avro is Avro as a format of records for stream queries: Format for bare records of one known schema, Registry for records that name
// their schema in a registry. It ends at the record: where records come from is a source's business, files of Avro (object containers) are
// nobody's yet.
//
//	stream.From(source).Format(avro.Registry(avro.Config{URL: "http://registry:8081"}))
//
// A schema's text is read, and checked against the specification, by a library (schema). Records are read here (scan, leaf, render): only the
// paths that a query names are made into values (paths), and all else is stepped over, but never past the record's end. The registry is asked
// between batches, never while a record is decoded (registry, client).
//
// # What a path gives
//
// Paths name fields of records, elements of arrays and keys of maps as they do in JSON: user.city, items[0].sku, labels["a.b"]. A union stands
// for the value in it: null is an absent value, and a path that only some of its branches have is absent in the others.
//
//	null                                  an absent value
//	boolean, int, long                    a truth, an integer
//	float, double                         a number; NaN is an absent value, an infinite one makes the record bad
//	string, enum                          a text; what is no UTF-8 becomes U+FFFD
//	bytes, fixed                          a text in base64 (standard alphabet, padded)
//	uuid                                  a text, 8-4-4-4-12 hexadecimal digits where the schema has a fixed of 16 bytes
//	date                                  a time, midnight in UTC
//	timestamp-millis, -micros, -nanos     a time; one before 1678 or after 2262 makes the record bad. The local- kinds are taken as UTC
//	time-millis, time-micros              a number, seconds since midnight
//	duration                              a text as in ISO 8601, P1M2DT3.004S
//	decimal                               see below
//	record, array, map                    JSON, in which all of the above is written as a query's rows write it; an infinite number is null there
//
// A decimal is an integer if its scale is 0 and its precision at most 18, and a number if its precision is at most 15, which a number holds
// without loss; any other is a text of all its digits, 12345678901234567.89. Where arithmetic wants a number it is the nearest. In the JSON of
// a record it has all its digits.
//
// Where a query wants a number, a text or a time, a value of another kind makes the record bad, by the rules that hold for JSON: true and false
// count as 1 and 0, a string in RFC 3339 is a time. A logical type that a schema gives to a type it is not for is ignored, as the specification
// wants it.
//
// What does not hold by accident:
//   - No length or count that a record states is believed before it has been compared with the bytes that are there.
//   - A record must end where its schema does: one that was written with another schema is a bad record and no row of wrong values.
package avro
