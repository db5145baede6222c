// To be built.

import { html } from "../html.js";
import { Page } from "../parts.js";

export const Settings = () => html`<${Page} title="Settings" />`;
