package gateway

// Logins returns the number of logins that run or have failed.
func (g *Gateway) Logins() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.logins)
}
