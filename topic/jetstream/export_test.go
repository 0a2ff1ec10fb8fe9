package jetstream

// DropConnection makes the server close the connection of its topics, as it does to a client that is too slow.
func (s *Server) DropConnection() error {
	id, err := s.conn.GetClientID()
	if err != nil {
		return err
	}
	return s.nats.DisconnectClientByID(id)
}
