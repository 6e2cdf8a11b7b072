// Package jsontext scans JSON where it lies: each function takes a text and a position and returns the position behind what it
// read. It is the one scanner of the repository: streams read paths out of records with it, and the reader of matches reads events.
package jsontext
