package kafka

// Kill ends a membership as SIGKILL does: the connections end without a word, and nothing is asked any more.
func (g *Group) Kill() {
	if !g.leaving.Swap(true) {
		g.dialer.Close()
		_ = g.group.Close()
		close(g.left)
	}
	<-g.done
}
