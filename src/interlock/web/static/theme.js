// Light or dark: as the system says, unless a person chose. The choice stays in this browser.

import { effect, signal } from "./html.js";

const KEY = "interlock.theme";
export const THEMES = ["auto", "light", "dark"];
export const theme = signal(localStorage.getItem(KEY) || "auto");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem(KEY, theme.value);
});
