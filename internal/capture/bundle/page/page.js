// The page of a bundle. What was recorded is a stranger's: it becomes text nodes and nothing
// else. There is no request, no storage and no frame.
"use strict";
(() => {
	const data = JSON.parse(document.getElementById("data").textContent);
	const byId = (id) => document.getElementById(id);
	const pageSize = 500;
	const views = ["list", "detail", "report", "about"];
	let shown = data.exchanges; // those that fit the filter
	let most = pageSize; // how many of them have a row
	let selected = 0;

	// make makes an element: its attributes by name, and its children, of which a string is text.
	function make(name, attributes, ...children) {
		const node = document.createElement(name);
		for (const [key, value] of Object.entries(attributes || {})) {
			if (typeof value === "function") node.addEventListener(key, value);
			else if (value !== undefined) node.setAttribute(key, value);
		}
		node.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
		return node;
	}

	const visible = (text) => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
		(c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
	const time = (text) => new Date(text).toISOString().slice(11, 23);
	const isBad = (channel) => !["ok", "open", "cancelled", "probe"].includes(channel);

	function took(seconds) {
		if (!seconds) return "";
		if (seconds < 1) return (seconds * 1000).toPrecision(3).replace(/\.?0+$/, "") + " ms";
		return seconds.toPrecision(3) + " s";
	}

	// pretty indents JSON. Numbers keep their digits, so that it works on the text.
	function pretty(text) {
		try { JSON.parse(text); } catch { return null; }
		let out = "", depth = 0, opened = false; // out is only added to: each look at it would copy it
		const line = () => "\n" + "  ".repeat(Math.min(depth, 100));
		for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+/g)) {
			const closes = token === "}" || token === "]";
			if (closes) depth--;
			if (opened !== closes) out += line();
			opened = token === "{" || token === "[";
			if (opened) depth++;
			out += token === ":" ? ": " : token;
			if (token === ",") out += line();
		}
		return out;
	}

	// message shows a body, pretty or as it crossed.
	function message(title, body) {
		const box = make("div", {}, make("h3", {}, title));
		const indented = body.cut ? null : pretty(body.text);
		const pre = make("pre", { tabindex: "0" }, visible(indented ?? body.text));
		if (indented !== null && indented !== body.text) {
			let raw = false;
			const button = make("button", { type: "button", "aria-pressed": "false", click: () => {
				raw = !raw;
				button.setAttribute("aria-pressed", String(raw));
				pre.textContent = visible(raw ? body.text : indented);
			} }, "Raw");
			box.append(button);
		}
		box.append(pre);
		if (body.cut) box.append(make("p", { class: "faint" }, `Only ${body.text.length} characters of ${body.bytes} bytes are shown. All of it: ${body.cut}`));
		return box;
	}

	function facts(pairs) {
		const list = make("dl");
		for (const [name, value] of pairs) {
			if (value !== undefined && value !== null && value !== "") list.append(make("dt", {}, name), make("dd", {}, visible(value)));
		}
		return list;
	}

	function frame(f) {
		const side = f.dir === "sent" ? "client \u2192 server" : "server \u2192 client";
		if (f.head) {
			const fields = (f.head.fields || []).map(([name, value]) => name + ": " + value);
			return make("div", {}, make("h3", {}, `${side}: ${visible(f.head.line)}`), make("pre", { tabindex: "0" }, visible(fields.join("\n"))));
		}
		if (f.kind === "closed") return make("p", {}, visible(f.note));
		const what = [f.kind, f.event && `event ${f.event}`, f.id && `id ${f.id}`, f.note].filter(Boolean).join(", ");
		if (!f.body) return make("p", {}, `${side}: ${visible(what)}`);
		return message(`${side}: ${visible(what)}, ${time(f.time)}`, f.body);
	}

	function detail(x) {
		const e = x.exchange, box = byId("detail");
		const node = [make("p", {}, make("button", { type: "button", id: "back", click: () => view("list") }, "\u2190 All exchanges"))];
		node.push(make("h2", {}, visible(`#${e.number}${x.was ? ` (was #${x.was})` : ""} ${e.method} ${e.name || ""} ${e.channel}`)));
		node.push(facts([["Server", e.target], ["Server info", e.server], ["Client", e.client], ["Time", e.time], ["Took", took(e.seconds)], ["Outcome", e.channel],
			["JSON-RPC error", e.code], ["HTTP status", e.http], ["Protocol", e.protocol], ["Request id", e.id], ["Asked by", e.dir === "received" ? "the server" : ""],
			["Notes", x.notes], ["Message", e.text], ["Bytes", `${e.sent} sent, ${e.received} received`]]));
		if (x.findings) node.push(make("h3", {}, "Findings"), make("ul", {}, ...x.findings.map((f) => make("li", {}, visible(`${f.level}: ${f.text} (${f.rule})`)))));
		if (x.request) node.push(message("Request", x.request));
		const between = (x.frames || []).filter((f) => !f.head), heads = (x.frames || []).filter((f) => f.head);
		if (between.length) node.push(make("h2", {}, "In between"), ...between.map(frame));
		node.push(x.response ? message("Response", x.response) : make("p", {}, "No response."));
		if (heads.length) node.push(make("h2", {}, "HTTP"), ...heads.map(frame));
		box.replaceChildren(...node);
		view("detail");
	}

	function view(name) {
		for (const id of views) byId(id).hidden = id !== name;
		byId("search").hidden = name !== "list";
		for (const id of ["list", "report", "about"]) byId("show-" + id).setAttribute("aria-pressed", String(id === name || id === "list" && name === "detail"));
		if (name === "list") select(selected, true);
		else { byId(name).focus({ preventScroll: true }); scrollTo(0, 0); }
	}

	function select(index, focus) {
		const rows = byId("rows").children;
		if (rows[selected]) rows[selected].removeAttribute("aria-selected");
		selected = Math.max(0, Math.min(index, rows.length - 1));
		if (!rows[selected]) return;
		rows[selected].setAttribute("aria-selected", "true");
		if (focus) rows[selected].querySelector("button").focus();
	}

	function list() {
		byId("rows").replaceChildren(...shown.slice(0, most).map((x, i) => {
			const e = x.exchange;
			return make("tr", { click: () => { select(i); detail(x); } }, make("td", {}, make("button", { type: "button" }, visible(e.number)), x.was ? visible(` was #${x.was}`) : ""),
				make("td", {}, time(e.time)), make("td", {}, (e.dir === "received" ? "asks: " : "") + visible(e.method)), make("td", {}, visible(e.name || "")),
				make("td", { class: isBad(e.channel) ? "bad" : undefined }, visible(e.channel)), make("td", {}, took(e.seconds)));
		}));
		byId("more").hidden = shown.length <= most;
		byId("count").textContent = `${shown.length} of ${data.exchanges.length}`;
		select(selected);
	}

	const texts = new Map(); // what is searched of each exchange
	function textOf(x) {
		if (!texts.has(x)) texts.set(x, JSON.stringify(x).toLowerCase());
		return texts.get(x);
	}

	function filter() {
		const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
		shown = data.exchanges.filter((x) => words.every((word) => textOf(x).includes(word)));
		most = pageSize;
		list();
	}

	function about() {
		const m = data.manifest;
		byId("about").append(make("h2", {}, "About this file"),
			make("p", {}, "The file is also a zip archive. mcpc reads it wherever it takes a recording, for instance: mcpc log --file FILE, mcpc show FILE#1."),
			facts([["Written by", "mcpc " + m.mcpc], ["Recorded by", (m.recordedBy || []).join(", ")], ["Protocol", (m.protocols || []).join(", ")],
				["Filter", (m.filter || []).join(" ")], ["Exchanges", m.exchanges]]),
			make("h2", {}, "What was hidden"),
			make("p", {}, `${m.hidden} places, ${m.values} different values. A placeholder has the length of the value and the first digits of its SHA-256: the same value has the same placeholder.`),
			facts(Object.entries(m.hiddenNow || {})), make("h3", {}, "Rules"), make("ul", {}, ...(m.rules || []).map((rule) => make("li", {}, visible(rule)))));
		if (m.notes) byId("about").append(make("h3", {}, "Remarks"), make("ul", {}, ...m.notes.map((note) => make("li", {}, visible(note)))));
		byId("note").textContent = visible(data.notes || "");
		byId("report").append(make("h2", {}, "Report"), make("pre", {}, visible(data.report)));
		byId("summary").textContent = visible(`${m.exchanges} exchanges, ${m.hidden ? `${m.values} values hidden in ${m.hidden} places` : "nothing hidden"}. Read only.`) + (data.left ? ` ${data.left}` : "");
	}

	function key(event) {
		const typing = event.target.id === "filter";
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const inList = !byId("list").hidden;
		if (event.key === "Escape") { if (typing) byId("filter").blur(); view("list"); }
		else if (typing) return;
		else if (event.key === "/") { view("list"); byId("filter").focus(); }
		else if (event.key === "j" || event.key === "k") {
			select(selected + (event.key === "j" ? 1 : -1), inList);
			if (!byId("detail").hidden && shown[selected]) detail(shown[selected]);
		} else return;
		event.preventDefault();
	}

	about();
	list();
	document.addEventListener("keydown", key);
	byId("filter").addEventListener("input", filter);
	byId("search").addEventListener("submit", (event) => { event.preventDefault(); view("list"); });
	for (const id of ["list", "report", "about"]) byId("show-" + id).addEventListener("click", () => view(id));
	byId("more").addEventListener("click", () => { most += pageSize; list(); });
	if (data.large) window.stop(); // what follows in the file is the archive, which is no text to be kept
})();
