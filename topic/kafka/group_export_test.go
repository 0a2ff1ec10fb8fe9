package kafka

// Kill ends a membership as SIGKILL does: the connections end without a word, and nothing is asked any more.
func (g *Group) Kill() {
	g.once.Do(func() {
		g.dialer.Close()
		_ = g.group.Close()
	})
	<-g.done
}
