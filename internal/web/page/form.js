// The form for a JSON value, made from a JSON Schema. A part that it cannot draw is edited as JSON.
import { useEffect, useRef, useState } from './vendor/hooks.mjs';
import { html, clean, isRaw, tryParseJSON, joinPointer } from './lib.js';
import { Pick, focusFirst } from './ui.js';
import { post } from './act.js';

const maxDepth = 6, maxItems = 200, maxObjects = 200;
const isObject = v => v !== null && typeof v === 'object' && !Array.isArray(v) && !isRaw(v);
const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const without = (o, ...names) => Object.fromEntries(Object.entries(o).filter(([k]) => !names.includes(k)));
const merge = (a, b) => ({ ...a, ...b, ...(a.properties || b.properties ? { properties: { ...a.properties, ...b.properties } } : {}), ...(a.required || b.required ? { required: [...a.required || [], ...b.required || []] } : {}) });

// valueAt returns the part of a value at a JSON pointer.
const valueAt = (value, pointer) => pointer.split('/').slice(1).map(k => k.replaceAll('~1', '/').replaceAll('~0', '~'))
  .reduce((v, k) => v && typeof v === 'object' && Object.hasOwn(v, k) ? v[k] : undefined, value);

// resolve returns a schema without $ref and allOf, without null as a type beside others, and without members of a wrong
// type. root is the schema that references point into. Each part is resolved once: a short schema can refer to its parts
// billions of times.
const resolved = new WeakMap();
function resolve(s, root, depth = 0) {
  if (!isObject(s) || depth > 20) return {};
  if (!resolved.has(s)) {
    // For a reference to itself.
    resolved.set(s, {});
    resolved.set(s, resolveOnce(s, root, depth));
  }
  return resolved.get(s);
}
function resolveOnce(s, root, depth) {
  if (typeof s.$ref === 'string') {
    const at = s.$ref[0] === '#' ? valueAt(root, s.$ref) : undefined;
    return resolve({ ...(isObject(at) ? at : {}), ...without(s, '$ref') }, root, depth + 1);
  }
  for (const name of ['enum', 'oneOf', 'anyOf', 'allOf', 'required', 'examples']) if (name in s && !(Array.isArray(s[name]) && s[name].length)) s = without(s, name);
  if (s.properties && !isObject(s.properties)) s = without(s, 'properties');
  if (s.allOf) return resolve(s.allOf.map(x => resolve(x, root, depth + 1)).reduce(merge, without(s, 'allOf')), root, depth + 1);
  const isNull = x => isObject(x) && x.type === 'null', name = s.oneOf ? 'oneOf' : 'anyOf';
  if (Array.isArray(s.type)) {
    const types = s.type.filter(t => t !== 'null');
    return resolve(types.length === 1 ? { ...s, type: types[0] } : { ...without(s, 'type'), anyOf: types.map(type => ({ ...without(s, 'title', 'description', 'default'), type })) }, root, depth + 1);
  }
  const choices = s[name] && s[name].filter(x => !isNull(x));
  return choices && choices.length === 1 ? resolve(merge(without(s, name), resolve(choices[0], root, depth + 1)), root, depth + 1) : s;
}
// choicesOf returns the schemas of oneOf or anyOf, each with what applies to all of them.
const choicesOf = (s, root) => (s.oneOf || s.anyOf).map(x => merge(without(s, 'oneOf', 'anyOf', 'title', 'description', 'default'), resolve(x, root)));

const isConst = o => isObject(o) && 'const' in o;
const isList = s => !!s.enum || !!(s.oneOf || s.anyOf) && (s.oneOf || s.anyOf).every(isConst);
// inputKind returns the kind of input for a resolved schema.
function inputKind(s, root, depth) {
  if (s.const !== undefined) return 'const';
  if (isList(s)) return 'select';
  if (depth < maxDepth && (s.oneOf || s.anyOf)) return 'choice';
  if (s.type === 'array' && isObject(s.items)) return isList(resolve(s.items, root)) ? 'checks' : depth < maxDepth ? 'list' : 'json';
  if (s.properties && Object.keys(s.properties).length && depth < maxDepth) return 'group';
  return { string: 'text', number: 'number', integer: 'number', boolean: 'check' }[s.type] || 'json';
}
const optionsOf = s => s.enum ? s.enum.map((v, i) => [v, (s.enumNames || [])[i] ?? (typeof v === 'string' ? v : JSON.stringify(v))]) : (s.oneOf || s.anyOf).map(o => [o.const, o.title ?? String(o.const)]);

