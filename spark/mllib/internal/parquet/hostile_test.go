package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// marshal returns what a footer or a head of a page is as bytes.
func marshal(t testing.TB, v any) []byte {
	t.Helper()
	data, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// withFooter ends a file whose pages are there.
func withFooter(pages, footer []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(slices.Concat(pages, footer), uint32(len(footer))), magic...)
}

// TestFooter: one thing wrong in a good footer is an error that says what.
func TestFooter(t *testing.T) {
	good := written(t, rowsOf(20))
	size := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	pages, footer := good[:len(good)-8-size], good[len(good)-8-size:len(good)-8]
	for _, test := range []struct {
		name   string
		change func(*format.FileMetaData)
		want   string
	}{
		{"nothing", func(m *format.FileMetaData) {}, ""},
		{"rows", func(m *format.FileMetaData) { m.NumRows = math.MaxInt64 }, "9223372036854775807 rows in"},
		{"rows below", func(m *format.FileMetaData) { m.NumRows = -1 }, "-1 rows in"},
		{"a row more", func(m *format.FileMetaData) { m.NumRows++ }, "20 rows in its groups and 21 in the file"},
		{"rows of a group", func(m *format.FileMetaData) { m.RowGroups[0].NumRows = math.MinInt64 }, "group 0 has -9223372036854775808 rows"},
		{"a column less", func(m *format.FileMetaData) { m.RowGroups[0].Columns = m.RowGroups[0].Columns[1:] }, "7 columns, the file 20 and 8"},
		{"both a row more", func(m *format.FileMetaData) { m.NumRows++; m.RowGroups[0].NumRows++ }, "1 rows of its group are missing"},
		{"both a row less", func(m *format.FileMetaData) { m.NumRows--; m.RowGroups[0].NumRows-- }, "more rows than its group"},
		{"an offset", func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.DataPageOffset = 1 << 40 }, "column id of group 0:"},
		{"an offset below", func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.DataPageOffset = -5 }, "bytes from -5 on"},
		{"a size", func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[0].MetaData.TotalCompressedSize = math.MaxInt64
		}, "9223372036854775807 bytes from 4 on"},
		{"a size below", func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.TotalCompressedSize = -1 }, "-1 bytes from 4 on"},
		{"no pages", func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.TotalCompressedSize = 0 }, "20 rows of its group are missing"},
		{"a type", func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.Type = format.Boolean }, "values of type 0, and the schema says 1"},
		{"another file", func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].FilePath = "/etc/passwd" }, "a column that lies in another file"},
		{"no schema", func(m *format.FileMetaData) { m.Schema = nil }, "no schema"},
		{"a schema that ends", func(m *format.FileMetaData) { m.Schema = m.Schema[:len(m.Schema)-1] }, "the schema ends early"},
		{"a schema too long", func(m *format.FileMetaData) { m.Schema = append(m.Schema, m.Schema[1]) }, "no tree of columns"},
		{"children below", func(m *format.FileMetaData) { m.Schema[1].NumChildren = thrift.New(int32(-1)) }, "no tree of columns"},
		{"columns of the same name", func(m *format.FileMetaData) { m.Schema[2].Name = "id" }, "column id is of another type"},
	} {
		var m format.FileMetaData
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &m); err != nil {
			t.Fatal(err)
		}
		test.change(&m)
		_, err := readAll(withFooter(pages, marshal(t, &m)))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestThrift: what is no footer at all.
func TestThrift(t *testing.T) {
	for _, test := range []struct {
		name   string
		footer []byte
		want   string
	}{
		{"nothing", nil, "it ends in the middle of a value"},
		{"structs in structs", slices.Repeat([]byte{0x1c}, 1<<20), "more than 16 structs in each other"},
		{"lists in lists", append([]byte{0x19}, slices.Repeat([]byte{0x19}, 1<<20)...), "more than 16 lists in each other"},
		{"maps in maps", append([]byte{0x1b}, bytes.Repeat([]byte{1, 0xbb}, 1<<10)...), "more than 16 maps in each other"},
		{"a list of everything", []byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, "it ends in the middle of a value"},
		{"a list of truths", []byte{0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2}, "it ends in the middle of a value"},
		{"a text", []byte{0x18, 0xff, 0xff, 0xff, 0xff, 0x0f}, "4294967295 bytes of text where 0 are left"},
		{"a number", []byte{0x16, 0xff, 0xff}, "it ends in the middle of a number"},
		{"a type", []byte{0x1d}, "a field of type 13"},
		{"another list", []byte{0x29, 0x15, 2, 0}, "a list of type 5 where 12 was expected"},
	} {
		if _, err := Open(withFooter([]byte(magic), test.footer)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// handmade returns a file of one column "x" of doubles, required, optional or repeated, which has these pages.
func handmade(t testing.TB, repeat format.FieldRepetitionType, codec format.CompressionCodec, rows int64, pages ...[]byte) []byte {
	t.Helper()
	body := slices.Concat(pages...)
	m := format.FileMetaData{Version: 1, NumRows: rows, Schema: []format.SchemaElement{
		{Name: "root", NumChildren: thrift.New(int32(1))}, {Name: "x", Type: thrift.New(format.Double), RepetitionType: thrift.New(repeat)},
	}}
	m.RowGroups = []format.RowGroup{{NumRows: rows, Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{
		Type: format.Double, Codec: codec, NumValues: rows, TotalCompressedSize: int64(len(body)), DataPageOffset: 4, PathInSchema: []string{"x"},
	}}}}}
	return withFooter(append([]byte(magic), body...), marshal(t, &m))
}

// onePage returns a page.
func onePage(t testing.TB, h format.PageHeader, body []byte) []byte {
	t.Helper()
	if h.CompressedPageSize == 0 {
		h.CompressedPageSize = int32(len(body))
	}
	if h.UncompressedPageSize == 0 {
		h.UncompressedPageSize = int32(len(body))
	}
	return append(marshal(t, &h), body...)
}

// data1, data2 and words are heads of pages of n values.
func data1(n int32, e format.Encoding) format.PageHeader {
	return format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: n, Encoding: e, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})}
}

