"""Where does a file break the protocol? Its functions explored, and hazards filed with their places."""
