// Package modelfile is the format in which trained models rest on disk: a readable header, arrays of numbers, and a
// checksum. It ends at the numbers: what they mean is told by the header's kind, and known to the model's own package.
//
//	offset  bytes
//	0       8      "CANCHAMF"
//	8       4      version of this format, uint32 little endian: 1
//	12      4      length H of the header, uint32 little endian
//	16      H      header, JSON: {"kind", "version", "meta": {…}, "arrays": [{"name", "type", "count"}, …]}
//	16+H    …      the arrays in the header's order, little endian, nothing between them;
//	               type is int32, float32 or float64
//	end−32  32     SHA-256 of everything before
//
// A file is written beside its place and renamed into it, so a reader sees the old model or the new one, never half.
// Reading checks sizes before it allocates, and the checksum before it believes.
package modelfile
