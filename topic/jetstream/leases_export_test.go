package jetstream

// Kill ends a membership as SIGKILL does: its keys stay.
func (l *Leases) Kill() {
	l.once.Do(func() {
		l.kill = true
		l.cancel()
	})
	<-l.done
}
