package sigstore

// views are the occurrences of the groups that were looked at last.
type views struct {
	slots [3]viewSlot
	next  int
}

// viewSlot remembers whose occurrences a view shows.
type viewSlot struct {
	of Group
	view
}

// slot is the group's, or one to be filled. It stays the group's until that of the second other group after it.
func (v *views) slot(g Group) *viewSlot {
	i := 0
	for i < len(v.slots) && v.slots[i].of != g {
		i++
	}
	if i == len(v.slots) {
		i = v.next
	}
	v.next = (i + 1) % len(v.slots)
	return &v.slots[i]
}

// invalidate empties all slots: groups have moved or changed.
func (v *views) invalidate() {
	for i := range v.slots {
		v.slots[i].of = Group{}
	}
}
