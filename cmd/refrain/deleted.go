package main

// isDeleted reports whether a post was deleted: events that show it are not replayed.
func (n *node) isDeleted(source, post string) bool {
	return n.workers[0].Deleted(source, post)
}
