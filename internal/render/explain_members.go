package render

// memberNotes are the notes for the members of messages. A row without a note
// has one that depends on the value, see live.
var memberNotes = []noteRow{
	// The envelope.
	{path: "jsonrpc", note: "every message is JSON-RPC 2.0 and says so"},
	{role: "request", path: "id", note: "the request's number: its answer carries the same one"},
	{role: "response", path: "id"},
	{role: "ask", path: "id", note: "now the server asks: the client's answer carries this number"},
	{role: "request", method: "initialize", path: "method", note: "opens the conversation: who are you, what can you do, which revision do we speak"},
	{role: "request", method: "server/discover", path: "method", note: "asks who the server is and which revisions it speaks; opens nothing"},
	{role: "request", method: "tools/list", path: "method", note: "asks which tools there are"},
	{role: "request", method: "tools/call", path: "method", note: "runs one tool"},
	{role: "request", method: "resources/read", path: "method", note: "reads one resource: data that an application picks, where tools are picked by the model"},
	{role: "request", method: "prompts/get", path: "method", note: "fills in one prompt: a text that a person picks"},
	{role: "request", method: "ping", path: "method", note: "are you there?"},
	{role: "request", path: "method", note: "what is asked"},
	{role: "ask", method: "elicitation/create", path: "method", note: "the server has a question for the person"},
	{role: "ask", method: "sampling/createMessage", path: "method", note: "the server borrows the client's model"},
	{role: "ask", method: "roots/list", path: "method", note: "the server asks where it may look"},
	{role: "ask", path: "method", note: "what the server asks of the client"},
	{method: "notifications/initialized", path: "method", note: "the client is ready; without an id this is a notification, which nobody answers"},
	{method: "notifications/progress", path: "method", note: "how far it is; without an id this is a notification, which nobody answers"},
	{method: "notifications/message", path: "method", note: "a line of the server's log, for the person, not for the model"},
	{method: "notifications/cancelled", path: "method", note: "stop working on a request; no answer to it will come"},
	{role: "notification", path: "method", note: "without an id this is a notification: nobody answers it"},

	// What stands in _meta of a request.
	{path: "params _meta", note: "about the request, and not part of what is asked"},
	{path: "params _meta progressToken", note: "asks for progress: each progress notification will carry this token"},
	{path: "params _meta io.modelcontextprotocol/protocolVersion", note: "the revision of MCP; it stands in each request, because the server remembers nothing between two"},
	{path: "params _meta io.modelcontextprotocol/clientCapabilities", note: "what this client can do: the server may ask it for nothing else"},
	{path: "params _meta io.modelcontextprotocol/clientInfo", note: "who is calling; for people and logs, never for a decision"},
	{path: "params _meta io.modelcontextprotocol/logLevel", note: "send log messages from this level up while the request runs"},
	{path: "params _meta io.modelcontextprotocol/subscriptionId", note: "the id of the request that asked to be told"},

	// Requests.
	{role: "request", method: "initialize", path: "params protocolVersion", note: "the revision that the client would like; the server's answer decides"},
	{role: "request", method: "initialize", path: "params capabilities", note: "what this client can do: the server may ask it for nothing else"},
	{role: "request", method: "initialize", path: "params clientInfo", note: "who is calling; for people and logs, never for a decision"},
	{role: "request", method: "tools/call", path: "params name", note: "which tool, spelled as tools/list spells it"},
	{role: "request", method: "tools/call", path: "params arguments", note: "the tool's input: it must fit the inputSchema, which mcpc checks before it sends"},
	{role: "request", method: "prompts/get", path: "params name", note: "which prompt, spelled as prompts/list spells it"},
	{role: "request", method: "prompts/get", path: "params arguments", note: "what fills the blanks: every value is a string"},
	{role: "request", path: "params uri", note: "which resource, spelled as the server spells it"},
	{role: "request", path: "params cursor", note: "nextCursor of the page before, unread and unchanged"},
	{role: "request", path: "params inputResponses", note: "the answers to what the server asked, under its names; the request is sent again with them"},
	{role: "request", path: "params requestState", note: "the server's own note to itself, given back unread and unchanged"},
	{role: "request", path: "params", note: "what the method needs to know"},

	// The results of tools/call.
	{role: "response", method: "tools/call", path: "result", note: "a result: the protocol worked; only isError would say that the tool failed"},
	{role: "response", method: "tools/call", path: "result content", note: "what the tool says to the model: always an array of blocks"},
	{role: "response", method: "tools/call", path: "result content [] type", note: "text, image, audio, resource_link or resource"},
	{role: "response", method: "tools/call", path: "result content [] text", note: "a string, even where it holds JSON"},
	{role: "response", method: "tools/call", path: "result content [] data", note: "bytes, in base64"},
	{role: "response", method: "tools/call", path: "result content [] annotations", note: "for whom, and how much it matters; hints only"},
	{role: "response", method: "tools/call", path: "result structuredContent"},
	{role: "response", method: "tools/call", path: "result isError", is: "true", note: "this key makes it a tool execution error: the protocol worked, the tool failed; a model reads content and corrects itself"},
	{role: "response", method: "tools/call", path: "result isError", is: "false", note: "the tool reports no failure; leaving the key out says the same"},
	{role: "response", method: "tools/call", path: "result isError", note: "must be true or false"},

	// The protocol channel.
	{path: "error", note: "the protocol channel: the request itself failed. a tool that ran and failed says result.isError instead"},
	{path: "error code"},
	{path: "error message", note: "one sentence for people; programs go by the code"},
	{path: "error data", note: "whatever the server adds, in a shape of its own"},

	// What any result may hold.
	{role: "response", path: "result resultType", is: `"input_required"`, note: "not the answer yet: the server asks something first"},
	{role: "response", path: "result resultType", note: "\"complete\" is the answer; \"input_required\" would be a question to the client"},
	{role: "response", path: "result inputRequests", note: "what the server wants to know, each question under a name of its own; the answers go back in params.inputResponses"},
	{role: "response", path: "result requestState", note: "the server's own note to itself: give it back unread and unchanged"},
	{role: "response", path: "result ttlMs", note: "for how many milliseconds this may be taken for current; 0 is not at all"},
	{role: "response", path: "result cacheScope", note: "who may keep it: \"private\" only this user, \"public\" a cache for all"},
	{role: "response", path: "result nextCursor", note: "there is another page: send this back as params.cursor, unread; no nextCursor is the end, an empty one is not"},
	{role: "response", path: "result _meta", note: "about the answer, and not part of it"},
	{role: "response", path: "result _meta io.modelcontextprotocol/serverInfo", note: "who answered; for people and logs, never for a decision"},

	// Opening a conversation.
	{role: "response", method: "initialize", path: "result protocolVersion", note: "the revision that both speak from now on"},
	{role: "response", method: "server/discover", path: "result supportedVersions", note: "the revisions that the server speaks: the client picks one for each request"},
	{role: "response", path: "result capabilities", note: "what the server can do: a key that is there is a yes, whatever stands in it"},
	{role: "response", path: "result capabilities * listChanged", note: "the server tells when this list changes"},
	{role: "response", path: "result capabilities resources subscribe", note: "a client can ask to be told when one resource changes"},
	{role: "response", path: "result serverInfo", note: "who answers; for people and logs, never for a decision"},
	{role: "response", path: "result instructions", note: "the server's advice to the model on how to use it; as trustworthy as the server"},

	// tools/list.
	{role: "response", path: "result tools", note: "one entry for each tool; a model gets all of them to choose from"},
	{role: "response", path: "result tools [] name", note: "what tools/call wants in params.name"},
	{role: "response", path: "result tools [] title", note: "the name for people"},
	{role: "response", path: "result tools [] description", note: "what a model goes by when it decides whether to call; as trustworthy as the server"},
	{role: "response", path: "result tools [] inputSchema", note: "JSON Schema of params.arguments: a model writes arguments after it, and mcpc checks them against it before it sends"},
	{role: "response", path: "result tools [] inputSchema $schema", note: "the dialect of JSON Schema"},
	{role: "response", path: "result tools [] inputSchema properties", note: "the arguments by name"},
	{role: "response", path: "result tools [] inputSchema properties * description", note: "the model reads this too"},
	{role: "response", path: "result tools [] inputSchema required", note: "these must be given, the others may"},
	{role: "response", path: "result tools [] inputSchema additionalProperties", is: "false", note: "any other name is refused"},
	{role: "response", path: "result tools [] outputSchema", note: "JSON Schema of result.structuredContent: what a program may rely on; mcpc checks each result against it"},
	{role: "response", path: "result tools [] annotations", note: "the server's own word on the tool: hints, not to be trusted more than the server"},
	{role: "response", path: "result tools [] annotations readOnlyHint", note: "it says that it changes nothing; no hint means it may"},
	{role: "response", path: "result tools [] annotations destructiveHint", note: "whether what it changes may be lost; no hint means yes"},
	{role: "response", path: "result tools [] annotations idempotentHint", note: "whether calling it twice is as good as once; no hint means no"},
	{role: "response", path: "result tools [] annotations openWorldHint", note: "whether it reaches beyond the server's own data; no hint means yes"},

	// The other lists and reads.
	{role: "response", path: "result resources", note: "one entry for each resource; templates have a list of their own"},
	{role: "response", path: "result resources [] uri", note: "what resources/read wants in params.uri; only the server knows how to read it"},
	{role: "response", path: "result resourceTemplates", note: "patterns of resources: fill in the blanks and read the URI"},
	{role: "response", path: "result contents", note: "what was read: one URI may bring several parts"},
	{role: "response", path: "result contents [] blob", note: "bytes, in base64"},
	{role: "response", path: "result prompts", note: "one entry for each prompt"},
	{role: "response", path: "result prompts [] arguments", note: "the blanks to fill in; prompts have no JSON Schema"},
	{role: "response", path: "result messages", note: "the prompt as a conversation, ready for a model"},
	{role: "response", path: "result", note: "a result, so that this is no error"},

	// Notifications, and what the server asks.
	{method: "notifications/progress", path: "params progressToken", note: "the token that the request asked with: this tells which request it is about"},
	{method: "notifications/progress", path: "params progress", note: "goes up each time"},
	{method: "notifications/progress", path: "params total", note: "where it ends, if the server knows"},
	{method: "notifications/message", path: "params level", note: "how grave: debug, info, notice, warning, error, critical, alert, emergency"},
	{method: "notifications/message", path: "params logger", note: "which part of the server speaks"},
	{method: "notifications/message", path: "params data", note: "what it says: any JSON"},
	{method: "notifications/cancelled", path: "params requestId", note: "the request that is meant"},
	{role: "ask", path: "params requestedSchema", note: "JSON Schema of the form that a person fills in: flat, and only plain values"},
	{role: "ask", path: "params message", note: "the question, for a person"},
}
