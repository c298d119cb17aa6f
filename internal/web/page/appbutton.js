// The button that shows the app of a tool, and the recorded call that the app gets.
import { html, set, showToast, showError, tryParseJSON } from './lib.js';
import { powerReason, postConfirmed } from './act.js';

// AppButton shows the app of a tool. call has the target and the tool; read(), if given, returns its arguments and its result.
export function AppButton({ call, read }) {
  const no = powerReason('call')() || (read ? '' : 'call the tool first');
  return html`<button class="act" aria-disabled=${!!no} title=${no ? 'Show app: ' + no : 'Render the page of the tool'} onClick=${() => no ? set({ toast: 'Show app: ' + no, bad: true }) : showApp(call, read)}>Show app</button>`;
}
async function showApp(call, read) {
  showToast('Reading the app…');
  try {
    const { input, result } = await read();
    const app = await postConfirmed('app', call), { AppPanel } = await import('./app.js');
    set({ toast: '', app: app ? { ...app, call, input, result, Panel: AppPanel, at: Date.now() } : null });
  } catch (e) { showError(e); }
}
// recordedCall reads the arguments and the result of a recorded call.
export async function recordedCall(data, key, detail) {
  const d = detail || await data.get('row', { key });
  const read = async body => body && tryParseJSON(body.cut ? await data.body({ key, frame: body.frame }) : body.text).value;
  const [request, response] = [await read(d.request), await read(d.response)];
  return { input: request && request.params && request.params.arguments, result: response && response.result };
}
