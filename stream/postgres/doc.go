// Package postgres writes the rows of a query into a table of PostgreSQL. It ends there: it reads no tables, and which rows there are is for
// package stream.
//
// Sink appends rows, or with a Key updates those that are there. The rows of one Write come in one transaction, by COPY in text form, so that the
// server's own rules decide what a text may become and its errors name row and column (sink, encode). What a table must look like is looked up
// when the query starts (table). A server that goes away is waited for; whatever else goes wrong is a sentence that says what to do (diagnose).
//
// Of the library it takes pgconn, the protocol, alone: COPY in text form needs no types of Go. The room is one of its own, which no other imports:
// who writes to no database does not compile it.
package postgres