// startValue returns the value of a schema that a form begins with, or undefined for none. made counts the objects in it.
function startValue(s, root, must, depth = 0, made = { count: 0 }) {
  s = resolve(s, root);
  if (s.default !== undefined) return s.default;
  if (!must) return undefined;
  if (s.const !== undefined) return s.const;
  // An empty box and an empty list are values.
  if (s.type === 'boolean') return false;
  if (s.type === 'array') return [];
  if (!s.properties || depth > maxDepth || made.count >= maxObjects) return undefined;
  made.count++;
  return Object.fromEntries(Object.entries(s.properties).map(([name, p]) => [name, startValue(p, root, (s.required || []).includes(name), depth + 1, made)]).filter(([, v]) => v !== undefined));
}
// hasArguments reports whether a schema allows an object with members.
export const hasArguments = s => !s.properties || !isSame(s.properties, {}) || !!(s.additionalProperties || s.oneOf || s.anyOf);
export const defaultValues = schema => startValue(schema, schema, true) ?? {};

// newValue returns the value of an added item.
function newValue(s, root) {
  const r = resolve(s, root), options = isList(r) ? optionsOf(r) : [];
  return startValue(s, root, true) ?? (options.length ? options[0][0] : { string: '', object: {} }[r.type] ?? null);
}

// isFit reports whether a value has the type, the constants and the required members of a schema.
function isFit(s, v, root) {
  if (s.const !== undefined) return isSame(s.const, v);
  if (s.enum) return s.enum.some(x => isSame(x, v));
  const type = v === null ? 'null' : Array.isArray(v) ? 'array' : isRaw(v) ? 'number' : typeof v;
  if (s.type && s.type !== type && !(s.type === 'integer' && Number.isInteger(v))) return false;
  return !isObject(v) || (s.required || []).every(name => Object.hasOwn(v, name)) && Object.entries(s.properties || {}).every(([name, p]) => !Object.hasOwn(v, name) || !(p = resolve(p, root), p.const !== undefined || p.enum) || isFit(p, v[name], root));
}

// dropGone returns a value without the members that had a field in the schema was and have none in the schema is. It adds
// their names to gone.
export function dropGone(value, was, is, gone, wasRoot = was, isRoot = is) {
  const old = resolve(was, wasRoot).properties, { properties } = resolve(is, isRoot);
  if (!isObject(value) || !old || !properties) return value;
  const has = (object, name) => Object.hasOwn(object, name);
  return Object.fromEntries(Object.entries(value).filter(([k]) => !has(old, k) || has(properties, k) || !gone.push(k)).map(([k, v]) => [k, has(old, k) ? dropGone(v, old[k], properties[k], gone, wasRoot, isRoot) : v]));
}

// apply returns the value after a change: a new value, or a function of the old one. A field changes its part of what the
// form has now, which may not be drawn yet.
const apply = (change, was) => typeof change === 'function' ? change(was) : change;
const setMember = (object, name, change) => {
  const o = isObject(object) ? object : {}, v = apply(change, Object.hasOwn(o, name) ? o[name] : undefined);
  return v === undefined ? without(o, name) : { ...o, [name]: v };
};

