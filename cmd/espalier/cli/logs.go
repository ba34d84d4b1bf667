package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// A logHandler prints log records of stages through a printer: warnings
// always, all from Info up as JSON.
type logHandler struct {
	print func(line string)
	json  bool
	attrs []slog.Attr
}

func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn || h.json && l >= slog.LevelInfo
}

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := append([]slog.Attr{}, h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	if h.json {
		rec := map[string]any{"time": r.Time.UTC(), "level": strings.ToLower(r.Level.String()), "message": r.Message}
		for _, a := range attrs {
			rec[a.Key] = a.Value.Resolve().Any()
		}
		line, err := jsonLine(rec)
		if err != nil {
			return err
		}
		h.print(strings.TrimSuffix(string(line), "\n"))
		return nil
	}
	var b strings.Builder
	b.WriteString(strings.ToLower(r.Level.String()) + ": " + r.Message)
	for _, a := range attrs {
		fmt.Fprintf(&b, " %s=%s", a.Key, a.Value.Resolve())
	}
	h.print(b.String())
	return nil
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &c
}

// WithGroup leaves names as they are: stages do not group.
func (h *logHandler) WithGroup(string) slog.Handler { return h }
