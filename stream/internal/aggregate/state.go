package aggregate

import "cancha/stream/internal/changelog"

// Append appends all that the cell holds, to the last bit.
func (c *Cell) Append(dst []byte) []byte {
	for _, n := range c.Shares {
		dst = changelog.AppendInt(dst, n)
	}
	for _, n := range c.counts {
		dst = changelog.AppendInt(dst, n)
	}
	for i := range c.sums {
		dst = c.sums[i].append(dst)
	}
	for i := range c.samples {
		dst = c.samples[i].append(dst)
	}
	for _, o := range c.others {
		dst = o.append(dst)
	}
	return dst
}

// Load reads a cell that Append has written. What is wrong with the bytes, they tell by Ok.
func (s *Set) Load(b *changelog.Bytes) *Cell {
	c := s.New()
	for i := range c.Shares {
		c.Shares[i] = b.Int()
	}
	for i := range c.counts {
		c.counts[i] = b.Int()
	}
	for i := range c.sums {
		c.sums[i].load(b)
	}
	for i := range c.samples {
		c.samples[i].load(b)
	}
	for _, o := range c.others {
		o.load(b)
	}
	return c
}

func (s *sum) append(dst []byte) []byte {
	if dst = changelog.AppendInt(dst, s.n); s.n == 0 {
		return dst
	}
	return changelog.AppendFloat(changelog.AppendFloat(changelog.AppendFloat(dst, s.sum), s.least), s.greatest)
}

func (s *sum) load(b *changelog.Bytes) {
	if s.n = b.Int(); s.n != 0 {
		s.sum, s.least, s.greatest = b.Float(), b.Float(), b.Float()
	}
}

// append writes the count as a negative number: a positive one is that of a snapshot that told no sum.
func (m *Moments) append(dst []byte) []byte {
	if dst = changelog.AppendInt(dst, -m.n); m.n == 0 {
		return dst
	}
	dst = changelog.AppendFloat(changelog.AppendFloat(changelog.AppendFloat(dst, m.sum), m.min), m.max)
	return changelog.AppendFloat(changelog.AppendFloat(dst, m.mean), m.m2)
}

func (m *Moments) load(b *changelog.Bytes) {
	n := b.Int()
	if m.n = max(n, -n); n < 0 {
		m.sum = b.Float()
	}
	if n != 0 {
		m.min, m.max, m.mean, m.m2 = b.Float(), b.Float(), b.Float(), b.Float()
	}
	if n > 0 {
		m.sum = m.mean * float64(n)
	}
}

func (e *edge) append(dst []byte) []byte {
	return e.v.AppendBinary(changelog.AppendInt(changelog.AppendBool(dst, e.any), e.at))
}

func (e *edge) load(b *changelog.Bytes) { e.any, e.at, e.v = b.Bool(), b.Int(), b.Value() }

func (o *bound) append(dst []byte) []byte { return o.v.AppendBinary(dst) }
func (o *bound) load(b *changelog.Bytes)  { o.v = b.Value() }

func (d *distinct) append(dst []byte) []byte {
	dst = changelog.AppendText(dst, string(d.registers))
	dst = changelog.AppendCount(dst, len(d.exact))
	for h := range d.exact {
		dst = changelog.AppendInt(dst, int64(h))
	}
	return dst
}

func (d *distinct) load(b *changelog.Bytes) {
	if registers := b.Text(); len(registers) == 1<<registerBits {
		d.registers, d.exact = []uint8(registers), nil
	}
	for range b.Count() {
		d.take(uint64(b.Int()))
	}
}

func (s *quantile) append(dst []byte) []byte {
	dst = changelog.AppendInt(changelog.AppendInt(dst, s.n), s.zero)
	for _, side := range []map[int]int64{s.above, s.below} {
		dst = changelog.AppendCount(dst, len(side))
		for bucket, n := range side {
			dst = changelog.AppendInt(changelog.AppendInt(dst, int64(bucket)), n)
		}
	}
	return dst
}

func (s *quantile) load(b *changelog.Bytes) {
	s.n, s.zero = b.Int(), b.Int()
	for _, side := range []map[int]int64{s.above, s.below} {
		for range b.Count() {
			bucket := int(b.Int())
			side[bucket] = b.Int()
		}
	}
}

func (s *top) append(dst []byte) []byte {
	dst = changelog.AppendCount(dst, len(s.counts))
	for _, c := range s.counts {
		dst = changelog.AppendInt(c.v.AppendBinary(dst), c.n)
	}
	return dst
}

func (s *top) load(b *changelog.Bytes) {
	for range b.Count() {
		c := &counted{v: b.Value(), n: b.Int()}
		s.know(string(c.v.AppendKey(nil)), c)
	}
}

func (s *collection) append(dst []byte) []byte { return changelog.AppendRow(dst, s.values) }

func (s *collection) load(b *changelog.Bytes) {
	if s.values, s.bytes = b.Row(-1), 0; len(s.values) > s.limit {
		b.Refuse() // add and merge keep no more: it is of another query, with another limit
		s.values = s.values[:s.limit]
	}
	for _, v := range s.values {
		s.bytes += v.Size()
	}
}
