package bundle

// A Manifest is what MANIFEST.json says of a bundle.
type Manifest struct {
	Version int `json:"mcpc-bundle"`
	// Mcpc is the version of the program that wrote the bundle, Recorded those of the
	// programs that recorded, Protocols the revisions that were spoken.
	Mcpc      string   `json:"mcpc"`
	Recorded  []string `json:"recordedBy"`
	Protocols []string `json:"protocols,omitempty"`
	// Filter are the words that picked the Exchanges.
	Filter    []string `json:"filter,omitempty"`
	Exchanges int      `json:"exchanges"`
	// Was are the numbers that the exchanges had in the recording, where they have others now.
	Was []string `json:"was,omitempty"`
	// Rules are those by which secrets were hidden.
	Rules []string `json:"rules"`
	// Hidden is how many placeholders the capture has, Values how many different ones, and
	// Now how many of them this export added, by what they were told.
	Hidden int            `json:"hidden"`
	Values int            `json:"values"`
	Now    map[string]int `json:"hiddenNow,omitempty"`
	// Notes say what is not as one may expect.
	Notes []string `json:"notes,omitempty"`
	// Members are the other members of the archive.
	Members map[string]Member `json:"members"`
}

// A Member is the sha256 in hexadecimal and the size in bytes of a member.
type Member struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}
