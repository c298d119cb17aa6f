package bundle

// A Manifest is the description of a bundle in MANIFEST.json.
type Manifest struct {
	Version int `json:"mcpc-bundle"`
	// Mcpc is the version of the program that wrote the bundle, Recorded are the versions of the
	// programs that recorded, Protocols are the revisions of the conversations.
	Mcpc      string   `json:"mcpc"`
	Recorded  []string `json:"recordedBy"`
	Protocols []string `json:"protocols,omitempty"`
	// Filter are the words that picked the Exchanges.
	Filter    []string `json:"filter,omitempty"`
	Exchanges int      `json:"exchanges"`
	// Was are the numbers that the exchanges had in the recording, if they have different ones now.
	Was []string `json:"was,omitempty"`
	// Rules are the rules that secrets were hidden by.
	Rules []string `json:"rules"`
	// Hidden is the number of placeholders in the capture, Values the number of different ones. Now
	// counts the placeholders that this export added, by the rule that found the secret.
	Hidden int            `json:"hidden"`
	Values int            `json:"values"`
	Now    map[string]int `json:"hiddenNow,omitempty"`
	// Notes are remarks about the bundle that may surprise a reader.
	Notes []string `json:"notes,omitempty"`
	// Members are the other members of the archive.
	Members map[string]Member `json:"members"`
}

// A Member is the sha256 in hexadecimal and the size in bytes of a member.
type Member struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}
