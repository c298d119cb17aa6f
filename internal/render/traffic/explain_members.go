package traffic

// memberNotes are the notes for the members of messages.
var memberNotes = []noteRow{
	// The envelope.
	{path: "jsonrpc", note: "every message is JSON-RPC 2.0"},
	{role: "request", path: "id", note: "the request's id: the response has the same id"},
	{role: "response", path: "id"},
	{role: "ask", path: "id", note: "a server request: the client's response has the same id"},
	{
		role:   "request",
		method: "initialize",
		path:   "method",
		note:   "opens the session: names, capabilities and protocol revision of both sides",
	},
	{
		role:   "request",
		method: "server/discover",
		path:   "method",
		note:   "requests the server's name, capabilities and revisions; opens no session",
	},
	{role: "request", method: "tools/list", path: "method", note: "lists the tools"},
	{role: "request", method: "tools/call", path: "method", note: "calls one tool"},
	{
		role:   "request",
		method: "resources/read",
		path:   "method",
		note:   "reads one resource: the application selects resources, the model selects tools",
	},
	{role: "request", method: "prompts/get", path: "method", note: "gets one prompt: the user selects prompts"},
	{role: "request", method: "ping", path: "method", note: "checks that the other side responds"},
	{role: "request", path: "method", note: "the method"},
	{role: "ask", method: "elicitation/create", path: "method", note: "the server requests input from the user"},
	{
		role:   "ask",
		method: "sampling/createMessage",
		path:   "method",
		note:   "the server requests an answer of the client's model",
	},
	{role: "ask", method: "roots/list", path: "method", note: "the server requests the directories that it may use"},
	{role: "ask", path: "method", note: "the server's request"},
	{
		method: "notifications/initialized",
		path:   "method",
		note:   "the client is ready; without an id this is a notification, which has no response",
	},
	{
		method: "notifications/progress",
		path:   "method",
		note:   "progress; without an id this is a notification, which has no response",
	},
	{method: "notifications/message", path: "method", note: "a log message, for the user, not for the model"},
	{method: "notifications/cancelled", path: "method", note: "cancels a request; it gets no response"},
	{role: "notification", path: "method", note: "without an id this is a notification: it has no response"},

	// Members of _meta in a request.
	{path: "params _meta", note: "metadata of the request"},
	{path: "params _meta progressToken", note: "requests progress notifications, which will carry this token"},
	{
		path: "params _meta io.modelcontextprotocol/protocolVersion",
		note: "the protocol revision; sent with each request, because the server keeps no session",
	},
	{
		path: "params _meta io.modelcontextprotocol/clientCapabilities",
		note: "the client's capabilities: the server may request only what they declare",
	},
	{path: "params _meta io.modelcontextprotocol/clientInfo", note: "the client's name; for display and logs only"},
	{
		path: "params _meta io.modelcontextprotocol/logLevel",
		note: "requests log messages of this level and above during the request",
	},
	{path: "params _meta io.modelcontextprotocol/subscriptionId", note: "the id of the request that subscribed"},

	// Requests.
	{
		role:   "request",
		method: "initialize",
		path:   "params protocolVersion",
		note:   "the revision that the client proposes; the server's response decides",
	},
	{
		role:   "request",
		method: "initialize",
		path:   "params capabilities",
		note:   "the client's capabilities: the server may request only what they declare",
	},
	{
		role:   "request",
		method: "initialize",
		path:   "params clientInfo",
		note:   "the client's name; for display and logs only",
	},
	{role: "request", method: "tools/call", path: "params name", note: "the tool's name"},
	{
		role:   "request",
		method: "tools/call",
		path:   "params arguments",
		note:   "the tool's input: it must match the inputSchema",
	},
	{role: "request", method: "prompts/get", path: "params name", note: "the prompt's name"},
	{
		role:   "request",
		method: "prompts/get",
		path:   "params arguments",
		note:   "the prompt's arguments: every value is a string",
	},
	{role: "request", path: "params uri", note: "the resource's URI"},
	{role: "request", path: "params cursor", note: "nextCursor of the previous page, unchanged"},
	{
		role: "request",
		path: "params inputResponses",
		note: "the responses to the server's input requests, by name; the request is sent again with them",
	},
	{role: "request", path: "params requestState", note: "opaque server state, returned unchanged"},
	{role: "request", path: "params", note: "the method's parameters"},

	// The results of tools/call.
	{
		role:   "response",
		method: "tools/call",
		path:   "result",
		note:   "a result: no protocol error; isError reports a tool error",
	},
	{
		role:   "response",
		method: "tools/call",
		path:   "result content",
		note:   "the tool's output for the model: an array of content blocks",
	},
	{
		role:   "response",
		method: "tools/call",
		path:   "result content [] type",
		note:   "text, image, audio, resource_link or resource",
	},
	{role: "response", method: "tools/call", path: "result content [] text", note: "always a string; JSON in it is text"},
	{role: "response", method: "tools/call", path: "result content [] data", note: "bytes, in base64"},
	{
		role:   "response",
		method: "tools/call",
		path:   "result content [] annotations",
		note:   "audience and priority; hints only",
	},
	{role: "response", method: "tools/call", path: "result structuredContent"},
	{
		role:   "response",
		method: "tools/call",
		path:   "result isError",
		value:  "true",
		note: "a tool execution error: the protocol worked, the tool failed; " +
			"the model reads content and can correct itself",
	},
	{
		role:   "response",
		method: "tools/call",
		path:   "result isError",
		value:  "false",
		note:   "no tool error; same as an absent key",
	},
	{role: "response", method: "tools/call", path: "result isError", note: "must be true or false"},

	// The protocol channel.
	{
		path: "error",
		note: "a protocol error: the request failed. A tool that ran and failed reports result.isError instead",
	},
	{path: "error code"},
	{path: "error message", note: "a short description; programs use the code"},
	{path: "error data", note: "additional data, defined by the server"},

	// Tasks. In the older revision their members are below "task".
	{
		role:   "request",
		method: "tools/call",
		path:   "params task",
		note:   "run it as a task: respond at once with its id, and keep the result for ttl milliseconds",
	},
	{role: "request", method: "tasks/*", path: "params taskId", note: "the task's id, as given by the server"},
	{
		role:   "response",
		method: "tools/call",
		path:   "result task",
		note:   "not the final result: the server continues, and tasks/result returns it",
	},
	{role: "response", method: "tools/call", path: "result task taskId", note: "the task's id for tasks/get"},
	{
		role:   "response",
		method: "tools/call",
		path:   "result task ttl",
		note:   "how long the server keeps it, in milliseconds after createdAt",
	},
	{role: "response", method: "tools/call", path: "result task pollInterval", note: "polling interval in milliseconds"},
	{
		role:  "response",
		path:  "result resultType",
		value: `"task"`,
		note:  "not the final result: the server continues, and tasks/get returns the result when it is available",
	},
	{role: "response", path: "result taskId", note: "the task's id"},
	{
		role:   "response",
		method: "tasks/*",
		path:   "result status",
		note:   "working and input_required may change; completed, failed and cancelled are final",
	},
	{role: "response", path: "result pollIntervalMs", note: "polling interval in milliseconds"},
	{
		role:   "response",
		method: "tasks/*",
		path:   "result ttlMs",
		note:   "how long the server keeps the task, in milliseconds after createdAt; null means no limit",
	},
	{
		role:   "response",
		method: "tools/call",
		path:   "result ttlMs",
		note:   "how long the server keeps the task, in milliseconds after createdAt; null means no limit",
	},
	{
		role:   "response",
		method: "tasks/*",
		path:   "result inputRequests",
		note:   "the task's input requests by name; tasks/update sends the responses",
	},
	{role: "response", method: "tasks/*", path: "result result", note: "the result of the call"},
	{role: "response", method: "tasks/*", path: "result error", note: "the protocol error of the call"},

	// Members of any result.
	{
		role:  "response",
		path:  "result resultType",
		value: `"input_required"`,
		note:  "not the final result: the server requests input first",
	},
	{
		role: "response",
		path: "result resultType",
		note: "\"complete\" is the final result; \"input_required\" would request input",
	},
	{
		role: "response",
		path: "result inputRequests",
		note: "the server's input requests by name; the responses go into params.inputResponses",
	},
	{role: "response", path: "result requestState", note: "opaque server state: return it unchanged"},
	{role: "response", path: "result ttlMs", note: "how long this may be cached, in milliseconds; 0 means not at all"},
	{
		role: "response",
		path: "result cacheScope",
		note: "which caches may store it: \"private\" only for this user, \"public\" for all users",
	},
	{
		role: "response",
		path: "result nextCursor",
		note: "there is another page: send this as params.cursor, unchanged; " +
			"the list ends without nextCursor, not with an empty one",
	},
	{role: "response", path: "result _meta", note: "metadata of the result"},
	{
		role: "response",
		path: "result _meta io.modelcontextprotocol/serverInfo",
		note: "the server's name; for display and logs only",
	},

	// The handshake.
	{role: "response", method: "initialize", path: "result protocolVersion", note: "the negotiated revision"},
	{
		role:   "response",
		method: "server/discover",
		path:   "result supportedVersions",
		note:   "the server's revisions: the client selects one for each request",
	},
	{
		role: "response",
		path: "result capabilities",
		note: "the server's capabilities: a present key means supported, whatever its value",
	},
	{role: "response", path: "result capabilities * listChanged", note: "the server reports changes of this list"},
	{
		role: "response",
		path: "result capabilities resources subscribe",
		note: "clients can subscribe to changes of a resource",
	},
	{role: "response", path: "result serverInfo", note: "the name and version of the server; for display and logs only"},
	{
		role: "response",
		path: "result instructions",
		note: "the server's instructions for the model; as trustworthy as the server",
	},

	// tools/list.
	{role: "response", path: "result tools", note: "the tools; a model selects from all of them"},
	{role: "response", path: "result tools [] name", note: "the tool's name for tools/call"},
	{role: "response", path: "result tools [] title", note: "display name"},
	{
		role: "response",
		path: "result tools [] description",
		note: "tells the model when to call the tool; as trustworthy as the server",
	},
	{
		role: "response",
		path: "result tools [] inputSchema",
		note: "JSON Schema of params.arguments: the model follows it, and mcpc validates against it before sending",
	},
	{role: "response", path: "result tools [] inputSchema $schema", note: "the dialect of JSON Schema"},
	{role: "response", path: "result tools [] inputSchema properties", note: "the arguments by name"},
	{role: "response", path: "result tools [] inputSchema properties * description", note: "also read by the model"},
	{role: "response", path: "result tools [] inputSchema required", note: "required arguments; others are optional"},
	{
		role:  "response",
		path:  "result tools [] inputSchema additionalProperties",
		value: "false",
		note:  "other names are rejected",
	},
	{
		role: "response",
		path: "result tools [] outputSchema",
		note: "JSON Schema of result.structuredContent; mcpc validates each result against it",
	},
	{role: "response", path: "result tools [] annotations", note: "hints about the tool, as trustworthy as the server"},
	{
		role: "response",
		path: "result tools [] annotations readOnlyHint",
		note: "whether it only reads; the default is false",
	},
	{
		role: "response",
		path: "result tools [] annotations destructiveHint",
		note: "whether it may be destructive; the default is true",
	},
	{
		role: "response",
		path: "result tools [] annotations idempotentHint",
		note: "whether a repeated call has no further effect; the default is false",
	},
	{
		role: "response",
		path: "result tools [] annotations openWorldHint",
		note: "whether it interacts with external systems; the default is true",
	},

	// The other lists and reads.
	{role: "response", path: "result resources", note: "the resources; templates have a separate list"},
	{role: "response", path: "result resources [] uri", note: "the URI for resources/read"},
	{role: "response", path: "result resourceTemplates", note: "URI templates: expand and read the URI"},
	{role: "response", path: "result contents", note: "the contents: one URI may have several"},
	{role: "response", path: "result contents [] blob", note: "bytes, in base64"},
	{role: "response", path: "result prompts", note: "the prompts"},
	{role: "response", path: "result prompts [] arguments", note: "the prompt's arguments; prompts have no JSON Schema"},
	{role: "response", path: "result messages", note: "the prompt's messages for a model"},
	{role: "response", path: "result", note: "a result, not an error"},

	// Notifications, and requests of the server.
	{method: "notifications/progress", path: "params progressToken", note: "the request's progress token"},
	{method: "notifications/progress", path: "params progress", note: "increases each time"},
	{method: "notifications/progress", path: "params total", note: "the final value, if known"},
	{
		method: "notifications/message",
		path:   "params level",
		note:   "severity: debug, info, notice, warning, error, critical, alert, emergency",
	},
	{method: "notifications/message", path: "params logger", note: "the part of the server that logs"},
	{method: "notifications/message", path: "params data", note: "the message: any JSON"},
	{method: "notifications/cancelled", path: "params requestId", note: "the cancelled request's id"},
	{
		role: "ask",
		path: "params requestedSchema",
		note: "JSON Schema of the form that a person fills in: flat, and only plain values",
	},
	{role: "ask", path: "params message", note: "the message for the user"},
}