// Form edits JSON by the fields of a schema or as text. The caller keeps the text, which is its state. suggest(name, value)
// returns a promise of values for a field, if any. check is a ref for a function that checks the fields: it marks the invalid
// ones, moves the focus to the first of them, and returns a promise of whether all are valid. Text is not checked.
export function Form({ schema, text, onText, label, suggest, check }) {
  const root = isObject(schema) ? schema : {}, s = resolve(root, root), kind = inputKind(s, root, 0), drawn = kind === 'group' || kind === 'choice';
  const [raw, setRaw] = useState(!drawn), [found, setFound] = useState({}), paths = new Set(), box = useRef();
  const { value, error } = tryParseJSON(text || '{}');
  const latest = useRef();
  latest.current = value;
  const write = change => {
    latest.current = apply(change, latest.current);
    onText(JSON.stringify(latest.current, null, 2));
  };
  const isText = raw || !isObject(value), problems = { found, paths };
  if (check) check.current = async () => {
    if (isText) return true;
    const at = latest.current, list = await post('validate', { schema: root, arguments: at }).catch(() => []);
    // A problem of a part without a field is shown at the nearest field above it, or below the form.
    setFound(Object.fromEntries(list.reverse().map(({ pointer, text }) => {
      while (pointer && !paths.has(pointer)) pointer = pointer.replace(/\/[^/]*$/, '');
      return [pointer, { text, value: valueAt(at, pointer) }];
    })));
    await new Promise(requestAnimationFrame);
    const wrong = box.current.querySelector('.invalid');
    if (wrong) focusFirst(wrong);
    return !list.length && !wrong;
  };
  const own = found[''];
  return html`<div class="form" ref=${box}>
    ${drawn && html`<${Pick} label="Input as" list=${[[false, 'Fields'], [true, 'JSON']]} value=${raw} onPick=${setRaw} />`}
    ${isText ? html`<textarea class="json" aria-invalid=${error ? 'true' : undefined} aria-label=${label + ', JSON'} spellcheck=${false} rows=${Math.min(16, Math.max(4, text.split('\n').length + 1))} value=${text} onInput=${e => onText(e.target.value)}></textarea>`
      : kind === 'group' ? html`<${Fields} schema=${s} root=${root} value=${value} put=${write} depth=${0} suggest=${suggest} at="" problems=${problems} />` : html`<${Choice} schema=${s} root=${root} value=${value} put=${write} depth=${0} label=${label} must at="" problems=${problems} />`}
    ${!isText && own && isSame(own.value, value) && html`<p class="wrong" role="alert">${own.text}</p>`}${error && html`<p class="wrong" role="alert">Not JSON: ${error}</p>`}</div>`;
}

// Fields draws the members of an object.
function Fields({ schema, root, value, put, depth, suggest, at, problems }) {
  const object = isObject(value) ? value : {};
  return Object.entries(schema.properties).filter(([, p]) => isObject(p)).map(([name, p]) => html`<${Field} key=${name} name=${name} schema=${resolve(p, root)} root=${root} must=${(schema.required || []).includes(name)} depth=${depth}
    value=${Object.hasOwn(object, name) ? object[name] : undefined} put=${change => put(was => setMember(was, name, change))} suggest=${suggest} at=${joinPointer(at, name)} problems=${problems} />`);
}

// Choice draws a value that has one of several schemas.
function Choice({ schema, root, value, put, depth, label, must, at, problems }) {
  const list = choicesOf(schema, root), [chosen, setChosen] = useState(() => value === undefined ? -1 : list.findIndex(s => isFit(s, value, root)));
  const pick = i => {
    setChosen(i);
    put(i < 0 ? undefined : newValue(list[i], root));
  };
  const nameOf = (s, i) => s.title || Object.values(s.properties || {}).map(p => isObject(p) && p.const).find(Boolean) || (list.every(x => x.type === s.type) ? s.required && 'with ' + s.required.join(', ') : s.type) || `Choice ${i + 1}`, s = list[chosen], parts = { schema: s, root, value, put, depth: depth + 1, at, problems };
  return html`<select aria-label=${'Kind of ' + label} onChange=${e => pick(+e.target.value)}><option value="-1" selected=${chosen < 0} disabled=${must}>–</option>${list.map((s, i) => html`<option value=${i} selected=${i === chosen}>${String(nameOf(s, i))}</option>`)}</select>
    ${s && (inputKind(s, root, depth) === 'group' ? html`<${Fields} key=${chosen} ...${parts} />` : s.type !== 'null' && html`<${Field} key=${chosen} name=${label} must ...${parts} problems=${{ ...problems, found: without(problems.found, at) }} />`)}`;
}

// afterDraw calls f with the fieldset around a clicked button once the change is drawn. The button may be gone by then.
const afterDraw = (e, f) => (box => requestAnimationFrame(() => f(box)))(e.target.closest('fieldset'));

