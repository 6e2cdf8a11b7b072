package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
)

// A file of one array, as numpy.save writes it (numpy.lib.format, version 1.0): "\x93NUMPY", 1, 0, the length of the header as a uint16, the
// header, and the numbers, little endian and row after row.
const npyMagic = "\x93NUMPY\x01\x00"

// npyHeader matches the header of an array of one or two dimensions.
var npyHeader = regexp.MustCompile(`^\{'descr': '([^']+)', 'fortran_order': False, 'shape': \((\d+),(?: (\d+))?\), \} *\n$`)

// readNPY returns the bytes of the numbers of an array, and of how many columns it is: 1 of a list.
func readNPY(path, kind string, width int) (data []byte, columns int, err error) {
	data, err = os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	if len(data) < 10 || string(data[:8]) != npyMagic {
		return nil, 0, fmt.Errorf("%s is no array of NumPy in format 1.0; make it with data.py", path)
	}
	end := min(10+int(binary.LittleEndian.Uint16(data[8:])), len(data))
	m := npyHeader.FindSubmatch(data[10:end])
	if m == nil || string(m[1]) != kind {
		return nil, 0, fmt.Errorf("%s: its header is %q; a list or a table of %s is needed, row after row", path, data[10:end], kind)
	}
	rows, err := strconv.Atoi(string(m[2]))
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	if columns = 1; len(m[3]) > 0 {
		if columns, err = strconv.Atoi(string(m[3])); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	if data = data[end:]; len(data) != rows*columns*width {
		return nil, 0, fmt.Errorf("%s: %d bytes for %d x %d numbers of %d; make it anew", path, len(data), rows, columns, width)
	}
	return data, columns, nil
}

// readFloat32 reads a table of float32.
func readFloat32(path string) (values []float32, columns int, err error) {
	data, columns, err := readNPY(path, "<f4", 4)
	if err != nil {
		return nil, 0, err
	}
	values = make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values, columns, nil
}

// readFloat64 reads a table of float64.
func readFloat64(path string) (values []float64, columns int, err error) {
	data, columns, err := readNPY(path, "<f8", 8)
	if err != nil {
		return nil, 0, err
	}
	values = make([]float64, len(data)/8)
	for i := range values {
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return values, columns, nil
}

// readInt32 reads a list of int32.
func readInt32(path string) ([]int32, error) {
	data, _, err := readNPY(path, "<i4", 4)
	if err != nil {
		return nil, err
	}
	values := make([]int32, len(data)/4)
	for i := range values {
		values[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values, nil
}

// writeFloat64 writes a table of so many columns.
func writeFloat64(path string, values []float64, columns int) error {
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", len(values)/columns, columns)
	const align = 64 // of all that stands before the numbers
	total := (10 + len(header) + 1 + align - 1) / align * align
	data := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(total-10))
	data = fmt.Appendf(data, "%-*s\n", total-10-1, header)
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return os.WriteFile(path, data, 0o666)
}
