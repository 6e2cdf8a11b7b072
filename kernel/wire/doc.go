// Package wire is Jupyter's message as bytes: frames in, a checked [Message] out, and back. It knows signatures, the
// delimiter, the connection file and replayed messages; it ends where a message type gets a meaning (package kernel) and
// where frames meet a socket (kernel/zmq). Standard library only.
//
// A message on the wire is a list of frames:
//
//	identity 0, identity 1, …    who is to get the answer; a topic on iopub
//	<IDS|MSG>                    the delimiter
//	signature                    hex HMAC over the next four frames, empty without a key
//	header, parent header, metadata, content    JSON objects
//	buffer 0, buffer 1, …        raw bytes
package wire