// Items draws a list, to which items can be added.
function Items({ schema, root, value, put, depth, label, at, problems }) {
  const listOf = v => Array.isArray(v) ? v : [], items = listOf(value), [cut, setCut] = useState(0);
  const add = e => {
    put(was => [...listOf(was), newValue(schema.items, root)]);
    afterDraw(e, box => focusFirst([...box.querySelectorAll(':scope > .item')].at(-1)));
  };
  // The fields after a removed item get other items. The focus goes to the next button that removes an item, or to Add.
  const remove = (e, i) => {
    setCut(cut + 1);
    put(was => listOf(was).filter((_, n) => n !== i));
    afterDraw(e, box => {
      const list = [...box.querySelectorAll(':scope > .item')];
      (list[i] || list.at(-1) || box).querySelector(':scope > button').focus();
    });
  };
  return html`${items.map((v, i) => html`<div class="item" key=${cut + '/' + i}><${Field} name=${`${label} ${i + 1}`} schema=${resolve(schema.items, root)} root=${root} must value=${v} depth=${depth + 1} at=${joinPointer(at, i)} problems=${problems} put=${change => put(was => listOf(was).map((x, n) => n === i ? apply(change, x) ?? null : x))} />
      <button aria-label=${`Remove ${label} ${i + 1}`} onClick=${e => remove(e, i)}>✕</button></div>`)}
    <button onClick=${add}>Add ${label}</button>`;
}

// limitsOf describes the valid numbers or lengths, or returns ''. The largest integers that JavaScript has exactly are no
// limits: generators write them for every integer.
function limitsOf(s) {
  const [name, unit] = { string: ['Length', ' character'], array: ['Items', ' item'] }[s.type] || ['imum', ''];
  const [low, high] = ['min', 'max'].map(end => JSON.stringify(s[end + name])).map(n => /^-?9007199254740991$/.test(n) ? '' : n), units = n => n + unit + (unit && n !== '1' ? 's' : '');
  return low && high ? `${low} to ${units(high)}` : low ? 'at least ' + units(low) : high ? 'at most ' + units(high) : '';
}

