package view

// A Server is a server of the Home view: a configured or a remembered one, or the demo server. All
// texts but Name are on one line and have no control characters.
type Server struct {
	// Name names the server in the form of -s.
	Name string `json:"name"`
	// From is the program that configures the server.
	From string `json:"from"`
	Health
	// Commands are command lines to copy.
	Commands []ServerCommand `json:"commands"`
}

// A Health is the result of a check of a server, in the words of mcpc servers --check.
type Health struct {
	// State is "" before the first check, or "ok", "needs login", "not trusted".
	State  string `json:"state,omitempty"`
	Asking bool   `json:"asking,omitempty"` // the server has not responded yet
	Failed bool   `json:"failed,omitempty"`
	// Text is the state with the reason.
	Text     string `json:"text,omitempty"`
	Revision string `json:"protocol,omitempty"`
	// Tools and Seconds are nil if no list of tools was received.
	Tools   *int     `json:"tools,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"`
	// Help is a command line that helps; "" if the state is ok.
	Help string `json:"help,omitempty"`
}

// A ServerCommand is a command line about a server. Key is a letter for a menu.
type ServerCommand struct {
	Key  string `json:"key"`
	Name string `json:"name"`
	Line string `json:"line"`
}
