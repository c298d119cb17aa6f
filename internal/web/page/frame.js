// The outer frame of an app, on the sandbox's origin. It shows the document of the app in a frame without any origin, and passes
// messages between that frame and the page, within limits.
const maxBytes = 4 << 20, maxBurst = 200, perSecond = 100;
const { page, allow, app: address } = document.body.dataset;
document.documentElement.style.height = document.body.style.height = '100%';
document.body.style.margin = '0';
const app = document.createElement('iframe');
app.setAttribute('sandbox', 'allow-scripts allow-forms');
app.allow = allow;
Object.assign(app.style, { display: 'block', width: '100%', height: '100%', border: '0' });
app.src = address;
document.body.append(app);

let left = maxBurst, refilled = performance.now(), dropped = 0, telling = 0;
// passOn sends a message of the app to the page as text, or counts it as dropped if it is one too many or too long.
function passOn(data) {
  const now = performance.now();
  left = Math.min(maxBurst, left + (now - refilled) / 1000 * perSecond);
  refilled = now;
  let text;
  if (left >= 1) try { text = JSON.stringify(data); } catch { /* no JSON */ }
  if (typeof text === 'string' && text.length <= maxBytes) {
    left--;
    parent.postMessage({ text }, page);
    return;
  }
  dropped++;
  telling ||= setTimeout(() => { telling = 0; parent.postMessage({ dropped }, page); }, 500);
}
addEventListener('message', e => {
  // The app's origin is opaque.
  if (e.source === parent && e.origin === page) app.contentWindow.postMessage(e.data, '*');
  else if (e.source === app.contentWindow && e.origin === 'null') passOn(e.data);
});