let ids = 0;
function Field({ name, schema, root, must, value, put, depth, suggest, at, problems }) {
  problems.paths.add(at);
  const id = useRef(0);
  id.current = id.current || 'field' + ++ids;
  const [draft, setDraft] = useState(null);
  let kind = inputKind(schema, root, depth);
  if (kind === 'list' && value && !(value.length <= maxItems) || kind === 'group' && value && !isObject(value)) kind = 'json';
  const found = problems.found[at], typed = draft && tryParseJSON(draft);
  const problem = typed && kind === 'number' && typeof typed.value !== 'number' && !isRaw(typed.value) ? `must be a ${schema.type === 'integer' ? 'whole number, such as 42' : 'number, such as 42 or 0.5'}`
    : typed && typed.error ? 'is not JSON: ' + typed.error : found && isSame(found.value, value) ? found.text : undefined;
  const title = schema.title || name, words = [...new Set([title.toLowerCase() === name.toLowerCase() ? '' : name, schema.type, schema.format, limitsOf(schema)])].filter(Boolean).join(' ');
  if (['group', 'list', 'choice'].includes(kind)) {
    const parts = { schema, root, value, put, depth: depth + 1, label: title, must, at, problems }, isShown = kind !== 'group' || value !== undefined;
    const change = (e, v) => { put(v); afterDraw(e, focusFirst); };
    return html`<fieldset data-at=${clean(at)} class=${problem && 'invalid'}><legend>${title}${must && html`<span title="required"> *</span>`} <span class="dim">${words}</span></legend>${schema.description && html`<p class="dim text">${schema.description}</p>`}${problem && html`<p class="wrong">${problem}</p>`}
      ${!isShown ? html`<button onClick=${e => change(e, newValue(schema, root))}>Add ${title}</button>` : kind === 'group' ? html`<${Fields} ...${parts} />` : kind === 'list' ? html`<${Items} ...${parts} />` : html`<${Choice} ...${parts} />`}
      ${kind === 'group' && isShown && !must && html`<button onClick=${e => change(e)}>Remove ${title}</button>`}</fieldset>`;
  }
  const all = { id: id.current, 'aria-required': must ? 'true' : undefined, 'aria-invalid': problem && 'true', 'aria-describedby': [problem && id.current + 'e', schema.description && id.current + 'd'].filter(Boolean).join(' ') || undefined };
  const asJSON = e => {
    const t = e.target.value, r = tryParseJSON(t);
    setDraft(t);
    if (!t.trim()) put(undefined); else if (!r.error) put(r.value);
  };
  const example = schema.examples ? 'for example ' + (typeof schema.examples[0] === 'string' ? schema.examples[0] : JSON.stringify(schema.examples[0])) : undefined, jsonText = value === undefined || value === null && kind === 'number' ? '' : JSON.stringify(value, null, 2);
  let input;
  if (kind === 'const') input = html`<code id=${id.current}>${JSON.stringify(schema.const)}</code>`;
  else if (kind === 'select') {
    const list = optionsOf(schema), at = list.findIndex(([v]) => isSame(v, value));
    input = html`<select ...${all} value=${at} onChange=${e => put(e.target.value < 0 ? undefined : list[e.target.value][0])}>
      <option value="-1" selected=${at < 0}>–</option>${list.map(([, t], i) => html`<option value=${i} selected=${i === at}>${t}</option>`)}</select>`;
  } else if (kind === 'checks') {
    const have = Array.isArray(value) ? value : [];
    input = html`<div role="group" aria-label=${title}>${optionsOf(resolve(schema.items, root)).map(([v, t]) => html`<label class="check"><input type="checkbox" checked=${have.some(x => isSame(x, v))}
      onChange=${e => put(e.target.checked ? [...have, v] : have.filter(x => !isSame(x, v)))} />${t}</label>`)}</div>`;
  } else if (kind === 'check') input = html`<input type="checkbox" ...${all} checked=${value === true} onChange=${e => put(e.target.checked)} />`;
  else if (kind === 'number') input = html`<input type="text" inputmode="decimal" ...${all} placeholder=${example} value=${draft ?? jsonText} onInput=${asJSON} />`;
  else if (kind === 'text' && typeof (value ?? '') === 'string') input = (value ?? '').includes('\n') || schema.maxLength > 200 ? html`<textarea ...${all} rows="4" value=${value ?? ''} onInput=${e => put(e.target.value)}></textarea>`
    : html`<${Text} all=${all} type=${schema.format === 'password' ? 'password' : 'text'} placeholder=${example} value=${value ?? ''} put=${t => put(t === '' && !must ? undefined : t)} suggest=${suggest && (v => suggest(name, v))} />`;
  else input = html`<textarea class="json" spellcheck=${false} ...${all} rows="3" placeholder=${example || 'JSON'} value=${draft ?? jsonText} onInput=${asJSON}></textarea>`;
  const isInput = !['const', 'checks'].includes(kind), head = html`${title}${must && html`<span title="required"> *</span>`} <span class="dim">${words}</span>`;
  return html`<div data-at=${clean(at)} class=${problem ? 'field invalid' : 'field'}>${isInput ? html`<label for=${id.current}>${head}</label>` : html`<div>${head}</div>`}
    <div>${input}${problem && html`<p class="wrong" id=${id.current + 'e'}>${problem}</p>`}${schema.description && html`<p class="dim text" id=${id.current + 'd'}>${schema.description}</p>`}</div></div>`;
}

// Text is a line of text. While it has the focus, it offers the suggested values.
function Text({ all, type, placeholder, value, put, suggest }) {
  const [found, setFound] = useState([]), [focused, setFocused] = useState(false);
  useEffect(() => {
    if (!suggest || !focused) return;
    let left = false;
    const wait = setTimeout(() => suggest(value).then(list => left || setFound(list), () => {}), 150);
    return () => { left = true; clearTimeout(wait); };
  }, [value, focused]);
  return html`<input type=${type} ...${all} autocomplete="off" list=${suggest ? all.id + 'l' : undefined} placeholder=${placeholder} value=${value} onInput=${e => put(e.target.value)} onFocus=${() => setFocused(true)} onBlur=${() => setFocused(false)} />
    ${suggest && html`<datalist id=${all.id + 'l'}>${found.slice(0, 100).map(v => html`<option value=${String(v)} />`)}</datalist>`}`;
}
