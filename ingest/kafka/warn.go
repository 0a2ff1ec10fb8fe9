package kafka

import (
	"time"

	"golang.org/x/time/rate"
)

// warnInterval is between two warnings of the same message: brokers may be away for hours.
const warnInterval = 30 * time.Second

func (s *Source) warn(message string, args ...any) {
	limit, _ := s.warnings.LoadOrStore(message, &rate.Sometimes{Interval: warnInterval})
	limit.(*rate.Sometimes).Do(func() {
		s.cfg.Logger.Warn(message, append([]any{"group", s.cfg.Group, "brokers", s.conn.String()}, args...)...)
	})
}