func data2(n int32, e format.Encoding, rep, def int32) format.PageHeader {
	return format.PageHeader{Type: format.DataPageV2, DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{NumValues: n, NumRows: n, Encoding: e, RepetitionLevelsByteLength: rep, DefinitionLevelsByteLength: def})}
}

func words(n int32) format.PageHeader {
	return format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: n})}
}

// TestPages: one thing wrong in a page is an error that says what, and takes little memory whatever the page says.
func TestPages(t *testing.T) {
	doubles := make([]byte, 16)
	packed := func(codec interface {
		Encode(dst, src []byte) ([]byte, error)
	}, n int) []byte {
		out, err := codec.Encode(nil, make([]byte, n))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	sized := func(h format.PageHeader, size, packed int32) format.PageHeader {
		h.UncompressedPageSize, h.CompressedPageSize = size, packed
		return h
	}
	summed := func(h format.PageHeader, crc uint32) format.PageHeader {
		h.CRC = int32(crc)
		return h
	}
	bits := func(h format.PageHeader) format.PageHeader {
		h.DataPageHeader.V.DefinitionLevelEncoding = format.BitPacked
		return h
	}
	levels := func(runs ...byte) []byte { // of a page of version 1
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs...)
	}
	const required, optional, repeated = format.Required, format.Optional, format.Repeated
	const none, snappy, gzip, zstd = format.Uncompressed, format.Snappy, format.Gzip, format.Zstd
	for _, test := range []struct {
		name  string
		in    format.FieldRepetitionType
		codec format.CompressionCodec
		pages [][]byte
		want  string
	}{
		{"good", required, none, [][]byte{onePage(t, data1(2, format.Plain), doubles)}, ""},
		{"good, summed", required, none, [][]byte{onePage(t, summed(data1(2, format.Plain), crc32.ChecksumIEEE(doubles)), doubles)}, ""},
		{"good, an index between", required, none, [][]byte{onePage(t, format.PageHeader{Type: format.IndexPage}, []byte("x")), onePage(t, data1(2, format.Plain), doubles)}, ""},
		{"good, coded", required, none, [][]byte{onePage(t, words(1), doubles[:8]), onePage(t, data1(2, format.RLEDictionary), []byte{1, 4, 0})}, ""},
		//lint:ignore SA1019 other writers still use it
		{"good, coded in no bits", required, none, [][]byte{onePage(t, words(1), doubles[:8]), onePage(t, data1(2, format.PlainDictionary), []byte{0, 4})}, ""},
		{"good, a list", repeated, none, [][]byte{onePage(t, data1(3, format.Plain), slices.Concat(levels(3, 0b100), levels(6, 1), make([]byte, 24)))}, ""},
		{"good, version 2", repeated, none, [][]byte{onePage(t, data2(3, format.Plain, 2, 2), slices.Concat([]byte{3, 0b100}, []byte{6, 1}, make([]byte, 24)))}, ""},
		{"a checksum", required, none, [][]byte{onePage(t, summed(data1(2, format.Plain), 7), doubles)}, "the checksum of a page does not fit"},
		{"values below", required, none, [][]byte{onePage(t, data1(-1, format.Plain), doubles)}, "a page of -1 values"},
		{"values missing", required, none, [][]byte{onePage(t, data1(2, format.Plain), doubles[:9])}, "the values of a page end early"},
		{"values too many", required, none, [][]byte{onePage(t, data1(math.MaxInt32, format.Plain), doubles)}, "more rows than its group"},
		{"a page too long", required, none, [][]byte{onePage(t, sized(data1(2, format.Plain), 16, math.MaxInt32), doubles)}, "a page of 2147483647 bytes where"},
		{"a page of less than nothing", required, none, [][]byte{onePage(t, sized(data1(2, format.Plain), 16, -16), doubles)}, "a page of -16 bytes where"},
		{"becomes too long", required, snappy, [][]byte{onePage(t, sized(data1(2, format.Plain), math.MaxInt32, 16), doubles)}, "a page of 16 bytes is to become 2147483647"},
		{"becomes less than nothing", required, snappy, [][]byte{onePage(t, sized(data1(2, format.Plain), -1, 16), doubles)}, "is to become -1"},
		{"no snappy", required, snappy, [][]byte{onePage(t, data1(2, format.Plain), doubles)}, "unpack a page by SNAPPY into 16 bytes"},
		{"no gzip", required, gzip, [][]byte{onePage(t, data1(2, format.Plain), doubles)}, "unpack a page by GZIP into 16 bytes"},
		{"no zstd", required, zstd, [][]byte{onePage(t, data1(2, format.Plain), doubles)}, "unpack a page by ZSTD into 16 bytes"},
		{"snappy says more", required, snappy, [][]byte{onePage(t, sized(data1(2, format.Plain), 16, 0), packed(&pq.Snappy, 17))}, "it says 17 bytes"},
		{"gzip becomes more", required, gzip, [][]byte{onePage(t, sized(data1(2, format.Plain), 16, 0), packed(&pq.Gzip, 8<<20))}, "17 bytes"},
		{"zstd becomes more", required, zstd, [][]byte{onePage(t, sized(data1(2, format.Plain), 16, 0), packed(&pq.Zstd, 8<<20))}, "unpack a page by ZSTD into 16 bytes"},
		{"no dictionary", required, none, [][]byte{onePage(t, data1(2, format.RLEDictionary), []byte{1, 4, 0})}, "value 0 of a dictionary of 0"},
		{"not in it", required, none, [][]byte{onePage(t, words(1), doubles[:8]), onePage(t, data1(2, format.RLEDictionary), []byte{8, 4, 200})}, "value 200 of a dictionary of 1"},
		{"a dictionary too short", required, none, [][]byte{onePage(t, words(math.MaxInt32), doubles)}, "the dictionary: the values of a page end early"},
		{"places of many bits", required, none, [][]byte{onePage(t, words(1), doubles[:8]), onePage(t, data1(2, format.RLEDictionary), []byte{33, 4, 0})}, "places of 33 bits"},
		{"places that end", required, none, [][]byte{onePage(t, words(1), doubles[:8]), onePage(t, data1(2, format.RLEDictionary), []byte{32, 4, 0})}, "runs of numbers end early"},
		{"packed places that end", required, none, [][]byte{onePage(t, words(1), doubles[:8]), onePage(t, data1(2, format.RLEDictionary), []byte{8, 3, 0})}, "runs of numbers end early"},
		{"an endless run", required, none, [][]byte{onePage(t, words(1), doubles[:8]), onePage(t, data1(2, format.RLEDictionary), []byte{8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})}, "runs of numbers end early"},
		{"levels too long", optional, none, [][]byte{onePage(t, data1(2, format.Plain), []byte{9, 0, 0, 0, 4, 1})}, "the levels of a page are longer than the page"},
		{"levels missing", optional, none, [][]byte{onePage(t, data1(2, format.Plain), []byte{9})}, "the levels of a page are longer than the page"},
		{"levels in bits", optional, none, [][]byte{onePage(t, bits(data1(2, format.Plain)), slices.Concat(levels(4, 1), doubles))}, "levels in RLE and BIT_PACKED"},
		{"absent", optional, none, [][]byte{onePage(t, data1(2, format.Plain), slices.Concat(levels(4, 0), doubles))}, "row 0 has no value"},
		{"begins in a row", repeated, none, [][]byte{onePage(t, data1(3, format.Plain), slices.Concat(levels(6, 1), levels(6, 1), make([]byte, 24)))}, "begins in the middle of a row"},
		{"levels of version 2", optional, none, [][]byte{onePage(t, data2(2, format.Plain, 0, 99), doubles)}, "levels of 0 and 99 bytes"},
		{"levels below", optional, none, [][]byte{onePage(t, data2(2, format.Plain, math.MinInt32, 0), doubles)}, "levels of -2147483648 and 0 bytes"},
	} {
		var err error
		all := handmade(t, test.in, test.codec, 2, test.pages...)
		got := allocated(func() {
			var f *File
			if f, err = Open(all); err == nil && test.in == repeated {
				err = f.List("x", 3, func(int, []float64) error { return nil })
			} else if err == nil {
				err = f.Float64("x", func(int, float64) {})
			}
		})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if got > 1<<20 {
			t.Errorf("%s: %d bytes allocated", test.name, got)
		}
	}
}
