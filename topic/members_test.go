package topic_test

import (
	"testing"

	"refrain/topic"
	"refrain/topic/conformance"
)

func TestMembers(t *testing.T) {
	conformance.RunMembership(t, func(t *testing.T) conformance.Group {
		members := topic.NewMembers(16)
		return conformance.Group{Parts: 16, Join: func(t *testing.T, member string) topic.Membership {
			m := members.Join(member)
			t.Cleanup(func() {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			})
			return m
		}}
	})
}
