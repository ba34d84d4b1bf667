package pipeline

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// shares are the values that stages hold in common.
type shares struct {
	mu     sync.Mutex
	values map[string]*shared
	idle   *shared // the one that is kept though nobody uses it
}

type shared struct {
	key   string
	ready chan struct{} // closed when built
	v     any
	close func()
	err   error
	users int
}

func (s *shares) get(ctx context.Context, key string, build func(context.Context) (any, func(), error)) (any, func(), error) {
	for {
		s.mu.Lock()
		if s.values == nil {
			s.values = make(map[string]*shared)
		}
		sh, ok := s.values[key]
		if !ok {
			sh = &shared{key: key, ready: make(chan struct{})}
			s.values[key] = sh
		}
		sh.users++
		if s.idle == sh {
			s.idle = nil
		}
		s.mu.Unlock()
		if !ok {
			sh.v, sh.close, sh.err = build(ctx)
			close(sh.ready)
		}
		select {
		case <-sh.ready:
		case <-ctx.Done():
			s.put(sh)
			return nil, nil, ctx.Err()
		}
		if sh.err == nil {
			return sh.v, sync.OnceFunc(func() { s.put(sh) }), nil
		}
		s.put(sh)
		// Another stage's cancellation is not ours.
		if ok && ctx.Err() == nil && errors.Is(sh.err, context.Canceled) {
			continue
		}
		return nil, nil, sh.err
	}
}

// put gives a value back. The last one given back is kept for the next stage;
// the one before it is closed.
func (s *shares) put(sh *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.users--
	if sh.users > 0 {
		return
	}
	select {
	case <-sh.ready:
	default:
		return // still being built: whoever comes next finds it
	}
	if sh.err != nil {
		if s.values[sh.key] == sh {
			delete(s.values, sh.key)
		}
		return
	}
	if s.idle != nil && s.idle != sh {
		s.drop(s.idle)
	}
	s.idle = sh
}

func (s *shares) drop(sh *shared) {
	delete(s.values, sh.key)
	if sh.close != nil {
		sh.close()
	}
}

// closeAll closes what is left when the run ends.
func (s *shares) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		s.drop(s.values[key])
	}
	s.idle = nil
}
