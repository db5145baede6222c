// Being heard: the number in the title, the dot on the icon, and, when a person asked for it, a sound or a notification.

import { effect, signal } from "./html.js";
import { arrivals, pending } from "./queue.js";
import { go } from "./router.js";
import { plainly } from "./text.js";

const SOUND = "interlock.sound";
const NOTES = "interlock.notifications";
const ICON = "/assets/icon.svg";
const DOTTED =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f3a5f"/><circle cx="22" cy="10" r="9" fill="#f0a020"/></svg>',
  );

export const sound = signal(localStorage.getItem(SOUND) === "on");
export const notes = signal(localStorage.getItem(NOTES) === "on" && globalThis.Notification?.permission === "granted");
/** What the page calls itself. */
export const title = signal("Interlock");

export function toggleSound() {
  sound.value = !sound.value;
  localStorage.setItem(SOUND, sound.value ? "on" : "off");
  if (sound.value) ring();
}

/** The browser is asked only because somebody pressed a button. */
export async function toggleNotes() {
  if (!notes.value && (await Notification.requestPermission()) !== "granted") return false;
  notes.value = !notes.value;
  localStorage.setItem(NOTES, notes.value ? "on" : "off");
  return true;
}

function ring() {
  const context = new AudioContext();
  const tone = context.createOscillator();
  const volume = context.createGain();
  volume.gain.setValueAtTime(0.15, context.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.4);
  tone.frequency.value = 660;
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + 0.4);
  tone.onended = () => context.close();
}

function notify(approval) {
  // Only what we know goes out to the desktop; what the requester says about itself stays on the page.
  const note = new Notification("A call waits for approval", { body: plainly(`${approval.tool_name} (${approval.safety_class})`), tag: approval.id });
  note.onclick = () => {
    window.focus();
    go(`/approvals/${approval.id}`);
  };
}

export function begin() {
  arrivals.add((approval) => {
    if (sound.value) ring();
    if (notes.value && document.hidden) notify(approval);
  });
  effect(() => {
    const count = pending.value.length;
    document.title = `${count ? `(${count}) ` : ""}${title.value} · Interlock`;
    document.querySelector("link[rel=icon]").href = count ? DOTTED : ICON;
    if (count) navigator.setAppBadge?.(count).catch(() => {});
    else navigator.clearAppBadge?.().catch(() => {});
  });
}
