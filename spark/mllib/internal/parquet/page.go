package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// A page may say before it is unpacked that it is this large: parquet-mr ends pages at 1 MiB or 20,000 rows, and packs seldom more than 64 to 1.
const (
	mostPage  = 4 << 20
	mostRatio = 64
)

// Kinds of pages.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3
)

// Encodings that are read; rleLevels is of levels alone.
const (
	plain           = 0
	plainDictionary = 2
	rleLevels       = 3
	rleDictionary   = 8
)

// encodingName and codecName say what is not read.
func encodingName(e int) string {
	names := []string{"PLAIN", "1", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"}
	return nameOf(names, e)
}

func codecName(c int) string {
	return nameOf([]string{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"}, c)
}

func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprint(i)
	}
	return names[i]
}

// page is the head of a page, and its bytes as they lie in the file.
type page struct {
	kind, size, packed int
	crc                *uint32
	values             int
	encoding, def, rep int // encodings; of a page of version 2 def and rep are the bytes of the levels
	compressed         bool
	body               []byte
}

// readPage reads the page at the beginning of data, and returns what is behind it.
func readPage(data []byte) (p page, rest []byte, err error) {
	t := &compact{data: data}
	p.compressed = true
	t.fields(func(id int16, typ byte) bool {
		switch {
		case id <= 4 && typ == thriftI32:
			p.field(id, t.number())
		case typ == thriftStruct && (id == 5 || id == 7 || id == 8):
			t.fields(func(sub int16, typ byte) bool { return p.detail(t, id, sub, typ) })
		default:
			return false
		}
		return true
	})
	if t.err == nil && (p.packed < 0 || p.packed > len(data)-t.at) {
		t.fail("a page of %d bytes where %d are left", p.packed, len(data)-t.at)
	}
	if t.err != nil {
		return p, nil, fmt.Errorf("the head of a page is damaged: %w", t.err)
	}
	p.body = data[t.at : t.at+p.packed]
	if p.crc != nil && crc32.ChecksumIEEE(p.body) != *p.crc {
		return p, nil, errors.New("the checksum of a page does not fit; it is damaged, copy it again")
	}
	if p.size < 0 || p.size > mostPage+mostRatio*p.packed {
		return p, nil, fmt.Errorf("a page of %d bytes is to become %d; it is damaged, or write it with pages of 1 MiB (parquet.page.size)", p.packed, p.size)
	}
	return p, data[t.at+p.packed:], nil
}

// field takes a number of the PageHeader.
func (p *page) field(id int16, v int64) {
	switch id {
	case 1:
		p.kind = int(v)
	case 2:
		p.size = int(v)
	case 3:
		p.packed = int(v)
	case 4:
		sum := uint32(v)
		p.crc = &sum
	}
}

// detail reads a field of the DataPageHeader (5), DictionaryPageHeader (7) or DataPageHeaderV2 (8).
func (p *page) detail(t *compact, of, id int16, typ byte) bool {
	if of == 8 && id == 7 {
		p.compressed = typ == thriftTrue
		return false
	}
	if typ != thriftI32 {
		return false
	}
	v := int(t.number())
	switch {
	case id == 1:
		p.values = v
	case id == 2 && of != 8, id == 4 && of == 8:
		p.encoding = v
	case id == 3 && of == 5, id == 5 && of == 8:
		p.def = v
	case id == 4 && of == 5, id == 6 && of == 8:
		p.rep = v
	}
	return true
}

// unpack returns so many bytes that data becomes by a codec.
func (c *column) unpack(codec int, data []byte, size int) (out []byte, err error) {
	switch codec {
	case 0:
		out = data
	case 1:
		out, err = unsnap(data, size)
	case 2:
		out, err = gunzip(data, size)
	case 6:
		out, err = c.unzstd(data, size)
	default:
		return nil, fmt.Errorf("it is packed by %s, which is not read here; write it with snappy, gzip, zstd or none (spark.sql.parquet.compression.codec)", codecName(codec))
	}
	if err == nil && len(out) != size {
		err = fmt.Errorf("%d bytes", len(out))
	}
	if err != nil {
		return nil, fmt.Errorf("unpack a page by %s into %d bytes: %w; it is damaged, copy it again", codecName(codec), size, err)
	}
	return out, nil
}

// unsnap asks for the length first: the library makes room for whatever the bytes say.
func unsnap(data []byte, size int) ([]byte, error) {
	if n, err := snappy.DecodedLen(data); err != nil || n != size {
		return nil, fmt.Errorf("it says %d bytes (%v)", n, err)
	}
	return snappy.Decode(nil, data)
}

func gunzip(data []byte, size int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, int64(size)+1))
}

// unzstd makes room for size bytes, and the library takes no more.
func (c *column) unzstd(data []byte, size int) ([]byte, error) {
	if c.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		c.zstd = z
	}
	return c.zstd.DecodeAll(data, make([]byte, 0, size))
}

// cut takes the bytes of levels off a page of version 1: their length stands before them.
func cut(data []byte) (levels, rest []byte, err error) {
	if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
		return nil, nil, errors.New("the levels of a page are longer than the page; it is damaged, copy it again")
	}
	n := int(binary.LittleEndian.Uint32(data))
	return data[4 : 4+n], data[4+n:], nil
}
