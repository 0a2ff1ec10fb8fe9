package nats

// Crash breaks the connection and forgets everything, as a process does that is killed.
func (s *Source) Crash() {
	s.conn.Close()
	s.cancel()
	<-s.done
	s.metrics.close()
}
