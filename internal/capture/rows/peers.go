package rows

// Client and Server are what the two sides of the row's conversation call themselves,
// with their versions; "" where neither has said so.
func (r *Row) Client() string { return r.fromConn(func(c *conn) string { return c.Client.String() }) }

// Server is like Client.
func (r *Row) Server() string { return r.fromConn(func(c *conn) string { return c.Server.String() }) }

// ClientName and serverName are their names alone.
func (r *Row) ClientName() string { return r.fromConn(func(c *conn) string { return c.Client.Name }) }

func (r *Row) ServerName() string { return r.fromConn(func(c *conn) string { return c.Server.Name }) }

// Session is the hash in place of the id of the row's session, or the id itself where it is
// not hidden; "" where it has none.
func (r *Row) Session() string { return r.fromConn(func(c *conn) string { return c.Session }) }

// HasConn reports whether Conn is the number of a conversation: something crossed.
func (r *Row) HasConn() bool { return r.conn != nil }

func (r *Row) fromConn(what func(c *conn) string) string {
	if r.conn == nil {
		return ""
	}
	return what(r.conn)
}
