package gpu

import "cancha/runtime/gpu/driver"

// pin gives a buffer memory from the pool of pinned memory, from and to which copies take no detour; nil where there is no pool, or no
// room in it: any other memory will do.
func (s *Session) pin(b *store) driver.Memory {
	if s.config.Pinned == 0 || s.places[onGPU] == nil || s.places[onGPU].gone() != nil {
		return nil
	}
	pinner, ok := s.places[onGPU].device.(driver.Pinner)
	if !ok || !s.takePinned(b.bytes()) {
		return nil
	}
	slice, free, err := pinner.Pin(b.kind, b.n)
	if err != nil {
		s.givePinned(b.bytes())
		return nil
	}
	b.pinned = free
	m, err := s.places[onCPU].wrap(slice)
	if err != nil {
		_ = s.unpin(b) // the next memory will say why
		return nil
	}
	return m
}

// wrap makes a slice memory of the CPU.
func (p *place) wrap(slice any) (driver.Memory, error) {
	m, err := p.device.(driver.Wrapper).Wrap(slice)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken += int64(m.Len()) * int64(m.Type().Size())
	return m, nil
}

// unpin gives a buffer's pinned memory back, if it has any.
func (s *Session) unpin(b *store) error {
	if b.pinned == nil {
		return nil
	}
	free := b.pinned
	b.pinned = nil
	s.givePinned(b.bytes())
	return free()
}

func (s *Session) takePinned(bytes int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned+bytes > s.config.Pinned {
		return false
	}
	s.pinned += bytes
	return true
}

func (s *Session) givePinned(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned -= bytes
}
