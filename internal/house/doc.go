// Package house guards the floor plan of the module: who may import whom, which room is the door to which foreign
// library, and that each package says what it is. It holds tests only and ends at what the sources of a file say: that a
// room does its work is for the room's own tests.
package house
