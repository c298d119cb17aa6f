package usage

// Late is the cause of a context whose timer ended a login; it says which one.
type Late string

func (l Late) Error() string { return string(l) }
