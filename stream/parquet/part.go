package parquet

import (
	"io"
	"os"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"cancha/stream"
	"cancha/stream/internal/files"
)

const (
	// A group of rows is what readers take at once, and what the writer keeps in memory: as many rows as DuckDB's groups have.
	groupRows  = 122_880
	groupBytes = 64 << 20
	// dictionaryBytes is where a column of texts is no longer one of few texts.
	dictionaryBytes = 1 << 20
	// chunkRows are turned into the library's values at once.
	chunkRows = 1024
)

// part is one file that is being written, under a name of its own until it is whole.
type part struct {
	path string // that it will have
	file *os.File
	out  *pq.GenericWriter[any]
	enc  encoder
	rows int64

	group struct{ rows, bytes int64 } // the last one, so far
	chunk []pq.Row
}

// newPart makes the file.
func newPart(path string, columns []column, through func(io.Writer) io.Writer) (*part, error) {
	f, err := files.Partial(path)
	if err != nil {
		return nil, err
	}
	out := io.Writer(f)
	if through != nil {
		out = through(f)
	}
	return &part{path: path, file: f, enc: encoder{columns: columns}, out: pq.NewGenericWriter[any](out, schemaOf(columns),
		pq.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), pq.DictionaryMaxBytes(dictionaryBytes), pq.CreatedBy("cancha", "1", "stream/parquet"))}, nil
}

// write takes rows whose values fit.
func (p *part) write(rows *stream.Rows) error {
	for from := 0; from < rows.Len(); from += chunkRows {
		if err := p.writeChunk(rows, from, min(from+chunkRows, rows.Len())); err != nil {
			return err
		}
	}
	return nil
}

func (p *part) writeChunk(rows *stream.Rows, from, to int) error {
	if p.chunk == nil {
		p.chunk = make([]pq.Row, chunkRows)
	}
	p.enc.texts = p.enc.texts[:0]
	for i := from; i < to; i++ {
		p.chunk[i-from] = p.enc.row(p.chunk[i-from][:0], rows, i)
	}
	if _, err := p.out.WriteRows(p.chunk[:to-from]); err != nil {
		return err
	}
	p.rows += int64(to - from)
	p.group.rows += int64(to - from)
	p.group.bytes += int64(len(p.enc.texts) + 8*(to-from)*len(p.enc.columns))
	if p.group.rows < groupRows && p.group.bytes < groupBytes {
		return nil
	}
	p.group.rows, p.group.bytes = 0, 0
	return p.out.Flush()
}

// complete writes what is left, waits until all of it is on the disk, and gives the file its name. If that fails there is no file.
func (p *part) complete() error {
	if err := p.out.Close(); err != nil {
		p.drop()
		return err
	}
	return files.Complete(p.file, p.path)
}

// drop takes the file away.
func (p *part) drop() {
	p.file.Close()
	os.Remove(p.file.Name())
}
