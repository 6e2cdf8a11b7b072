// Package statsbomb reads football matches in StatsBomb's open-data layout, and simulates matches of the same schema. It
// ends at the match: what a stream carries is package stream's, what a model sees of a match is package lwp's.
package statsbomb
